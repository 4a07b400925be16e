"""Saving models: older ones are replaced or stay, whatever happens, and directories are left alone."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from lexitree.errors import FileError, ModelFileError
from lexitree.saving import pretrained
from lexitree.saving.pretrained import from_pretrained, save_pretrained
from tests.command import files_of, leftovers
from tests.tiny import tiny_model


def test_an_older_model_is_replaced(folder: Path) -> None:
    save_pretrained(tiny_model(hidden=4), folder)
    assert from_pretrained(folder).config.hidden == 4
    assert not leftovers(folder.parent)


@pytest.mark.parametrize("names", [["notes.txt"], ["README.md"], ["config.json"], [".git"]])
def test_a_directory_with_other_content_is_left_alone(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine" / name).write_text("{}")
    with pytest.raises(FileError, match=f"holds other things than a lexitree model: {names[0]}"):
        save_pretrained(tiny_model(), tmp_path / "mine")
    assert files_of(tmp_path) == {f"mine/{name}": b"{}" for name in names}


def test_files_beside_a_model_are_not_lost(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    before = files_of(folder)
    with pytest.raises(FileError, match=r"notes\.txt"):
        save_pretrained(tiny_model(hidden=4), folder)
    assert files_of(folder) == before


def test_an_empty_directory_and_a_file(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert from_pretrained(save_pretrained(tiny_model(), tmp_path / "empty")).config.hidden == 8
    (tmp_path / "file").write_text("mine")
    for target in (tmp_path / "file", tmp_path / "file" / "model"):
        with pytest.raises(FileError):
            save_pretrained(tiny_model(), target)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_full_disk_leaves_the_older_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files_of(folder)

    def fail(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for owner, name in ((pretrained, "save_file"), (Path, "write_text"), (Path, "rename")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fail)
            with pytest.raises(FileError, match="No space left on device") as caught:
                save_pretrained(tiny_model(hidden=4), folder)
        assert "untouched" in caught.value.remedy
        assert files_of(folder) == before
        assert not leftovers(folder.parent)


def test_the_older_model_comes_back_when_the_new_one_cannot_take_its_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files_of(folder)
    rename = Path.rename

    def fail_for_the_new(self: Path, target: Path) -> Path:
        if self.name.endswith(".part"):
            raise OSError(errno.EACCES, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_for_the_new)
    with pytest.raises(FileError, match="Permission denied"):
        save_pretrained(tiny_model(hidden=4), folder)
    assert files_of(folder) == before
    assert not leftovers(folder.parent)


def test_a_run_is_not_its_model(trained_run: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"it has no config\.json") as caught:
        from_pretrained(trained_run)
    assert f"Did you mean {trained_run / 'model'}?" in caught.value.remedy
    with pytest.raises(ModelFileError) as caught:
        from_pretrained(tmp_path)
    assert caught.value.remedy == ""
