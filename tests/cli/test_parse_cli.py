"""`lexitree parse`: texts, files and columns to brackets, JSON and pictures."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lexitree.trees.brackets import read_trees, tree_from_brackets, tree_to_brackets
from lexitree.trees.jsonl import read_json_lines, tree_from_json
from tests.cli import parser_program
from tests.cli.conftest import Call, Finished, assert_users_error
from tests.cli.untrained_parser import save_untrained_parser

OTHER_PARSER = f"command:{sys.executable} {parser_program.__file__}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_untrained_parser(tmp_path_factory.mktemp("parser") / "parser")


@pytest.fixture
def parse(call: Call, folder: Path) -> Call:
    def run(*arguments: object, stdin: str = "") -> Finished:
        return call("parse", *arguments, "--parser", f"builtin:{folder}", "--device", "cpu", stdin=stdin)

    return run


def test_texts_are_split_and_tokenized(parse: Call) -> None:
    lines = parse("It isn't (bad). Try it!", "").out.split("\n")
    assert [tree_from_brackets(line).words for line in lines[:2]] == [
        ("It", "is", "n't", "-LRB-", "bad", "-RRB-", "."),
        ("Try", "it", "!"),
    ]
    # A text without words is an empty line.
    assert lines[2:] == ["", ""]
    assert parse("--text", "a b", "--text", "-c").out.count("\n") == 2
    assert parse("-", stdin="") == (0, "", "")
    assert parse("It is. Try it.", "--one-sentence").out.count("\n") == 1
    assert parse("It is. Try it.", "--format", "tree").out.count("It") == 1


def test_lines_of_tokens(parse: Call, tmp_path: Path) -> None:
    lines = "Who is she ?\n\nWhat 's ( up ) ?\n"
    found = parse("--tokenized", stdin=lines).out.split("\n")
    assert [found and tree_from_brackets(found).words for found in found[:3]] == [
        ("Who", "is", "she", "?"),
        "",
        ("What", "'s", "-LRB-", "up", "-RRB-", "?"),
    ]
    (tmp_path / "text.txt").write_text(lines)
    assert parse("--tokenized", tmp_path / "text.txt").out.split("\n") == found
    assert parse("--tokenized", "--one-sentence", "a").code == 2


def test_json_has_places_and_is_read_as_trees(parse: Call, tmp_path: Path) -> None:
    path, text = tmp_path / "out.jsonl", "It isn't bad.  Try it!"
    assert parse("", text, "-o", path) == (0, "", "")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(record["text_number"], record["sentence"]) for record in records] == [(1, 0), (1, 1)]
    for record in records:
        assert text[record["start"] : record["end"]] == record["text"]
        assert all(text[token["start"] : token["end"]] == token["text"] for token in record["tokens"])
    assert parse(text).out == "".join(f"{tree_to_brackets(tree)}\n" for tree in read_json_lines(path))


def test_the_k_best(parse: Call) -> None:
    *lines, last, end = parse("Who is she?", "--kbest", "3").out.split("\n")
    assert (last, end) == ("", "")
    chances, trees = zip(*(line.split("\t") for line in lines), strict=True)
    assert list(map(float, chances)) == sorted(map(float, chances), reverse=True)
    assert len(set(trees)) == 3
    listed = json.loads(parse("Who is she?", "--kbest", "3", "-f", "json").out)
    assert [tree_to_brackets(tree_from_json(each)) for each in listed["parses"]] == list(trees)
    assert [round(each["log_probability"], 4) for each in listed["parses"]] == list(map(float, chances))
    assert_users_error(parse("a", "--kbest", "3", "-f", "svg"), "--kbest is not for svg")


def test_columns(parse: Call, tmp_path: Path) -> None:
    table = tmp_path / "reviews.csv"
    table.write_text('id,review\n1,"The film, really"\n2,Bad\n')
    out = tmp_path / "trees.txt"
    assert parse(table, "--column", "review", "-o", out).code == 0
    assert [tree.words for tree in read_trees(out)] == [("The", "film", ",", "really"), ("Bad",)]
    assert_users_error(parse(table), "which column holds the texts?")
    assert_users_error(parse(table, "--column", "text"), "no column 'text'", "'review'")
    table.write_text('id,review\n1,good\n2,"bad\n')
    broken = parse(table, "--column", "review")
    assert_users_error(broken, "reviews.csv:3")
    # What stands before the error is parsed.
    assert tree_from_brackets(broken.out).words == ("good",)
    assert_users_error(parse("(S (NN a))"), "holds trees, and a parser reads text", "--input text")
    assert parse("(well)", "--input", "text").code == 0


def test_pictures(parse: Call, tmp_path: Path) -> None:
    path = tmp_path / "tree.svg"
    assert parse("It works. Try it!", "-o", path).code == 0
    assert len([part for part in ElementTree.parse(path).getroot() if part.tag.endswith("}g")]) == 2


def test_limits_and_endings(parse: Call, tmp_path: Path) -> None:
    refused = parse("a b", "c d e", "--limit", "words=2")
    assert_users_error(refused, "the text has 3 words, and the limit is 2")
    assert refused.out.count("\n") == 1
    assert parse("c d e", "a", "--limit", "words=2", "--on-error", "skip").out.count("\n") == 1
    for name in ("tree.html", "tree.png", "tree.csv"):
        assert_users_error(parse("a", "-o", tmp_path / name), f"written as {Path(name).suffix}", ".svg")
        assert not (tmp_path / name).exists()
    assert_users_error(
        parse("a", "-o", tmp_path / "tree.svg", "--format", "brackets"), ".svg is not an ending"
    )
    assert parse("a", "-o", tmp_path / "tree.trees", "--format", "brackets").code == 0
    assert parse("a", "-o", tmp_path / "tree.txt", "--format", "tree").code == 0


def test_other_parsers(call: Call) -> None:
    found = call("parse", "It works. Try it!", "--parser", OTHER_PARSER)
    assert [tree_from_brackets(line).words for line in found.out.splitlines()] == [
        ("It", "works", "."),
        ("Try", "it", "!"),
    ]
    assert_users_error(call("parse", "a", "--parser", OTHER_PARSER, "--kbest", "2"), "one tree for each")
    assert_users_error(
        call("parse", "a", "--parser", OTHER_PARSER, "--style", "wsj"), "--style is for the built-in"
    )
    assert_users_error(call("parse", "a", "--parser", "none"), "unknown parser 'none'")
    assert_users_error(call("parse", "a", "--parser", "builtin:none"), "none")


def test_a_style_that_the_parser_does_not_know(parse: Call) -> None:
    assert_users_error(parse("a", "--style", "odd"), "no style 'odd'")
