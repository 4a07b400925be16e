"""Where models are found: by their names in the package, in directories, and with each other's weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lexitree.errors import ModelFileError
from lexitree.saving import shipped
from lexitree.saving.model_folder import locate_model
from lexitree.saving.model_kinds import save_model
from lexitree.saving.pretrained import from_pretrained
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
