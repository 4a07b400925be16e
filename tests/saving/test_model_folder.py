"""Where models are found: by their names in the package, in directories, and with each other's weights."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from lexitree.errors import ModelFileError
from lexitree.saving import shipped
from lexitree.saving.model_folder import ModelFolder, locate_model
from lexitree.saving.model_kinds import save_model
from lexitree.saving.pretrained import from_pretrained
from tests.saving.edited_models import edit_config
from tests.tiny import FINER_LABELS, tiny_model


def describe(folder: Path, **changes: object) -> Path:
    """A directory with nothing but a description, of a tiny model with other answers."""
    folder.mkdir()
    values = {"library": "lexitree", "format": 1, "model": tiny_model().config.as_dict(), **changes}
    (folder / "config.json").write_text(json.dumps(values))
    return folder


def test_a_name_wins_over_a_directory_of_that_name(
    shipped_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = save_model(tiny_model(hidden=4), "sentiment")
    assert locate_model("sentiment") == mine
    theirs = save_model(tiny_model(), shipped_folder / "sentiment")
    assert locate_model("sentiment") == theirs
    assert from_pretrained("./sentiment").config.hidden == 4
    assert from_pretrained(Path("sentiment")).config.hidden == 4


def test_what_is_missing_and_what_is_there(shipped_folder: Path) -> None:
    with pytest.raises(ModelFileError, match="sentiment: does not come with this version") as caught:
        from_pretrained("sentiment")
    assert "Available: none." in caught.value.remedy
    save_model(tiny_model(), shipped_folder / "questions")
    with pytest.raises(ModelFileError) as caught:
        from_pretrained("sentiment-binary")
    assert "Available: questions." in caught.value.remedy
    (shipped_folder / "sentiment").mkdir()
    assert shipped.shipped_names() == ("questions",)


@pytest.mark.parametrize("name", ["", ".", "..", "parser/..", "../shipped/questions", "__pycache__", "mine"])
def test_other_names_are_not_looked_for_in_the_package(shipped_folder: Path, name: str) -> None:
    save_model(tiny_model(), shipped_folder / "questions")
    save_model(tiny_model(), shipped_folder / "mine")
    assert not shipped.is_shipped(name)
    with pytest.raises(ModelFileError):
        shipped.shipped_folder(name)


def test_weights_of_another_model_of_the_package(shipped_folder: Path) -> None:
    names = list(FINER_LABELS)
    save_model(tiny_model(labels=tuple(names)), shipped_folder / "sentiment", table="int8")
    values = {**tiny_model(finer_labels=FINER_LABELS).config.as_dict()}
    describe(shipped_folder / "sentiment-binary", weights_of="sentiment", model=values)
    model = from_pretrained("sentiment-binary")
    assert model.config.finer_labels == FINER_LABELS
    assert model.state_dict().keys() == from_pretrained("sentiment").state_dict().keys()


@pytest.mark.parametrize(
    "weights_of",
    ["questions", "../sentiment", "/etc", "sentiment/../sentiment", "parser", 3, ["sentiment"], ""],
)
def test_weights_that_are_not_there(shipped_folder: Path, weights_of: object) -> None:
    save_model(tiny_model(), shipped_folder / "sentiment")
    describe(shipped_folder / "sentiment-binary", weights_of=weights_of)
    with pytest.raises(ModelFileError, match=r"config\.json: has no weights of its own"):
        from_pretrained("sentiment-binary")


def test_only_models_of_the_package_have_weights_of_others(shipped_folder: Path, tmp_path: Path) -> None:
    save_model(tiny_model(), shipped_folder / "sentiment")
    with pytest.raises(ModelFileError, match="has no weights of its own"):
        from_pretrained(describe(tmp_path / "mine", weights_of="sentiment"))


def test_weights_of_a_model_that_has_none_itself(shipped_folder: Path) -> None:
    describe(shipped_folder / "sentiment", weights_of="sentiment-binary")
    describe(shipped_folder / "sentiment-binary", weights_of="sentiment")
    with pytest.raises(ModelFileError, match=r"model\.safetensors"):
        from_pretrained("sentiment")


def test_weights_that_do_not_fit_the_answers(shipped_folder: Path) -> None:
    save_model(tiny_model(), shipped_folder / "sentiment")
    values = tiny_model(labels=("a", "b", "c")).config.as_dict()
    describe(shipped_folder / "questions", weights_of="sentiment", model=values)
    with pytest.raises(ModelFileError, match="does not fit"):
        from_pretrained("questions")


def in_time(call: Callable[[], object]) -> BaseException | None:
    """What a call raises; it must not wait for a pipe or read a device for ever."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    return raised[0] if raised else None


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    """A saved model with a folder for a transformer, and a file beside it that is none of its own."""
    folder = save_model(tiny_model(), tmp_path / "models" / "model")
    (folder / "encoder").mkdir()
    (folder / "encoder" / "config.json").write_text("{}")
    (tmp_path / "secret").write_text("secret")
    return folder


def name_in_checksums(folder: Path, name: str, content: bytes) -> None:
    found = f"{zlib.crc32(content):08x}"
    edit_config(folder, lambda values: values.setdefault("checksums", {}).update({name: found}))


NAMES = (
    "encoder/../../../secret",
    "encoder//secret",
    "encoder/",
    "encoder/./config.json",
    "encoder/a\\b",
    "encoder/\0",
)


@pytest.mark.parametrize("name", NAMES)
def test_checksums_name_no_file_outside(model_folder: Path, name: str) -> None:
    name_in_checksums(model_folder, name, b"secret")
    error = in_time(lambda: ModelFolder(model_folder).encoder_folder)
    assert isinstance(error, ModelFileError)
    assert "names a file outside" in str(error)
    assert "plain files" in error.remedy


def test_absolute_names_are_refused(model_folder: Path, tmp_path: Path) -> None:
    error = in_time(lambda: ModelFolder(model_folder).checked_path(str(tmp_path / "secret")))
    assert isinstance(error, ModelFileError)
    assert "names a file outside" in str(error)


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "device"])
def test_only_plain_files_inside_are_read(
    model_folder: Path, tmp_path: Path, kind: str, listed: bool
) -> None:
    """Also those that have no checksum: another library reads the folder of the transformer."""
    path = model_folder / "encoder" / "more"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"link": tmp_path / "secret", "folder": tmp_path, "device": "/dev/zero"}[kind])
    if listed:
        name_in_checksums(model_folder, "encoder/more", b"secret")
    error = in_time(lambda: ModelFolder(model_folder).encoder_folder)
    assert isinstance(error, ModelFileError)
    assert "encoder/more" in str(error)
    assert "plain files" in error.remedy


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "vocabulary.json"])
@pytest.mark.parametrize("kind", ["link", "pipe", "device"])
def test_the_other_files_are_plain_ones_too(model_folder: Path, tmp_path: Path, name: str, kind: str) -> None:
    path = model_folder / name
    if kind == "link":
        path.replace(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.unlink()
        os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    error = in_time(lambda: from_pretrained(model_folder))
    assert isinstance(error, ModelFileError)
    assert name in str(error)
    assert "plain files" in error.remedy


def test_links_within_a_folder_and_those_of_the_hub_are_followed(model_folder: Path, tmp_path: Path) -> None:
    """The hub's client keeps the files of all revisions of a model side by side, and links to them."""
    (model_folder / "model.safetensors").rename(model_folder / "weights")
    (model_folder / "model.safetensors").symlink_to("weights")
    assert from_pretrained(model_folder).config.hidden == 8
    snapshot, blobs = tmp_path / "models--a--b" / "snapshots" / "1", tmp_path / "models--a--b" / "blobs"
    model_folder.rename(model_folder.parent / "moved")
    shutil.copytree(model_folder.parent / "moved", snapshot)
    blobs.mkdir()
    for path in [each for each in snapshot.iterdir() if each.is_file()]:
        blob = blobs / str(len([*blobs.iterdir()]))
        shutil.copyfile(path, blob)
        path.unlink()
        path.symlink_to(f"../../blobs/{blob.name}")
    assert from_pretrained(snapshot).config.hidden == 8
