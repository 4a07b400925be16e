"""Models from the hub, without a network."""

from __future__ import annotations

import sys
from pathlib import Path

import huggingface_hub
import pytest

from lexitree.errors import MissingExtraError, ModelFileError
from lexitree.saving.model_folder import FILES
from lexitree.saving.model_kinds import push_to_hub
from lexitree.saving.pretrained import from_pretrained
from tests.tiny import tiny_model


@pytest.mark.parametrize("name", ["nothing", "./a/b", "a/b/c", "/a/b", "../b", "~/b", "file"])
def test_names_that_cannot_be_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", None)
    with pytest.raises(ModelFileError, match=r"there is no such model|is a file, and a model is a folder"):
        from_pretrained(name)


def test_a_name_on_the_hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    def download(name: str, *, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append((name, revision, tuple(allow_patterns)))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert from_pretrained("someone/tiny", revision="v1").config.hidden == 8
    assert asked == [("someone/tiny", "v1", (*FILES, "encoder/*"))]


def test_the_hub_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*arguments: object, **options: object) -> str:
        raise ConnectionError("no route to host")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(ModelFileError, match=r"neither a folder here nor .* \(ConnectionError\)") as caught:
        from_pretrained("someone/tiny")
    assert "network" in caught.value.remedy


def test_the_hub_without_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[hub\]'"):
        from_pretrained("someone/tiny")
    with pytest.raises(MissingExtraError):
        push_to_hub(tiny_model(), "someone/tiny")
