"""`lexitree search`: in trees as they are, in trees and texts that a model labels, and in columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lexitree.pipeline import loading
from tests.cli.conftest import Call, assert_users_error
from tests.pipeline.stubs import RightBranching


def test_trees_are_searched_as_they_are(call: Call, trees_file: Path) -> None:
    assert call("search", "NP < DT | NN . !*", trees_file) == (0, f"{trees_file}:1: NP  the film\n", "")
    assert call("search", "NN", trees_file, "--count").out == "2\n"
    found = call("search", "NN", "(S (NN this))", "--format", "json").out
    assert json.loads(found) == {
        "file": "<command line>",
        "line": 1,
        "number": 0,
        "sentence": 0,
        "node": 1,
        "start": 0,
        "end": 1,
        "text": "this",
        "label": "NN",
        "category": "NN",
        "probability": None,
        "head": None,
    }
    piped = call("search", "root", "-", stdin="(S\n (NN a))\n(S (NN b))\n").out
    assert piped == "<standard input>:2: S  a\n<standard input>:3: S  b\n"


def test_a_model_labels_trees_and_texts(
    call: Call, trees_file: Path, saved_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "open_parser", lambda spec: RightBranching())
    options = ("--model", saved_model, "--parser", "stub", "--device", "cpu")
    trees = call("search", "NP & p>0", trees_file, *options, "-f", "json").out
    assert (json.loads(trees)["line"], json.loads(trees)["category"]) == (1, "NP")
    texts = tmp_path / "texts.txt"
    texts.write_text("the film is good\n\nbad. good\n")
    out = tmp_path / "found.jsonl"
    assert call("search", "word=good", texts, *options, "-o", out) == (0, "", "")
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(record["line"], record["sentence"], record["start"]) for record in records] == [
        (1, 0, 12),
        (3, 1, 5),
    ]
    [line] = call("search", "root & text~film", texts, *options).out.splitlines()
    assert line.startswith(f"{texts}:1: ")
    assert line.endswith("  the film is good")
    table = tmp_path / "table.csv"
    table.write_text('id,review\n1,"the\nfilm"\n2,a film\n')
    found = call("search", "word=film", table, "--column", "review", *options).out
    assert [line.partition(": ")[0] for line in found.splitlines()] == [f"{table}:2", f"{table}:4"]
    assert_users_error(
        call("search", "*", "a b c", *options, "--limit", "words=2"),
        "the text has 3 words, and the limit is 2",
    )


def test_errors_are_clear(call: Call, trees_file: Path, tmp_path: Path) -> None:
    malformed = call("search", "NP < (VP", trees_file)
    assert_users_error(malformed, "pattern:6: this bracket is never closed\n  NP < (VP\n       ^\n")
    assert_users_error(call("search", "p>0.5", trees_file), "these trees have no probabilities", "--model")
    assert_users_error(call("search", "NP", tmp_path / "none.txt"), "none.txt")
    assert_users_error(
        call("search", "NP", trees_file, "-o", tmp_path / "a.html"), "written as .html", ".jsonl"
    )
    trees_file.write_text("(S (NN a))\n(S (NN b)\n(S (NN c))\n")
    broken = call("search", "NN", trees_file)
    assert_users_error(broken, f"{trees_file}:2")
    assert broken.out.count("\n") == 1
    skipped = call("search", "NN", trees_file, "--on-error", "skip")
    assert [line.partition(": ")[0] for line in skipped.out.splitlines()] == [
        f"{trees_file}:1",
        f"{trees_file}:3",
    ]
    assert "skipped 1 malformed" in skipped.err
