"""`lexitree parser`: train and evaluate from end to end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lexitree.corpora.mini import load_mini_parses
from lexitree.trees.brackets import tree_to_brackets
from tests.cli.conftest import Call, assert_users_error
from tests.command import run_command

RECIPE = """
min_count = 1

[model]
word_size = 16
affix_size = 16
affix_rows = 256
hidden = 24
layers = 1
span_size = 24

[training]
epochs = 3
batch_words = 100
learning_rate = 0.01
warm_up = 0.05

[[treebanks]]
name = "questions"
path = "mini-questions/train"
style = "mini"
last = 80
held_out = 0.1

[[treebanks]]
name = "test"
path = "mini-questions/test"
part = "test"
last = 10
"""


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recipe") / "recipe.toml"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="module")
def parser(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "run"
    finished = run_command("parser", "train", "--recipe", recipe, "-o", folder, "--device", "cpu")
    assert finished.returncode == 0, finished.stderr
    lines = [line for line in finished.stderr.splitlines() if line.startswith("seed 1 epoch")]
    assert len(lines) == 3
    assert re.match(
        r"seed 1 epoch  1  loss +\d+\.\d{3}  dev F1 \d+\.\d  \(questions \(held out\) \d+\.\d\)", lines[0]
    )
    assert re.match(r"best epoch [123] of 3:  dev F1 \d+\.\d\n", finished.stdout)
    assert "best of 8" in finished.stdout
    return folder / "model"


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.txt"
    trees = load_mini_parses()["dev"][:10]
    path.write_text("".join(f"(ROOT {tree_to_brackets(tree)})\n" for tree in trees))
    return path


def test_evaluate(call: Call, parser: Path, gold: Path) -> None:
    finished = call("parser", "evaluate", parser, gold, "--device", "cpu")
    assert re.match(r"10 sentences:  F1 \d+\.\d  precision .* tags \d+\.\d  complete \d+\.\d\n", finished.out)
    assert finished.code == 0


def test_evaluate_as_json_with_the_oracle(call: Call, parser: Path, gold: Path) -> None:
    options = ("--kbest", "4", "--json", "--style", "mini", "--device", "cpu")
    scores = json.loads(call("parser", "evaluate", parser, gold, *options).out)
    assert (scores["style"], scores["k"], scores["sentences"]) == ("mini", 4, 10)
    assert scores["f1"] <= scores["oracle_f1"]


def test_a_run_goes_on(call: Call, recipe: Path, tmp_path: Path) -> None:
    options = (
        "--recipe",
        recipe,
        "-o",
        tmp_path / "run",
        "--device",
        "cpu",
        "-q",
        "--epochs",
        "2",
        "--small",
    )
    started = call("parser", "train", *options, "--minutes", "0")
    assert started.out.startswith("best epoch 1 of 1")
    assert started.err == ""
    assert_users_error(call("parser", "train", *options), "already holds a run", "--resume")
    assert call("parser", "train", *options, "--resume").out.startswith("best epoch")
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert len(result["epochs"]) == 2
    assert result["model"]["hidden"] == 200
    other = call("parser", "train", *options, "--resume", "--seed", "9")
    assert_users_error(other, "belongs to another run")


def test_errors_are_clear(call: Call, parser: Path, gold: Path, tmp_path: Path) -> None:
    missing = tmp_path / "a" / "b"
    assert_users_error(call("parser", "evaluate", missing, gold), "no such model")
    assert_users_error(call("parser", "evaluate", parser, gold, "--style", "odd"), "no style 'odd'", "mini")
    (tmp_path / "empty.txt").write_text("")
    assert_users_error(call("parser", "evaluate", parser, tmp_path / "empty.txt"), "has no trees")
    (tmp_path / "broken.txt").write_text("(S (NN a)\n")
    assert_users_error(call("parser", "evaluate", parser, tmp_path / "broken.txt"), "broken.txt:1")
    train = ("parser", "train", "-o", tmp_path / "run", "--recipe")
    assert_users_error(call(*train, tmp_path / "none.toml"), "none.toml")
    assert_users_error(call(*train, Path("recipes/parsing/parser.toml").absolute()), "--data")


def test_help_names_the_commands(call: Call) -> None:
    text = call("parser", "--help").out
    assert all(command in text for command in ("train", "evaluate", "lexitree parse"))
