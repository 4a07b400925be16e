"""Saved models: exact round trips, short forms, and what their cards say."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from lexitree.errors import BackendError, ModelFileError
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.word_table import WordTable
from lexitree.pipeline.predictor import Predictor
from lexitree.saving.model_kinds import save_model
from lexitree.saving.pretrained import from_pretrained
from lexitree.saving.quantized import TableForm
from tests.command import files_of
from tests.saving.edited_models import edit_config
from tests.tiny import CONSTITUENCY_MODELS, FINER_LABELS, tiny_model, tiny_trees


@pytest.mark.parametrize("name", CONSTITUENCY_MODELS)
@pytest.mark.parametrize("output", [8, 0])
def test_round_trip_is_exact(tmp_path: Path, name: str, output: int) -> None:
    settings = {
        "label_names": {"0": "schlecht ☹"},
        "binarization": "left",
        "head_method": "A",
        "output": output,
    }
    model = tiny_model(name, **settings)
    loaded = from_pretrained(save_model(model, tmp_path / "m"))
    assert loaded.config == model.config
    assert loaded.lexicon.vocabulary == model.lexicon.vocabulary
    assert not loaded.training
    for name, tensor in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    trees = tiny_trees(8)
    before, after = (list(Predictor(each).predict_all(trees)) for each in (model, loaded))
    for first, second in zip(before, after, strict=True):
        assert first.node_probabilities.tobytes() == second.node_probabilities.tobytes()


def test_finer_labels_come_back_in_their_order(tmp_path: Path) -> None:
    """Neither by number nor by the alphabet: in another order the scores would count for other answers."""
    finer = {"10": "1", "9": "0", "neither": "", "a": "1", "B": "0"}
    model = tiny_model(finer_labels=finer)
    loaded = from_pretrained(save_model(model, tmp_path / "m"))
    assert loaded.config.label_set.trained_ids == tuple(finer)
    assert loaded.config == model.config
    trees = tiny_trees(8)
    before, after = (list(Predictor(each).predict_all(trees)) for each in (model, loaded))
    for first, second in zip(before, after, strict=True):
        assert first.node_probabilities.tobytes() == second.node_probabilities.tobytes()
        assert first.labels == second.labels


def test_a_model_from_before_there_were_finer_labels(folder: Path) -> None:
    trees = tiny_trees(3)
    before = [
        each.node_probabilities.tobytes() for each in Predictor(from_pretrained(folder)).predict_all(trees)
    ]
    edit_config(folder, lambda values: values["model"].pop("finer_labels"))
    after = [
        each.node_probabilities.tobytes() for each in Predictor(from_pretrained(folder)).predict_all(trees)
    ]
    assert after == before


def test_the_look_up_comes_back(folder: Path, tmp_path: Path) -> None:
    model = tiny_model(lookup="folded")
    table = model.lexicon
    assert isinstance(table, WordTable)
    table.vocabulary = Vocabulary(table.vocabulary.words, "folded")
    loaded = from_pretrained(save_model(model, tmp_path / "m"))
    lengthened = [
        f"{word[:1].upper()}{word[1:]}{3 * word[-1]}" for word in table.vocabulary.words if word.isalpha()
    ]
    found = loaded.lexicon.index(lengthened)
    assert found.tolist() == table.index(lengthened).tolist()
    assert found.all()
    edit_config(folder, lambda values: values["model"].pop("lookup"))
    assert from_pretrained(folder).config.lookup == "written"


def test_double_precision_is_kept(tmp_path: Path) -> None:
    loaded = from_pretrained(save_model(tiny_model().double(), tmp_path / "m"))
    assert {tensor.dtype for tensor in loaded.state_dict().values()} == {torch.float64}
    assert Predictor(loaded).predict(tiny_trees(1)[0]).node_probabilities.shape[1] == 2


@pytest.mark.parametrize(("table", "num_bytes", "error"), [("float16", 2, 1e-3), ("int8", 1, 1e-2)])
def test_short_forms_of_the_table(tmp_path: Path, table: TableForm, num_bytes: int, error: float) -> None:
    model = tiny_model()
    folder = save_model(model, tmp_path / "short", table=table)
    written = load_file(folder / "model.safetensors")
    assert written["lexicon.vectors"].element_size() == num_bytes
    others = {name: tensor.dtype for name, tensor in written.items() if name != "lexicon.vectors"}
    assert set(others.values()) == {torch.float16}
    loaded = from_pretrained(folder)
    assert {tensor.dtype for tensor in loaded.state_dict().values()} == {torch.float32}
    trees = tiny_trees(20)
    exact, near = (list(Predictor(each).predict_all(trees)) for each in (model, loaded))
    for first, second in zip(exact, near, strict=True):
        assert abs(first.node_probabilities - second.node_probabilities).max() < error
    assert files_of(save_model(loaded, tmp_path / "again", table=table)) == files_of(folder)


def test_a_short_form_is_read_as_such_only(tmp_path: Path, folder: Path) -> None:
    """What a program that knows no short forms would read as a model of 16 bits is none."""
    short = save_model(tiny_model(), tmp_path / "short", table="float16")
    edit_config(short, lambda values: values.pop("table"))
    assert from_pretrained(short).lexicon.vectors.dtype == torch.float16
    edit_config(folder, lambda values: values.update(table="float16"))
    with pytest.raises(ModelFileError, match=r"not in the form that config\.json says"):
        from_pretrained(folder)


def test_the_card_names_model_and_corpus(folder: Path) -> None:
    assert "# BiConTree on tiny" in (folder / "README.md").read_text()


def test_the_card_says_what_finer_labels_count_for(folder: Path, tmp_path: Path) -> None:
    assert "finer" not in (folder / "README.md").read_text()
    names = {"o": "neutral", "0": "bad", "1": "good"}
    model = tiny_model(finer_labels=FINER_LABELS, label_names=names)
    card = (save_model(model, tmp_path / "finer") / "README.md").read_text()
    assert "- labels: bad, good\n- trained with finer labels" in card
    assert "count for these: --, - for bad; o (neutral) for none; +, ++ for good. The probability" in card


def test_the_backend_can_be_chosen_and_must_exist(folder: Path) -> None:
    assert from_pretrained(folder, backend="reference").what_runs == dict.fromkeys(
        ("compose_heads", "bottom_up", "top_down"), "reference"
    )
    with pytest.raises(BackendError, match="unknown backend 'quantum'"):
        from_pretrained(folder, backend="quantum")
