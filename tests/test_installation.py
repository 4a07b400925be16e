"""The pip command that adds an extra is true for whoever reads it, however lexitree was installed."""

from __future__ import annotations

import json
import os
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lexitree import installation
from lexitree.errors import MissingExtraError
from lexitree.installation import install_command, install_package_command

pytestmark = pytest.mark.skipif(os.name == "nt", reason="other quotes on Windows")


def installed_from(monkeypatch: pytest.MonkeyPatch, origin: Any) -> None:
    recorded = origin if isinstance(origin, str | None) else json.dumps(origin)
    found = SimpleNamespace(read_text={"direct_url.json": recorded}.get)
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: found)


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'lexitree[plots]'"),
        ("not json", "pip install 'lexitree[plots]'"),
        ("[]", "pip install 'lexitree[plots]'"),
        (
            {"url": "file:///home/me/my%20clone", "dir_info": {"editable": True}},
            "pip install -e '/home/me/my clone[plots]'",
        ),
        ({"url": "file:///home/me/clone", "dir_info": {}}, "pip install '/home/me/clone[plots]'"),
        (
            {
                "url": "https://example.org/lexitree.git",
                "vcs_info": {"vcs": "git", "requested_revision": "v1", "commit_id": "abc"},
            },
            "pip install 'lexitree[plots] @ git+https://example.org/lexitree.git@v1'",
        ),
        (
            {"url": "file:///tmp/lexitree-1.0-py3-none-any.whl", "archive_info": {}},
            "pip install 'lexitree[plots] @ file:///tmp/lexitree-1.0-py3-none-any.whl'",
        ),
    ],
    ids=["index", "no JSON", "no object", "editable clone", "clone", "git", "wheel"],
)
def test_the_command_names_where_it_was_installed_from(
    origin: Any, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_from(monkeypatch, origin)
    assert install_command("plots") == command
    assert install_command("plots", options="--upgrade") == command.replace("install", "install --upgrade", 1)
    assert MissingExtraError("matplotlib", "plots", "A plot").remedy == f"Install it with: {command}"


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install lexitree-x"),
        ({"url": "file:///home/me/clone", "dir_info": {}}, "pip install /home/me/clone/packages/lexitree-x"),
        (
            {"url": "file:///my%20clone", "dir_info": {"editable": True}},
            "pip install '/my clone/packages/lexitree-x'",
        ),
        (
            {"url": "https://example.org/l.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "pip install 'lexitree-x @ git+https://example.org/l.git#subdirectory=packages/lexitree-x'",
        ),
        ({"url": "file:///tmp/lexitree-1.0-py3-none-any.whl", "archive_info": {}}, "pip install lexitree-x"),
    ],
)
def test_another_package_of_the_repository(
    origin: Any, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_from(monkeypatch, origin)
    assert install_package_command("lexitree-x") == command


def test_inside_the_clone_a_point_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed_from(monkeypatch, {"url": tmp_path.as_uri(), "dir_info": {"editable": True}})
    monkeypatch.chdir(tmp_path)
    assert install_command("plots") == "pip install -e '.[plots]'"
    assert install_package_command("lexitree-x") == "pip install ./packages/lexitree-x"
    assert install_package_command("lexitree-paper") == "pip install ./paper"


def test_a_copy_that_was_never_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", find)
    clone = Path(installation.__file__).parents[2]
    assert (clone / "pyproject.toml").is_file()
    monkeypatch.chdir(clone)
    assert install_command("plots") == "pip install -e '.[plots]'"
    monkeypatch.setattr(installation, "__file__", "/no/such/folder/lexitree/installation.py")
    assert install_command("plots") == "pip install 'lexitree[plots]'"
