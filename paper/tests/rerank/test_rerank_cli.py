"""`lexitree rerank`: train, evaluate, apply, lists and heads from end to end, and what is said of damaged lists."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Call, assert_users_error
from tests.cli.test_parser_cli import RECIPE as PARSER_RECIPE
from tests.cli.untrained_parser import save_untrained_parser

from lexitree.parsers.protocol import Candidate
from lexitree.trees.brackets import tree_from_brackets, tree_to_brackets
from lexitree.trees.jsonl import tree_to_json
from lexitree_paper.rerank.lists import parse_list
from lexitree_paper.rerank.run import train_reranker
from tiny_lists import as_json, make_lists, tiny_data, tiny_recipe, write_lists

RECIPE = """
min_count = 1

[model]
hidden = 8

[training]
batch_size = 8
learning_rate = 0.01
train_words = true
min_label_count = 1
"""


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lists(tmp_path_factory.mktemp("lists") / "lists.jsonl", make_lists(40))


@pytest.fixture(scope="module")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "run"
    train_reranker(tiny_recipe(epochs=2), folder, lists=tiny_data(40, 15, 0))
    return folder / "model"


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE)
    return path


def test_train_and_resume(call: Call, lists: Path, recipe: Path, tmp_path: Path) -> None:
    test = write_lists(tmp_path / "test.jsonl", make_lists(12, split="test"))
    options = ("--recipe", recipe, "-o", tmp_path / "run", "--test", test, "--device", "cpu")
    started = call("rerank", "train", lists, *options, "--epochs", "2", "--minutes", "0")
    assert started.code == 0, started.err
    assert re.match(
        r"seed 1 epoch  1  loss +\d+\.\d{3}  dev F1 \d+\.\d  mean F1 \d+\.\d  weight ", started.err
    )
    assert "best epoch 1 of 1" in started.out
    assert "12 sentences" in started.out
    assert "the best (oracle)" in started.out
    again = call("rerank", "train", lists, *options, "--epochs", "2")
    assert_users_error(again, "already holds a run", "--resume")
    resumed = call("rerank", "train", lists, *options, "--epochs", "2", "--resume", "--quiet")
    assert re.search(r"best epoch [12] of 2", resumed.out)
    assert resumed.err == ""
    other = call("rerank", "train", lists, *options, "--epochs", "2", "--resume", "--model", "contree")
    assert_users_error(other, "belongs to another run")


@pytest.mark.slow
def test_several_seeds(call: Call, lists: Path, recipe: Path, tmp_path: Path) -> None:
    options = ("--recipe", recipe, "-o", tmp_path / "run", "--device", "cpu", "--epochs", "1")
    finished = call(
        "rerank", "train", lists, *options, "--seeds", "1,2", "--model", "contree", "--set", "model.hidden=4"
    )
    assert finished.code == 0, finished.err
    assert "best model by development score: " in finished.out
    assert (tmp_path / "run" / "summary.json").is_file()
    for seed in (1, 2):
        result = json.loads((tmp_path / "run" / f"seed-{seed}" / "result.json").read_text())
        assert (result["recipe"]["training"]["seed"], result["model"]["hidden"]) == (seed, 4)


def test_evaluate(call: Call, reranker: Path, lists: Path) -> None:
    finished = call("rerank", "evaluate", reranker, lists, "--details", "--device", "cpu")
    assert finished.code == 0, finished.err
    for part in ("40 sentences", "at random", "of the way", "p ", "by sentence length", "by label"):
        assert part in finished.out
    scores = json.loads(call("rerank", "evaluate", reranker, lists, "--json", "--base-weight", "1e6").out)
    assert scores["base_weight"] == 1e6
    assert scores["f1"] == scores["first_f1"]
    assert scores["gap_closed"] == 0
    assert scores["p"] == 1


def test_the_reference_chooses_the_same(call: Call, reranker: Path, lists: Path) -> None:
    plain, reference = (
        call("rerank", "apply", reranker, lists, "--backend", backend, "--device", "cpu").out
        for backend in ("auto", "reference")
    )
    assert plain == reference
    assert len(plain.splitlines()) == 40


def test_apply_to_a_stream(call: Call, reranker: Path) -> None:
    first, second = (json.dumps(as_json(each)) for each in make_lists(2))
    finished = call("rerank", "apply", reranker, "--device", "cpu", stdin=f"{first}\n\n{second}\n")
    lines = finished.out.split("\n")
    assert len(lines) == 4
    assert lines[1] == ""
    assert tree_from_brackets(lines[0]).words == parse_list(first, 1, "").words


def test_apply_writes_lists(call: Call, reranker: Path, lists: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    finished = call("rerank", "apply", reranker, lists, "-f", "json", "-o", output, "--device", "cpu")
    assert (finished.code, finished.out) == (0, "")
    lines = output.read_text().splitlines()
    assert len(lines) == 40
    best = json.loads(lines[0])["candidates"][0]
    assert {"score", "tree_score", "base_score", "place", "tree"} <= set(best)
    # The output is a file of lists again.
    assert call("rerank", "apply", reranker, output, "--device", "cpu").code == 0


def test_one_candidate_no_gold_and_hundreds(call: Call, reranker: Path) -> None:
    (candidates,) = make_lists(1)
    listed = as_json(candidates)["candidates"]
    single = json.dumps({"candidates": listed[:1]})
    many = json.dumps({"candidates": listed * 100})
    finished = call("rerank", "apply", reranker, "--device", "cpu", stdin=f"{single}\n{many}\n")
    assert finished.code == 0
    assert finished.out.splitlines()[0] == tree_to_brackets(candidates.candidates[0].tree)


def test_what_our_parser_writes_is_a_list(call: Call, reranker: Path, tmp_path: Path) -> None:
    tree = tree_from_brackets("(S (NN yes))")
    line = json.dumps({"parses": [{**tree_to_json(tree), "log_probability": -0.1}]})
    assert call("rerank", "apply", reranker, "--device", "cpu", stdin=line + "\n").out == "(S (NN yes))\n"
    parser = save_untrained_parser(tmp_path / "parser")
    options = ("--parser", f"reranked:{reranker},{parser}", "--device", "cpu")
    own = ("parse", "--parser", f"builtin:{parser}")
    lists = call(*own, "the film is", "--kbest", "3", "--format", "json", "--device", "cpu").out
    assert call("rerank", "apply", reranker, "--device", "cpu", stdin=lists).code == 0
    parsed = call("parse", *options, stdin="the film is\n\n").out
    assert tree_from_brackets(parsed.splitlines()[0]).words == ("the", "film", "is")
    several = call("parse", *options, "--kbest", "3", stdin="the film is\n").out
    assert len(several.strip().splitlines()) == 3
    gold = tmp_path / "gold.txt"
    gold.write_text("(S (NP (NN the) (NN film)) (NN is))\n")
    behind = ("--parser", parser, "--device", "cpu", "--json")
    scores = json.loads(call("rerank", "evaluate", reranker, gold, *behind).out)
    assert scores["sentences"] == 1
    assert 0 <= scores["f1"] <= scores["oracle_f1"]


def test_damaged_lists_are_errors_or_left_out(call: Call, reranker: Path, tmp_path: Path) -> None:
    good = as_json(make_lists(1)[0])
    without_score = {**good, "candidates": [{"tree": good["candidates"][0]["tree"]}]}
    other_words = {**good, "candidates": [*good["candidates"], {"score": 0, "tree": "(S (NN other))"}]}
    without_gold = {"candidates": good["candidates"]}
    marked = {"candidates": [{"score": 0, "tree": "(S (@X (NN a) (NN b)) (NN c))"}]}
    path = tmp_path / "lists.jsonl"
    path.write_text(
        "".join(json.dumps(each) + "\n" for each in (good, without_score, other_words, marked, without_gold))
    )
    assert_users_error(
        call("rerank", "apply", reranker, path), "lists.jsonl:2", "score", "give all candidates 0"
    )
    skipped = call("rerank", "apply", reranker, path, "--on-error", "skip", "--device", "cpu")
    assert skipped.code == 0
    assert [bool(line) for line in skipped.out.splitlines()] == [True, False, False, False, True]
    assert "skipped 3 malformed lists" in skipped.err
    for part in ("lists.jsonl:2", "lists.jsonl:3", "'other'", "lists.jsonl:4", "@X"):
        assert part in skipped.err
    path.write_text(json.dumps(without_gold) + "\n")
    assert_users_error(
        call("rerank", "evaluate", reranker, path), "lists.jsonl:1", "no gold tree", "--on-error"
    )
    assert_users_error(call("rerank", "evaluate", reranker, path, "--on-error", "skip"), "has no lists")
    assert_users_error(call("rerank", "train", path, "-o", tmp_path / "run"), "no gold tree", "--on-error")


def test_damaged_lists_are_left_out_of_training(call: Call, recipe: Path, tmp_path: Path) -> None:
    damaged = [
        {"candidates": [{"tree": "(S (NN yes))"}]},
        {"candidates": [{"score": 0, "tree": "(S (NN yes))"}]},
    ]
    good = [as_json(each) for each in make_lists(20)]
    path = tmp_path / "lists.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in (*damaged, *good)))
    options = ("--recipe", recipe, "-o", tmp_path / "run", "--epochs", "1", "--device", "cpu", "--quiet")
    assert_users_error(call("rerank", "train", path, *options), "lists.jsonl:1", "score")
    finished = call("rerank", "train", path, *options, "--on-error", "skip")
    assert finished.code == 0, finished.err
    assert "skipped 2 malformed lists" in finished.err
    sizes = json.loads((tmp_path / "run" / "result.json").read_text())["lists"]
    assert sizes["train"] + sizes["dev"] == 20


def test_other_errors_are_clear(call: Call, reranker: Path, lists: Path, tmp_path: Path) -> None:
    assert_users_error(call("rerank", "train", "-o", tmp_path / "run"), "no lists")
    assert_users_error(
        call("rerank", "train", lists, "-o", tmp_path / "run"),
        "start random",
        "--set training.train_words=true",
    )
    assert_users_error(call("rerank", "train", tmp_path / "none.jsonl"), "none.jsonl")
    assert_users_error(call("rerank", "apply", tmp_path / "a" / "b"), "no such model")
    assert_users_error(call("rerank", "apply", reranker, tmp_path / "none.jsonl"), "none.jsonl")
    (tmp_path / "bad.toml").write_text("odd = 1\n")
    assert_users_error(call("rerank", "train", lists, "--recipe", tmp_path / "bad.toml"), "odd")


def test_heads(call: Call, reranker: Path, saved_model: Path) -> None:
    tree = "(S (NP-SBJ (DT the) (NN film)) (VP (VBZ is) (-NONE- *) (ADJP (JJ good))) (. .))\n"
    finished = call("rerank", "heads", reranker, "-", "--draw", "1", "--device", "cpu", stdin=tree)
    assert finished.code == 0, finished.err
    assert re.search(r"NP-SBJ ← (the|film)", finished.out)
    assert "@" not in finished.out
    assert "reranker: heads that are Collins' heads" in finished.out
    beside = ("--beside", saved_model, "--json", "--device", "cpu")
    figures = json.loads(call("rerank", "heads", reranker, "-", *beside, stdin=tree).out)
    assert set(figures) == {"reranker", str(saved_model)}
    assert_users_error(call("rerank", "heads", reranker, "-", stdin=""), "has no trees")


def test_lists(call: Call, tmp_path: Path) -> None:
    recipe = tmp_path / "parser.toml"
    recipe.write_text(PARSER_RECIPE.replace("last = 80", "last = 30"))
    output = tmp_path / "lists.jsonl"
    options = ("--recipe", recipe, "--runs", tmp_path / "runs", "--folds", "2", "-k", "2", "--minutes", "0")
    finished = call("rerank", "lists", output, *options, "--device", "cpu")
    assert finished.code == 0, finished.err
    assert "27 lists" in finished.out
    assert "fold 1 of 2" in finished.err
    found = [parse_list(line, 1, "") for line in output.read_text().splitlines()]
    assert all(each.gold is not None for each in found)
    assert all(isinstance(Candidate(*each.candidates[0]), Candidate) for each in found)


def test_help_teaches(call: Call) -> None:
    assert all(
        name in call("rerank", "--help").out for name in ("train", "evaluate", "apply", "lists", "heads")
    )
    text = " ".join(call("rerank", "train", "--help").out.split())
    for part in ("without a gold tree", "one candidate", "any order", "--resume"):
        assert part in text
