"""`lexitree parser`: train, evaluate and parse from end to end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lexitree.corpora.mini import load_mini_parses
from lexitree.trees.brackets import tree_from_brackets, tree_to_brackets
from lexitree.trees.jsonl import tree_from_json
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
SENTENCES = "Who is she ?\n\nWhat 's ( up ) ?\n"


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


def test_parse_a_stream(call: Call, parser: Path) -> None:
    lines = call("parser", "parse", parser, "--device", "cpu", stdin=SENTENCES).out.split("\n")
    assert len(lines) == 4
    assert tree_from_brackets(lines[0]).words == ("Who", "is", "she", "?")
    assert lines[1] == ""
    assert tree_from_brackets(lines[2]).words == ("What", "'s", "-LRB-", "up", "-RRB-", "?")


def test_parse_a_file_as_json(call: Call, parser: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(SENTENCES)
    finished = call("parser", "parse", parser, tmp_path / "text.txt", "--format", "json", "--device", "cpu")
    first, empty, second, _ = finished.out.split("\n")
    assert tree_from_json(json.loads(first)).words == ("Who", "is", "she", "?")
    assert json.loads(first)["log_probability"] <= 0
    assert empty == ""
    assert tree_from_json(json.loads(second)).words == ("What", "'s", "(", "up", ")", "?")


def test_the_k_best(call: Call, parser: Path) -> None:
    plain = call("parser", "parse", parser, "--kbest", "3", "--device", "cpu", stdin="Who is she ?\n").out
    *lines, last, end = plain.split("\n")
    assert (last, end) == ("", "")
    chances, trees = zip(*(line.split("\t") for line in lines), strict=True)
    assert list(map(float, chances)) == sorted(map(float, chances), reverse=True)
    assert len({tree_from_brackets(tree) for tree in trees}) == 3
    options = ("--kbest", "3", "--format", "json", "--device", "cpu")
    listed = json.loads(call("parser", "parse", parser, *options, stdin="Who is she ?\n").out)
    assert [tree_to_brackets(tree_from_json(parse)) for parse in listed["parses"]] == list(trees)


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
    assert_users_error(call("parser", "parse", tmp_path / "a" / "b", stdin="a\n"), "no such model")
    assert_users_error(
        call("parser", "parse", parser, "--style", "odd", stdin="a\n"), "no style 'odd'", "mini"
    )
    assert_users_error(call("parser", "parse", parser, tmp_path / "none.txt"), "none.txt")
    (tmp_path / "empty.txt").write_text("")
    assert_users_error(call("parser", "evaluate", parser, tmp_path / "empty.txt"), "has no trees")
    (tmp_path / "broken.txt").write_text("(S (NN a)\n")
    assert_users_error(call("parser", "evaluate", parser, tmp_path / "broken.txt"), "broken.txt:1")
    train = ("parser", "train", "-o", tmp_path / "run", "--recipe")
    assert_users_error(call(*train, tmp_path / "none.toml"), "none.toml")
    assert_users_error(call(*train, Path("recipes/parsing/parser.toml").absolute()), "--data")


def test_help_names_the_commands(call: Call) -> None:
    text = call("parser", "--help").out
    assert all(command in text for command in ("train", "evaluate", "parse"))
