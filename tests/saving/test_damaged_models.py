"""Damaged models: every file of every kind, settings and weights that do not fit, and nothing unpickled."""

from __future__ import annotations

import json
import pickle
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from lexitree.errors import ModelFileError
from lexitree.models.model_config import TextReading
from lexitree.saving.model_kinds import load_model, save_model
from lexitree.saving.pretrained import from_pretrained
from tests.saving.edited_models import (
    DATA_FILES,
    edit_config,
    edit_weights,
    hidden_of,
    make,
    seal,
    tensors_of,
)
from tests.tiny import tiny_model

KINDS = tuple(DATA_FILES)
KIND_FILES = [(kind, name) for kind, names in DATA_FILES.items() for name in ("config.json", *names)]


@pytest.mark.parametrize(("kind", "name"), KIND_FILES)
def test_a_missing_cut_or_scrambled_file(tmp_path: Path, kind: str, name: str) -> None:
    """It is named even if someone has made the checksums fit it."""
    folder = save_model(make(kind), tmp_path / "model")
    path = folder / name
    content = path.read_bytes()
    rng = random.Random(3)
    damaged = [b"", content[: len(content) // 2], content[:-3], rng.randbytes(200), b"\xff\xfe" + content]
    for wrong in damaged:
        path.write_bytes(wrong)
        with pytest.raises(ModelFileError) as caught:
            load_model(folder)
        assert name in str(caught.value)
        if name != "config.json":
            seal(folder)
            with pytest.raises(ModelFileError) as caught:
                load_model(folder)
            assert name in str(caught.value)
    path.unlink()
    with pytest.raises(ModelFileError, match=name):
        load_model(folder)
    path.mkdir()
    with pytest.raises(ModelFileError):
        load_model(folder)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, name in KIND_FILES if name.endswith(".safetensors")]
)
def test_one_wrong_bit_in_the_weights(tmp_path: Path, kind: str, name: str) -> None:
    path = save_model(make(kind), tmp_path / "model") / name
    content = bytearray(path.read_bytes())
    content[-10] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="is damaged, cut off or from another model") as caught:
        load_model(path.parent)
    assert name in str(caught.value)


def content_of(folder: Path) -> object:
    """Everything that a loaded model consists of, to be compared."""
    model = load_model(folder)
    network = getattr(model, "model", model)
    return (
        {name: (str(t.dtype), t.shape, t.numpy().tobytes()) for name, t in tensors_of(model).items()},
        network.config.as_dict(),
        model.training_record,
        [json.loads((folder / name).read_text()) for name in DATA_FILES[model.kind] if name.endswith("json")],
    )


@pytest.mark.parametrize(("kind", "name"), KIND_FILES)
def test_a_wrong_bit_anywhere_is_noticed_or_harmless(tmp_path: Path, kind: str, name: str) -> None:
    """In config.json, all of which counts but its layout, in weights and in vocabularies."""
    folder = save_model(make(kind), tmp_path / "model", training={"corpus": "tiny", "score": 0.5})
    path = folder / name
    before, content = content_of(folder), path.read_bytes()
    rng = random.Random(4)
    num_tries = min(len(content), 120)
    num_noticed = 0
    for place in rng.sample(range(len(content)), num_tries):
        wrong = content[place] ^ 1 << rng.randrange(8)
        path.write_bytes(content[:place] + bytes([wrong]) + content[place + 1 :])
        try:
            assert content_of(folder) == before, place
        except ModelFileError:
            num_noticed += 1
    # Three of four bytes of config.json are no layout.
    assert num_noticed > (0.6 if name == "config.json" else 0.99) * num_tries


def test_a_configuration_edited_by_hand(tmp_path: Path) -> None:
    """It is refused, and accepted without its checksum; laid out in another way, it is the same."""
    folder = save_model(make("classifier"), tmp_path / "model")
    path = folder / "config.json"
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values))
    assert hidden_of(load_model(folder)) == 8
    values["model"]["label_names"] = {"0": "bad"}
    path.write_text(json.dumps(values))
    with pytest.raises(ModelFileError, match="its checksum is wrong") as caught:
        load_model(folder)
    assert "remove its entry 'checksum'" in caught.value.remedy
    del values["checksum"]
    path.write_text(json.dumps(values))
    assert load_model(folder).config.label_names == {"0": "bad"}


def test_the_order_of_finer_labels_counts(tmp_path: Path) -> None:
    """It is that of the scores."""
    folder = save_model(tiny_model(finer_labels={"a": "0", "b": "1"}), tmp_path / "model")
    path = folder / "config.json"
    values = json.loads(path.read_text())
    values["model"]["finer_labels"] = {"b": "1", "a": "0"}
    path.write_text(json.dumps(values))
    with pytest.raises(ModelFileError, match="its checksum is wrong"):
        load_model(folder)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda values: values.update(kind={}), "has an invalid entry 'kind': {}"),
        (lambda values: values.update(kind=["parser"]), "has an invalid entry 'kind'"),
        (lambda values: values.update(training=["corpus"]), "has an invalid entry 'training': ['corpus']"),
        (lambda values: values.update(training="tiny"), "has an invalid entry 'training'"),
        (lambda values: values.update(checksums=[]), "has an invalid entry 'checksums'"),
        (lambda values: values.update(format=True), "has format True"),
        (lambda values: values.update(format={}), "has format {}"),
        (lambda values: values.update(table=[]), "unknown table form"),
        (lambda values: values.update(format=3), "has format 3; this version reads up to 2"),
        (lambda values: values.pop("format"), "has format None"),
        (lambda values: values.update(library="other"), "does not describe a lexitree model"),
        (lambda values: values.update(model=[1]), "does not describe a lexitree model"),
        (lambda values: values.update(table="int4"), "unknown table form: 'int4'"),
        (lambda values: values.update(table=8), "unknown table form"),
        (lambda values: values.update(checksums=None), "is damaged"),
        (lambda values: values.update(checksums={}), "is damaged"),
        (lambda values: values.pop("checksums"), "is damaged"),
        (lambda values: values["model"].update(hidden=9), "does not fit config.json"),
        (lambda values: values["model"].update(hidden=-8), "hidden must be"),
        (lambda values: values["model"].update(colour=1), "colour"),
        (lambda values: values["model"].update(labels="S"), "invalid settings"),
        (lambda values: values["model"].update(labels=["S", "S"]), "invalid settings"),
        (lambda values: values["model"].pop("labels"), "invalid settings"),
    ],
)
def test_a_configuration_that_cannot_be(
    tmp_path: Path, kind: str, change: Callable[[dict[str, Any]], object], problem: str
) -> None:
    folder = save_model(make(kind), tmp_path / "model")
    edit_config(folder, change)
    with pytest.raises(ModelFileError) as caught:
        load_model(folder)
    assert problem in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [65_536, 10**9, 10**18, 10**40])
def test_no_memory_is_taken_for_absurd_sizes(tmp_path: Path, kind: str, size: int) -> None:
    """Each size by itself; the weights are small."""
    folder = save_model(make(kind), tmp_path / "model")
    text = (folder / "config.json").read_text()
    settings = json.loads(text)["model"]
    names = [name for name, value in settings.items() if type(value) is int]
    assert "hidden" in names
    for name in names:
        edit_config(folder, lambda values, name=name: values["model"].update({name: size}))
        tracemalloc.start()
        with pytest.raises(ModelFileError):
            load_model(folder)
        assert tracemalloc.get_traced_memory()[1] < 5e6, name
        tracemalloc.stop()
        (folder / "config.json").write_text(text)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("has_checksums", [False, True])
def test_models_of_the_first_format(tmp_path: Path, kind: str, has_checksums: bool) -> None:
    """It had no checksums for classifiers and rerankers, no kind for classifiers and no table form for parsers."""
    folder = save_model(make(kind), tmp_path / "model")

    def change(values: dict[str, Any]) -> None:
        values.update(format=1)
        del values["table"]
        if kind == "classifier":
            del values["kind"]
        if not has_checksums:
            del values["checksums"]

    edit_config(folder, change)
    assert hidden_of(load_model(folder)) == 8


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda values: values["model"].update(hidden=10**12), "hidden must be"),
        (lambda values: values["model"].update(hidden=10**40), "hidden must be"),
        (lambda values: values["model"].update(word_size=9), "does not fit config.json"),
        (lambda values: values["model"].update(model="contree"), "does not fit config.json"),
        (lambda values: values["model"].update(model="tree"), "unknown model 'tree'"),
        (lambda values: values["model"].update(hidden="8"), "hidden must be a whole number"),
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
        (lambda values: values["model"].update(head_method="Q"), "head_method must be one of"),
        (lambda values: values["model"].update(binarization=None), "binarization must be one of"),
        (lambda values: values.update(plugins=3), "invalid entry 'plugins'"),
        (lambda values: values.update(plugins=[{"kind": ["model"]}]), "invalid entry 'plugins'"),
        (
            lambda values: values.update(plugins=[{"kind": "model", "module": "os"}]),
            "of the module os, which is not",
        ),
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
    folder = save_model(tiny_model(), tmp_path / "bytes", table="int8")
    edit_weights(folder, change)
    with pytest.raises(ModelFileError, match=r"model\.safetensors"):
        from_pretrained(folder)


@pytest.mark.parametrize("content", ["{}", "[1]", '["a", "a"]', '["<unk>"]', '["a", "b"]'])
def test_a_vocabulary_that_does_not_fit(folder: Path, content: str) -> None:
    (folder / "vocabulary.json").write_text(content)
    seal(folder)
    with pytest.raises(ModelFileError, match=r"vocabulary\.json"):
        from_pretrained(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_ever_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (tmp_path / "exploded",)

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("something was unpickled")

    folder = save_model(make(kind), tmp_path / "model")
    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    assert hidden_of(load_model(folder)) == 8
    for name in ("config.json", *DATA_FILES[kind]):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(pickle.dumps(Bomb()))
        if name != "config.json":
            seal(folder)
        with pytest.raises(ModelFileError):
            load_model(folder)
        (folder / name).write_bytes(content)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    "entry", [3, [], {}, {"format": 2}, {"format": 1, "parser": 3}, {"format": 1, "no such": ""}]
)
def test_what_a_model_says_of_reading_texts_is_checked(tmp_path: Path, entry: object) -> None:
    model = tiny_model()
    model.reading = TextReading(parser="builtin")
    folder = save_model(model, tmp_path / "model")
    assert from_pretrained(folder).reading == model.reading
    edit_config(folder, lambda values: values.update({"text": entry}))
    with pytest.raises(ModelFileError, match="how the model reads texts"):
        from_pretrained(folder)
