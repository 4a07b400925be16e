"""How this copy of lexitree was installed, and so which pip command adds an extra or another package to it.

It is asked in messages only, so the modules it needs are imported then.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

PACKAGE = "lexitree"
PACKAGES = "packages"
"""The folder of a clone with further packages."""
PAPER = "lexitree-paper"
_FOLDERS = {PAPER: "paper"}
"""The packages that have another folder in a clone."""


def install_command(extra: str, *, options: str = "") -> str:
    """The pip command that installs lexitree with an extra, from where this copy came from.

    Someone who installed from a clone needs the path of the clone: the package index may not have lexitree at all, or
    another version of it.

    Args:
        extra: The extra.
        options: Options for pip, such as `--force-reinstall`.

    Returns:
        A command for a shell: `pip install -e '.[plots]'`, `pip install 'lexitree[plots]'` and so on.
    """
    return " ".join(filter(None, ("pip install", options, _requirement(f"[{extra}]"))))


def install_package_command(package: str) -> str:
    """The pip command that installs another package of the same repository, from where this copy came from.

    Args:
        package: The package.

    Returns:
        A command for a shell: `pip install ./packages/NAME`, or `pip install NAME` for a copy from an index.
    """
    origin, folder = _origin(), _FOLDERS.get(package, f"{PACKAGES}/{package}")
    if "vcs_info" in origin:
        return f"pip install {_quote(f'{package} @ {_vcs_address(origin)}#subdirectory={folder}')}"
    if "dir_info" in origin:
        path = f"{_shown_folder(str(origin.get('url', '')))}/{folder}"
        return f"pip install {_quote(path) if ' ' in path else path}"
    return f"pip install {package}"


def _requirement(extras: str) -> str:
    origin = _origin()
    url = str(origin.get("url", ""))
    if "vcs_info" in origin:
        return _quote(f"{PACKAGE}{extras} @ {_vcs_address(origin)}")
    if "dir_info" in origin:
        is_editable = origin["dir_info"].get("editable", False)
        return ("-e " if is_editable else "") + _quote(_shown_folder(url) + extras)
    return _quote(f"{PACKAGE}{extras} @ {url}" if url else f"{PACKAGE}{extras}")


def _vcs_address(origin: dict[str, Any]) -> str:
    vcs = origin["vcs_info"]
    revision = f"@{vcs['requested_revision']}" if "requested_revision" in vcs else ""
    return f"{vcs['vcs']}+{origin.get('url', '')}{revision}"


def _origin() -> dict[str, Any]:
    """Where the package came from, as pip records it for everything that is not from an index (PEP 610)."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        recorded = distribution(PACKAGE).read_text("direct_url.json")
    except PackageNotFoundError:
        # It runs from its source, which is on Python's path.
        clone = Path(__file__).parents[2]
        is_clone = (clone / "pyproject.toml").is_file()
        return {"url": clone.as_uri(), "dir_info": {"editable": True}} if is_clone else {}
    try:
        return dict(json.loads(recorded or "{}"))
    except (TypeError, ValueError):
        return {}


def _shown_folder(url: str) -> str:
    """The folder of a `file:` address; `.` if that is the current folder."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    folder = Path(url2pathname(urlsplit(url).path))
    return "." if folder == Path.cwd() else str(folder)


def _quote(requirement: str) -> str:
    # The shells of Windows know double quotes only.
    mark = '"' if os.name == "nt" else "'"
    return f"{mark}{requirement}{mark}"
