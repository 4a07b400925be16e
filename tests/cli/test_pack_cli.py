"""`lexitree pack`: sizes, words and scores of what is written, and what cannot be packed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from lexitree.lexicon.vector_npz import write_vectors_npz
from lexitree.lexicon.vector_rows import WordVectors
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.parsers.network import ParserModel
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.parser_config import ParserConfig
from lexitree.parsers.saved_parser import load_parser, save_parser
from lexitree.saving.model_folder import read_config_file
from lexitree.saving.pretrained import from_pretrained, save_pretrained
from tests.cli.conftest import Call, assert_users_error
from tests.command import run_command
from tests.tiny import tiny_model


@pytest.fixture
def vectors(saved_model: Path, tmp_path: Path) -> Path:
    """The model's vectors, and some of other words."""
    table = from_pretrained(saved_model).lexicon
    known = table.vectors.detach().numpy()[1:]
    words = (*table.vocabulary, "movie", "boring")
    write_vectors_npz(tmp_path / "vectors.npz", WordVectors(words, np.concatenate([known, -known[:2]]), ""))
    return tmp_path / "vectors.npz"


@pytest.fixture
def saved_parser(tmp_path: Path) -> Path:
    """A parser that has learned nothing."""
    config = ParserConfig(labels=("S",), tags=("NN",), hidden=8, layers=1, span_size=8)
    model = ParserModel(config, Vocabulary(["a"]), Vocabulary(["a"]))
    return save_parser(NeuralParser(model), tmp_path / "parser", training={"note": "nothing"})


def test_a_model_for_other_texts(
    call: Call, saved_model: Path, treebank: Path, vectors: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "packed"
    found = call("pack", saved_model, "-o", folder, "--vectors", vectors, "--corpus", treebank, "--json")
    assert found.code == 0, found.err
    report = json.loads(found.out)
    assert report["table"] == "int8"
    assert report["words"]["num_words"] == 15
    assert report["words"]["num_added"] == 2
    assert report["bytes"] == sum(path.stat().st_size for path in folder.iterdir())
    assert report["before"] == report["after"]
    assert set(report["after"]) == {"dev", "test"}
    record = read_config_file(folder)["training"]
    assert record["test_root"] == report["after"]["test"]["root"]
    assert record["words"] == 15
    assert record["seed"] == read_config_file(saved_model)["training"]["seed"]
    assert from_pretrained(folder).lexicon.can_guess


def test_a_small_table_in_words(call: Call, saved_model: Path, treebank: Path, tmp_path: Path) -> None:
    folder = tmp_path / "packed"
    options = (
        "--words",
        5,
        "--corpus",
        treebank,
        "--table",
        "float16",
        "--no-guesses",
        "-t",
        treebank / "dev.txt",
    )
    found = call("pack", saved_model, "-o", folder, *options)
    assert found.code == 0, found.err
    assert "in float16; it had" in found.out
    assert "5 words, 0 of them new" in found.out
    assert "guessed" not in found.out
    assert "phrase before" in found.out
    assert not from_pretrained(folder).lexicon.can_guess


def test_only_smaller(call: Call, saved_model: Path, tmp_path: Path) -> None:
    found = call("pack", saved_model, "-o", tmp_path / "packed", "--json")
    report = json.loads(found.out)
    assert "before" not in report
    assert (
        from_pretrained(tmp_path / "packed").lexicon.vocabulary
        == from_pretrained(saved_model).lexicon.vocabulary
    )


def test_what_must_be_kept_is_not_guessed(call: Call, saved_model: Path, tmp_path: Path) -> None:
    found = call("pack", saved_model, "-o", tmp_path / "packed", "--words", 3)
    assert_users_error(found, "which of its words training has met is not known", "--corpus")
    assert not (tmp_path / "packed").exists()


def test_vectors_of_another_model(call: Call, saved_model: Path, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("the " + "1 " * 7 + "1\nfilm " + "1 " * 7 + "1\n")
    found = call("pack", saved_model, "-o", tmp_path / "packed", "--vectors", tmp_path / "other.txt")
    assert_users_error(found, "not trained with the vectors of", "other.txt")


def test_a_parser(call: Call, saved_parser: Path, tmp_path: Path) -> None:
    found = call("pack", saved_parser, "-o", tmp_path / "packed", "--json")
    assert json.loads(found.out)["table"] == "int8"
    assert load_parser(tmp_path / "packed").training_record == {"note": "nothing"}
    for options in (("--words", 3), ("--table", "float32"), ("--no-guesses",)):
        found = call("pack", saved_parser, "-o", tmp_path / "other", *options)
        assert_users_error(found, "is a parser, whose words stay as they are")


@pytest.fixture
def sentiment(shipped_folder: Path) -> Path:
    """A model of the package with the five labels that count for two in the embedded reviews."""
    model = tiny_model(labels=tuple("01234"))
    return save_pretrained(model, shipped_folder / "sentiment", training={"corpus": "five", "test_root": 0.1})


def test_a_model_that_only_answers_otherwise(call: Call, sentiment: Path, tmp_path: Path) -> None:
    folder = sentiment.parent / "sentiment-binary"
    found = call("pack", "sentiment", "-o", folder, "--answers", "mini-reviews-polarity", "--json")
    assert found.code == 0, found.err
    scores = json.loads(found.out)["scores"]
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "config.json"]
    record = read_config_file(folder)["training"]
    assert record["test_root"] == scores["test"]["root"] != 0.1
    loaded = from_pretrained("sentiment-binary")
    assert loaded.config.labels == ("negative", "positive")
    assert torch.equal(loaded.lexicon.vectors, from_pretrained("sentiment").lexicon.vectors)
    assert (
        "root accuracy" in call("pack", "sentiment", "-o", folder, "--answers", "mini-reviews-polarity").out
    )
    assert "as sentiment" in call("models", "--shipped").out


def test_answers_that_cannot_be_given(call: Call, sentiment: Path, tmp_path: Path) -> None:
    answers = ("--answers", "mini-reviews-polarity")
    found = call("pack", "sentiment", "-o", tmp_path / "elsewhere", *answers)
    assert_users_error(found, "only models of the package have others' weights")
    found = call("pack", "sentiment", "-o", sentiment.parent / "mine", *answers)
    assert_users_error(found, "both must be models of the package")
    found = call("pack", sentiment, "-o", sentiment.parent / "questions", *answers)
    assert_users_error(found, "both must be models of the package")
    found = call("pack", "sentiment", "-o", sentiment.parent / "questions", "--answers", "mini-questions")
    assert_users_error(found, "are not those that count for the answers of mini-questions (none)")


def test_what_its_makers_say_goes_into_the_card(saved_model: Path, tmp_path: Path) -> None:
    about = tmp_path / "about.md"
    about.write_text("## Limits\n\nOnly for tests.\n", encoding="utf-8")
    first, second = tmp_path / "first", tmp_path / "second"
    assert run_command("pack", saved_model, "-o", first, "--no-guesses", "--about", about).returncode == 0
    # It stays with the model, also where that is written anew without a word.
    assert run_command("pack", first, "-o", second, "--no-guesses").returncode == 0
    for folder in (first, second):
        card = (folder / "README.md").read_text(encoding="utf-8")
        assert "## Limits\n\nOnly for tests.\n" in card
        assert "| about |" not in card
    missing = run_command("pack", saved_model, "-o", tmp_path / "third", "--about", tmp_path / "none.md")
    assert missing.returncode == 2
    assert "none.md" in missing.stderr
