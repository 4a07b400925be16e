"""`lexitree pack`: sizes, words and scores of what is written, and what cannot be packed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from lexitree.lexicon.vector_npz import write_vectors_npz
from lexitree.lexicon.vector_streams import WordVectors
from lexitree.saving.model_folder import ModelFolder
from lexitree.saving.model_kinds import load_model, save_model
from lexitree.saving.pretrained import from_pretrained
from tests.cli.conftest import Call, assert_users_error
from tests.command import run_command
from tests.saving.edited_models import make
from tests.saving.test_saved_transformer import make_model
from tests.tiny import tiny_model


@pytest.fixture
def vectors(saved_model: Path, tmp_path: Path) -> Path:
    """The model's vectors, and some of other words."""
    table = from_pretrained(saved_model).lexicon
    known = table.vectors.detach().numpy()[1:]
    words = (*table.vocabulary, "movie", "boring")
    write_vectors_npz(tmp_path / "vectors.npz", WordVectors(words, np.concatenate([known, -known[:2]]), ""))
    return tmp_path / "vectors.npz"


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
    record = ModelFolder(folder).training
    assert record["test_root"] == report["after"]["test"]["root"]
    assert record["words"] == 15
    assert record["seed"] == ModelFolder(saved_model).training["seed"]
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
    assert "in float16 (was" in found.out
    assert "5 words, 0 of them new" in found.out
    assert "guessed" not in found.out
    assert "phrase before" in found.out
    assert not from_pretrained(folder).lexicon.can_guess


def test_words_of_texts_come_before_others(
    call: Call, saved_model: Path, treebank: Path, vectors: Path, tmp_path: Path
) -> None:
    (tmp_path / "texts.tsv").write_text("1\tboring, boring\n")
    folder, options = tmp_path / "packed", ("--words", 14, "--corpus", treebank, "--vectors", vectors)
    for texts, found in (((), "movie"), (("--texts", tmp_path / "texts.tsv"), "boring")):
        assert call("pack", saved_model, "-o", folder, *options, *texts, "--no-guesses").code == 0
        vocabulary = from_pretrained(folder).lexicon.vocabulary
        assert [word for word in ("movie", "boring") if word in vocabulary] == [found]


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
    assert_users_error(found, "the words of the training data must be kept", "--corpus")
    assert not (tmp_path / "packed").exists()


def test_vectors_of_another_model(call: Call, saved_model: Path, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("the " + "1 " * 7 + "1\nfilm " + "1 " * 7 + "1\n")
    found = call("pack", saved_model, "-o", tmp_path / "packed", "--vectors", tmp_path / "other.txt")
    assert_users_error(found, "not trained with the vectors of", "other.txt")


@pytest.mark.parametrize("kind", ["parser"])
def test_other_kinds_are_only_made_smaller(call: Call, kind: str, tmp_path: Path) -> None:
    folder = save_model(make(kind), tmp_path / "model", training={"note": "nothing"}, table="float32")
    found = call("pack", folder, "-o", tmp_path / "packed", "--json")
    report = json.loads(found.out)
    assert report["table"] == "int8"
    assert report["bytes"] < report["bytes_before"]
    assert load_model(tmp_path / "packed").training_record == {"note": "nothing"}
    for options in (("--words", 3), ("--trees", "mini-reviews"), ("--texts", __file__), ("--no-guesses",)):
        found = call("pack", folder, "-o", tmp_path / "other", *options)
        assert_users_error(found, f"is a {kind}, whose words cannot be changed", options[0])


@pytest.mark.parametrize("with_table", [False, True])
def test_a_model_over_a_transformer(
    call: Call, encoders: dict[str, Path], treebank: Path, tmp_path: Path, with_table: bool
) -> None:
    folder, packed = tmp_path / "model", tmp_path / "packed"
    save_model(make_model(encoders["bert"], with_table=with_table), folder, training={"seed": 7})
    found = call("pack", folder, "-o", packed, "--corpus", treebank, "--json")
    assert found.code == 0, found.err
    report = json.loads(found.out)
    assert report["bytes_before"] == ModelFolder(folder).num_bytes > report["bytes"]
    assert report["bytes"] == sum(path.stat().st_size for path in packed.rglob("*") if path.is_file())
    assert report["before"] == report["after"]
    assert ("words" in report) is with_table
    record = ModelFolder(packed).training
    assert (record["seed"], record["test_root"]) == (7, report["after"]["test"]["root"])
    assert record.get("words") == (13 if with_table else None)


def test_a_transformer_alone_has_no_words(call: Call, encoders: dict[str, Path], tmp_path: Path) -> None:
    folder = save_model(make_model(encoders["bert"]), tmp_path / "model")
    found = call("pack", folder, "-o", tmp_path / "packed", "--trees", "mini-reviews")
    assert_users_error(found, "no table of words of its own", "in pieces")


@pytest.fixture
def sentiment(shipped_folder: Path) -> Path:
    """A model of the package with the five labels that count for two in the embedded reviews."""
    model = tiny_model(labels=tuple("01234"))
    return save_model(model, shipped_folder / "sentiment", training={"corpus": "five", "test_root": 0.1})


def test_a_model_that_only_answers_otherwise(call: Call, sentiment: Path, tmp_path: Path) -> None:
    folder = sentiment.parent / "sentiment-binary"
    found = call("pack", "sentiment", "-o", folder, "--answers", "mini-reviews-polarity", "--json")
    assert found.code == 0, found.err
    scores = json.loads(found.out)["scores"]
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "config.json"]
    record = ModelFolder(folder).training
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
    assert_users_error(found, "only shipped models can use the weights of another")
    found = call("pack", "sentiment", "-o", sentiment.parent / "mine", *answers)
    assert_users_error(found, "both must be shipped models")
    found = call("pack", sentiment, "-o", sentiment.parent / "questions", *answers)
    assert_users_error(found, "both must be shipped models")
    found = call("pack", "sentiment", "-o", sentiment.parent / "questions", "--answers", "mini-questions")
    assert_users_error(found, "are not those that count for the answers of mini-questions (none)")
    found = call("pack", "sentiment", "-o", sentiment.parent / "questions", *answers, "--no-guesses")
    assert_users_error(found, "--answers keeps weights and words as they are", "--no-guesses")


@pytest.mark.slow
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
