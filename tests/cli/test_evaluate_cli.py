"""`lexitree evaluate`: scores on a file, a folder and a corpus, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lexitree.corpora.named import load_corpus
from lexitree.saving.model_kinds import save_model
from lexitree.tasks.classify.building import build_model
from lexitree.tasks.classify.run import train
from tests.cli.conftest import Call, assert_users_error
from tests.tiny import tiny_polarity, tiny_recipe


def test_evaluate(call: Call, saved_model: Path, treebank: Path) -> None:
    values = json.loads(call("evaluate", saved_model, treebank, "--json").out)
    assert values["root"]["num_counted"] == 10
    assert values["root"]["accuracy"] > 0.8
    assert json.loads(call("evaluate", saved_model, treebank / "test.txt", "--json").out) == values
    dev = json.loads(call("evaluate", saved_model, treebank, "--split", "dev", "--json").out)
    assert dev["phrase"]["confusion"] != values["phrase"]["confusion"]
    text = call("evaluate", saved_model, treebank).out
    assert f"10 trees: root accuracy {100 * values['root']['accuracy']:.1f}, phrase accuracy" in text
    assert "all phrases" in text
    only = call("evaluate", saved_model, treebank, "--supervision", "root").out
    assert "all phrases" not in only


def test_evaluate_needs_trees(call: Call, saved_model: Path, treebank: Path, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text((treebank / "train.txt").read_text())
    assert_users_error(call("evaluate", saved_model, tmp_path), "has no test trees")
    (tmp_path / "empty.txt").write_text("")
    assert_users_error(call("evaluate", saved_model, tmp_path / "empty.txt"), "empty.txt")


def test_evaluate_reads_no_split_but_the_one_asked_for(
    call: Call, saved_model: Path, treebank: Path, tmp_path: Path
) -> None:
    (tmp_path / "test.txt").write_text((treebank / "test.txt").read_text())
    expected = call("evaluate", saved_model, treebank, "--json").out
    assert call("evaluate", saved_model, tmp_path, "--json") == (0, expected, "")
    # Labels of the roots alone: they say nothing about what the test trees and the model have.
    (tmp_path / "train.txt").write_text("(a (_ b) (_ c))\n")
    assert call("evaluate", saved_model, tmp_path, "--json") == (0, expected, "")
    (tmp_path / "train.txt").write_text("(((\n")
    assert call("evaluate", saved_model, tmp_path, "--json") == (0, expected, "")
    assert_users_error(call("evaluate", saved_model, tmp_path, "--split", "train"), "train.txt:1")


def test_evaluate_on_the_part_that_training_held_out(
    call: Call, saved_model: Path, treebank: Path, tmp_path: Path
) -> None:
    (tmp_path / "train.txt").write_text((treebank / "train.txt").read_text())
    for split, num_trees in (("dev", 4), ("train", 36)):
        values = json.loads(call("evaluate", saved_model, tmp_path, "--split", split, "--json").out)
        assert values["root"]["num_counted"] == num_trees


def test_evaluate_says_what_it_skipped(call: Call, saved_model: Path, treebank: Path, tmp_path: Path) -> None:
    malformed = "(1 (1 a) (1 b)))\n"
    for split in ("train", "test"):
        (tmp_path / f"{split}.txt").write_text((treebank / f"{split}.txt").read_text() + malformed)
    for split, line in (("test", 11), ("dev", 41)):
        found = call("evaluate", saved_model, tmp_path, "--split", split, "--on-error", "skip", "--json")
        assert found.code == 0
        assert "skipped 1 malformed trees" in found.err
        assert f".txt:{line}:" in found.err


def test_a_name_wins_over_a_file_wherever_a_corpus_is_asked_for(
    call: Call, saved_model: Path, treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEXITREE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sst").write_text((treebank / "test.txt").read_text())
    for command in (["evaluate", saved_model, "sst"], ["data", "show", "sst"]):
        assert_users_error(call(*command), "the corpus sst-fine is not on this machine")
    assert call("evaluate", saved_model, "./sst").code == 0


def test_evaluate_strips_as_training_does(call: Call, saved_model: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("(1-SBJ (_ (_ the) (_ film)) (1 (1 good) (-NONE- *)))\n")
    assert_users_error(call("evaluate", saved_model, tmp_path / "t.txt"), "'1-SBJ' is not one of 0, 1")
    options = ["--strip-traces", "--strip-function-tags", "--json"]
    assert (
        json.loads(call("evaluate", saved_model, tmp_path / "t.txt", *options).out)["root"]["num_counted"]
        == 1
    )


def test_evaluate_with_labels_the_model_does_not_know(call: Call, saved_model: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("(5 (0 a) (1 b))\n")
    assert_users_error(call("evaluate", saved_model, tmp_path / "t.txt"), "'5' is not one of 0, 1")


def test_evaluate_a_model_of_finer_labels(call: Call, treebank: Path, tmp_path: Path) -> None:
    result = train(tiny_recipe(treebank, epochs=1), tmp_path / "run", corpus=tiny_polarity())
    assert result.test is not None
    model = tmp_path / "run" / "model"
    # The test split of the treebank is that of the corpus, and carries the answers.
    values = json.loads(call("evaluate", model, treebank, "--json").out)
    assert values == result.test.as_dict()
    assert values["root"]["labels"] == ["0", "1"]
    (tmp_path / "t.txt").write_text("(++ (o the) (++ good))\n")
    assert_users_error(call("evaluate", model, tmp_path / "t.txt"), "'++' is not one of 0, 1", "answers with")


def test_a_training_split_with_finer_labels_is_scored_by_its_answers(call: Call, tmp_path: Path) -> None:
    """Whichever of the two names of the task is given: it is the same sentences, phrases and labels."""
    corpus = load_corpus("mini-reviews-polarity")
    recipe = tiny_recipe(tmp_path, model={"model": "contree"})
    model = save_model(build_model(recipe, corpus), tmp_path / "model")
    for split, num_trees in (("train", 913), ("test", 249)):
        found = [
            json.loads(call("evaluate", model, name, "--split", split, "--json").out)
            for name in ("mini-reviews-polarity", "mini-reviews-binary")
        ]
        assert found[0] == found[1]
        assert found[0]["root"]["num_counted"] == num_trees
        assert found[0]["root"]["labels"] == ["negative", "positive"]
