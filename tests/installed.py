"""Packages as pip leaves them, without pip: modules and metadata in a folder of `sys.path`."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "plugin"


def write_metadata(folder: Path, package: str, groups: Mapping[str, Mapping[str, str]]) -> None:
    """The files by which Python knows an installed distribution, version 0.1, and its entry points."""
    metadata = folder / f"{package.replace('-', '_')}-0.1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.1\n")
    lines = [
        line
        for group, points in groups.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines))


def install(
    patch: pytest.MonkeyPatch,
    folder: Path,
    package: str,
    source: str,
    groups: Mapping[str, Mapping[str, str]],
) -> None:
    """Put a package of one module, called like the package, where Python finds it for the rest of a test."""
    module = package.replace("-", "_")
    write_metadata(folder, package, groups)
    (folder / f"{module}.py").write_text(source)
    importlib.invalidate_caches()
    patch.syspath_prepend(str(folder))
    patch.delitem(sys.modules, module, raising=False)


def install_example(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """The package of examples/plugin."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    source = (EXAMPLE / "lexitree_weather.py").read_text()
    install(patch, folder, project["name"], source, project["entry-points"])
