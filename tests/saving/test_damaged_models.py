"""Saved models: faults of every file, and nothing that is unpickled."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from lexitree.errors import ModelFileError
from lexitree.saving.pretrained import from_pretrained, save_pretrained
from tests.saving.edited_models import edit_config, edit_weights
from tests.tiny import tiny_model


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "model.safetensors"])
def test_a_missing_cut_or_scrambled_file(folder: Path, name: str) -> None:
    path = folder / name
    content = path.read_bytes()
    rng = random.Random(3)
    damaged = [b"", content[: len(content) // 2], content[:-3], rng.randbytes(200), b"\xff\xfe" + content]
    for wrong in damaged:
        path.write_bytes(wrong)
        with pytest.raises(ModelFileError) as caught:
            from_pretrained(folder)
        assert name in str(caught.value)
    path.unlink()
    with pytest.raises(ModelFileError, match=name):
        from_pretrained(folder)
    path.mkdir()
    with pytest.raises(ModelFileError):
        from_pretrained(folder)


def test_a_missing_card_is_no_matter(folder: Path) -> None:
    (folder / "README.md").unlink()
    assert from_pretrained(folder).config.hidden == 8


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda values: values.update(format=2), "has format 2; this version reads 1"),
        (lambda values: values.pop("format"), "has format None"),
        (lambda values: values.update(library="other"), "is not a lexitree model's"),
        (lambda values: values.update(model=[1]), "is not a lexitree model's"),
        (lambda values: values.update(table="int4"), "a table in a form that there is not: 'int4'"),
        (lambda values: values.update(table=8), "a table in a form that there is not"),
        (lambda values: values["model"].update(hidden=9), "does not fit config.json"),
        (lambda values: values["model"].update(hidden=10**12), "does not fit config.json"),
        (lambda values: values["model"].update(hidden=10**40), "does not fit config.json"),
        (lambda values: values["model"].update(word_size=9), "does not fit config.json"),
        (lambda values: values["model"].update(model="contree"), "does not fit config.json"),
        (lambda values: values["model"].update(model="tree"), "no model called 'tree'"),
        (lambda values: values["model"].update(hidden="8"), "hidden must be a whole number"),
        (lambda values: values["model"].update(hidden=-8), "hidden must be at least 1"),
        (lambda values: values["model"].update(labels=[]), "at least one label"),
        (lambda values: values["model"].update(labels=["a", "a"]), "same item twice"),
        (lambda values: values["model"].update(labels=[1, 2]), "labels"),
        (lambda values: values["model"].update(labels=["a", "b", "c"]), "does not fit config.json"),
        (lambda values: values["model"].update(label_names={"0": 3}), "label"),
        (lambda values: values["model"].update(finer_labels={"a": "0"}), "no finer label counts for 1"),
        (
            lambda values: values["model"].update(finer_labels={"a": "0", "b": "1", "c": "1"}),
            "does not fit config.json",
        ),
        (lambda values: values["model"].update(colour=1), "unknown setting: colour"),
        (lambda values: values["model"].update(head_method="Q"), "head_method must be one of"),
        (lambda values: values["model"].update(binarization=None), "binarization must be one of"),
    ],
)
def test_a_configuration_that_does_not_fit(
    folder: Path, change: Callable[[dict[str, Any]], object], problem: str
) -> None:
    edit_config(folder, change)
    with pytest.raises(ModelFileError) as caught:
        from_pretrained(folder)
    assert problem in str(caught.value)


@pytest.mark.parametrize("content", ["[]", "3", "null", "[" * 100_000])
def test_a_configuration_that_is_none(folder: Path, content: str) -> None:
    (folder / "config.json").write_text(content)
    with pytest.raises(ModelFileError):
        from_pretrained(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.pop("lexicon.vectors"),
        lambda tensors: tensors.update({"lexicon.vectors": torch.zeros(3)}),
        lambda tensors: tensors.update({"lexicon.vectors": tensors["lexicon.vectors"][:-1].clone()}),
        lambda tensors: tensors.update({"lexicon.vectors": tensors["lexicon.vectors"].int()}),
        lambda tensors: tensors.update({"lexicon.vectors": tensors["lexicon.vectors"].double()}),
        lambda tensors: tensors.update({"extra": torch.zeros(3)}),
        lambda tensors: tensors.pop("scorer.hidden_bias"),
        lambda tensors: tensors.update({"scorer.hidden_bias": torch.zeros(3)}),
        lambda tensors: tensors.clear(),
    ],
)
def test_weights_that_do_not_fit(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    edit_weights(folder, change)
    with pytest.raises(ModelFileError, match=r"model\.safetensors"):
        from_pretrained(folder)


@pytest.mark.parametrize(
    "shapes",
    [
        {"group_vectors": (5, 4), "projection": (4, 9), "mean": (9,)},
        {"group_vectors": (5, 4), "projection": (4, 8), "mean": (9,)},
        {"group_vectors": (5, 4), "projection": (3, 8), "mean": (8,)},
        {"group_vectors": (0, 4), "projection": (4, 8), "mean": (8,)},
        {"group_vectors": (5,), "projection": (8,), "mean": (8,)},
        {"group_vectors": (), "projection": (4, 8), "mean": (8,)},
        {"group_vectors": (5, 4), "projection": (4, 8), "mean": ()},
        {"group_vectors": (5, 4), "projection": (4, 8)},
        {"group_vectors": (5, 4), "projection": (4, 8), "mean": (8,), "more": (8,)},
        {"more.of.it": (8,)},
    ],
)
def test_a_guesser_that_does_not_fit(folder: Path, shapes: dict[str, tuple[int, ...]]) -> None:
    guesser = {f"lexicon.guesser.{name}": torch.zeros(shape) for name, shape in shapes.items()}
    edit_weights(folder, lambda tensors: tensors.update(guesser))
    with pytest.raises(ModelFileError, match=r"model\.safetensors does not fit"):
        from_pretrained(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.pop("lexicon.vectors.scale"),
        lambda tensors: tensors.update({"lexicon.vectors.scale": torch.ones(3).half()}),
        lambda tensors: tensors.update({"lexicon.vectors.scale": torch.ones(()).half()}),
        lambda tensors: tensors.update({"lexicon.vectors.scale": tensors["lexicon.vectors.scale"].float()}),
        lambda tensors: tensors.update(
            {"lexicon.vectors.scale": tensors["lexicon.vectors.scale"].to(torch.int8)}
        ),
        lambda tensors: tensors.update({"lexicon.vectors": tensors["lexicon.vectors"].int()}),
        lambda tensors: tensors.update({"lexicon.vectors": tensors["lexicon.vectors"].half()}),
        lambda tensors: tensors.update({"lexicon.vectors": tensors["lexicon.vectors"][:-1].clone()}),
        lambda tensors: tensors.update({"lexicon.vectors": tensors["lexicon.vectors"].flatten()}),
        lambda tensors: tensors.update({"scorer.hidden_bias": torch.zeros(8)}),
        lambda tensors: tensors.update({"scorer.hidden_bias": torch.zeros(8).to(torch.int8)}),
        lambda tensors: tensors.update({"scorer.hidden_bias.scale": torch.zeros(8).half()}),
        lambda tensors: tensors.clear(),
    ],
)
def test_bytes_that_do_not_fit(tmp_path: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    folder = save_pretrained(tiny_model(), tmp_path / "bytes", table="int8")
    edit_weights(folder, change)
    with pytest.raises(ModelFileError, match=r"model\.safetensors"):
        from_pretrained(folder)


@pytest.mark.parametrize("content", ["{}", "[1]", '["a", "a"]', '["<unk>"]', '["a", "b"]'])
def test_a_vocabulary_that_does_not_fit(folder: Path, content: str) -> None:
    (folder / "vocabulary.json").write_text(content)
    with pytest.raises(ModelFileError, match=r"vocabulary\.json"):
        from_pretrained(folder)


def test_nothing_is_ever_unpickled(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (tmp_path / "exploded",)

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("something was unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    assert from_pretrained(folder).config.hidden == 8
    for name in ("config.json", "vocabulary.json", "model.safetensors"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(pickle.dumps(Bomb()))
        with pytest.raises(ModelFileError):
            from_pretrained(folder)
        (folder / name).write_bytes(content)
    assert not (tmp_path / "exploded").exists()
