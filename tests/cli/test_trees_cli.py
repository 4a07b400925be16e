"""`lexitree trees`: checked, converted, binarized, counted and drawn, with a place for every error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lexitree.trees.brackets import read_trees
from lexitree.trees.jsonl import read_json_lines
from tests.cli.conftest import Call, assert_users_error


def test_check(call: Call, trees_file: Path) -> None:
    finished = call("trees", "check", trees_file)
    assert finished == (0, "2 good trees, 0 malformed\n", "")
    trees_file.write_text("(S (NN a))\n(S (NN b)\n(S (NN c))\n(S (NN d)))\n")
    finished = call("trees", "check", trees_file)
    assert finished.code == 1
    assert finished.out == "3 good trees, 2 malformed\n"
    assert f"{trees_file}:2" in finished.err
    assert "^" in finished.err
    assert finished.err.count("error:") == 2
    assert_users_error(call("trees", "check", trees_file, "--on-error", "raise"), f"{trees_file}:2")


def test_check_counts_what_it_does_not_list(call: Call, trees_file: Path) -> None:
    trees_file.write_text("(S (NN a))\n" * 100 + "(S (NN b)\n" * 1500)
    finished = call("trees", "check", trees_file)
    assert finished.out == "100 good trees, 1,500 malformed\n"
    assert "... and 500 more" in finished.err
    converted = call("trees", "convert", trees_file, "--on-error", "skip")
    assert "skipped 1,500 malformed trees" in converted.err
    assert len(converted.out.splitlines()) == 100


def test_check_of_nothing(call: Call) -> None:
    finished = call("trees", "check", "-")
    assert (finished.code, finished.out) == (0, "0 good trees, 0 malformed\n")
    assert "no trees found" in finished.err


def test_convert_there_and_back(call: Call, trees_file: Path, tmp_path: Path) -> None:
    jsonl = tmp_path / "out.jsonl"
    assert call("trees", "convert", trees_file, "-o", jsonl) == (0, "", "")
    assert list(read_json_lines(jsonl)) == list(read_trees(trees_file))
    assert call("trees", "convert", jsonl, "--to", "brackets").out == trees_file.read_text()
    collapsed = call(
        "trees", "convert", "-", "--to", "brackets", "--collapse", stdin=trees_file.read_text()
    ).out
    assert "(VP+VBZ works)" in collapsed
    assert call("trees", "convert", "-", "--to", "brackets", "--expand", stdin=collapsed).out == (
        trees_file.read_text()
    )


def test_convert_cleans_penn_trees(call: Call) -> None:
    penn = "(S (NP-SBJ-1 (NN film)) (VP (VBZ works) (NP (-NONE- *-1))))"
    cleaned = call(
        "trees", "convert", "-", "--to", "brackets", "--strip-traces", "--strip-function-tags", stdin=penn
    )
    assert cleaned.out == "(S (NP (NN film)) (VP (VBZ works)))\n"


JOINED = "(S (X+Y a) (NN b))"


def test_a_tree_that_cannot_be_changed_has_a_place(call: Call, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("(S (NN z))\n" * 5)
    bad.write_text(f"(S (NN x))\n(S (NN x)\n{JOINED}\n(S (NN y))\n")
    options = ["--collapse", "--to", "brackets", "-o", str(tmp_path / "out.txt")]
    assert_users_error(
        call("trees", "convert", good, "-", *options, stdin=JOINED),
        "<standard input>, tree 1: the label 'X+Y' contains '+'",
        "(sentence: a b)",
    )
    assert not (tmp_path / "out.txt").exists()
    skipped = call("trees", "convert", good, bad, *options, "--on-error", "skip")
    assert skipped.code == 0
    assert "skipped 2 malformed trees" in skipped.err
    assert f"{bad}:2" in skipped.err
    assert f"{bad}, tree 3: the label 'X+Y' contains '+'" in skipped.err
    assert (tmp_path / "out.txt").read_text() == "(S+NN z)\n" * 5 + "(S+NN x)\n(S+NN y)\n"


def test_a_word_that_brackets_cannot_hold_has_a_place(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    lines = [
        json.dumps({"words": [word], "phrases": [{"start": 0, "end": 1, "label": "NN"}]})
        for word in ("a", "b c")
    ]
    path.write_text("\n".join(lines))
    refused = call("trees", "convert", path, "--to", "brackets")
    assert_users_error(refused, f"{path}, tree 2: 'b c', which contains white space,", "Write JSON Lines")
    skipped = call("trees", "convert", path, "--to", "brackets", "--on-error", "skip")
    assert (skipped.code, skipped.out) == (0, "(NN a)\n")
    assert f"{path}, tree 2: 'b c'" in skipped.err


@pytest.mark.parametrize("direction", ["left", "right", "head"])
def test_binarize_and_undo(call: Call, trees_file: Path, direction: str) -> None:
    binary = call("trees", "binarize", trees_file, "-d", direction).out
    assert "(@S " in binary
    assert call("trees", "binarize", "-", "--undo", stdin=binary).out == trees_file.read_text()


def test_statistics(call: Call, trees_file: Path) -> None:
    counted = json.loads(call("trees", "statistics", trees_file, "--json").out)
    assert (counted["num_trees"], counted["num_words"], counted["num_nodes"]) == (2, 5, 9)
    assert "mean length" in call("trees", "statistics", trees_file).out


def test_draw(call: Call, trees_file: Path) -> None:
    drawn = call("trees", "draw", trees_file, "--heads").out
    assert drawn.splitlines() == [
        "S ← works",
        "├─ NP ← film",
        "│  ├─ DT  the",
        "│  └─ NN  film",
        "├─ VP ← works",
        "│  └─ VBZ  works",
        "└─ .  .",
        "",
    ]
    assert call("trees", "draw", trees_file, "--first", "2").out == "S\n└─ NN  this\n\n"
    assert call("trees", "draw", trees_file, "--first", str(2**63 - 1), "--number", "255").code == 2
    assert call("trees", "draw", trees_file, "-n", "9").out.count("S\n") == 2


def test_rich_markup_in_words_is_only_text(call: Call) -> None:
    drawn = call("trees", "draw", "-", stdin="([bold] (NN [red]x[/red]) (NN [/]))").out
    assert "[bold]" in drawn
    assert "[red]x[/red]" in drawn
    malformed = call("trees", "check", "-", stdin="(S (NN [/red]\n")
    assert "[/red]" in malformed.err


def test_score(call: Call, trees_file: Path, tmp_path: Path) -> None:
    assert call("trees", "score", trees_file, trees_file).out == (
        "2 sentences:  F1 100.0  precision 100.0  recall 100.0  exact 100.0  tags 100.0\n"
    )
    mine = tmp_path / "mine.txt"
    mine.write_text(trees_file.read_text().replace("VP", "NP"))
    tables = call("trees", "score", trees_file, mine, "--by-label", "--by-length").out
    assert all(part in tables for part in ("F1 75.0", "exact 50.0", "\nNP ", "\nVP ", "\n1-10 words "))
    assert json.loads(call("trees", "score", trees_file, mine, "--json").out)["overall"]["f1"] == 0.75
    mine.write_text(trees_file.read_text().replace("this", "that"))
    assert_users_error(
        call("trees", "score", trees_file, mine), f"{mine}:2: word 1 is 'this'", "--on-error skip"
    )
    skipped = call("trees", "score", trees_file, mine, "--on-error", "skip")
    assert skipped.out.startswith("1 sentences:")
    assert f"not counted: {mine}:2: word 1" in skipped.err
