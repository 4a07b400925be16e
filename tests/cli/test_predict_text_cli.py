"""`lexitree predict` on text: arguments, lines, every format, and the models of the package."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar
from xml.etree import ElementTree

import pytest
from rich import progress
from rich.progress import Progress

from lexitree.cli import console, options
from lexitree.pipeline import loading
from lexitree.trees.brackets import tree_from_brackets
from tests.cli import parser_program
from tests.cli.conftest import CSV, SENTENCE, Call, assert_users_error, records
from tests.cli.untrained_parser import save_untrained_parser
from tests.pipeline.stubs import RightBranching

PARSER = f"command:{sys.executable} {parser_program.__file__}"
TEXT = "The film is good. The plot is bad."


def test_a_text_as_an_argument(predict: Call) -> None:
    document = json.loads(predict(TEXT).out)
    assert document["text"] == TEXT
    assert [sentence["text"] for sentence in document["sentences"]] == [
        "The film is good.",
        "The plot is bad.",
    ]
    assert predict("Good").out.count("\n") == 1
    assert predict(TEXT, "--one-sentence").out.count('"parse"') == 1
    assert [json.loads(line)["text"] for line in predict("a film", "a plot").out.splitlines()] == [
        "a film",
        "a plot",
    ]


def test_the_model_may_be_an_option(call: Call, saved_model: Path) -> None:
    found = call("predict", "--model", saved_model, TEXT, "--parser", PARSER)
    assert json.loads(found.out)["text"] == TEXT
    piped = call("predict", "-m", saved_model, "--parser", PARSER, stdin=f"{TEXT}\n")
    assert piped.out == found.out


def test_a_text_a_line_with_blank_ones_in_their_places(predict: Call, tmp_path: Path) -> None:
    lines = "the film is good\n\n  \r\nthe plot is bad\n"
    piped = predict(stdin=lines)
    assert [json.loads(line)["label"] for line in piped.out.splitlines()][1:3] == [None, None]
    assert [json.loads(line)["text"] for line in piped.out.splitlines()] == [
        "the film is good",
        "",
        "  ",
        "the plot is bad",
    ]
    (tmp_path / "texts.txt").write_text(lines)
    assert predict(tmp_path / "texts.txt").out == piped.out
    assert predict(tmp_path / "texts.txt", "--batch-size", 1).out == piped.out
    assert predict("-", stdin=lines).out == piped.out


def test_a_text_beyond_a_limit_is_refused_with_its_line_or_cut(predict: Call, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("the film\nthe plot is very bad\ngood\n")
    refused = predict(path, "--limit", "words=3")
    assert_users_error(refused, f"{path}:2: the text has 5 words, and the limit is 3", "--limit words=NUMBER")
    assert [json.loads(line)["text"] for line in refused.out.splitlines()] == ["the film"]
    skipped = predict(path, "--limit", "words=3", "--on-error", "skip")
    assert [json.loads(line)["text"] for line in skipped.out.splitlines()] == ["the film", "good"]
    assert f"{path}:2: the text has 5 words" in skipped.err
    cut = predict(path, "--limit", "sentence_words=3", "--limit", "beyond=cut").out.splitlines()
    assert [len(json.loads(line)["sentences"]) for line in cut] == [1, 2, 1]
    assert json.loads(cut[1])["notes"] == ["sentences of more than 3 words were cut into pieces"]
    assert_users_error(predict(path, "--limit", "word=3"), "unknown setting: word")
    assert_users_error(predict("(0 (0 a) (0 b))", "--limit", "words=3"), "--limit is for text")


def test_every_format(predict: Call, tmp_path: Path) -> None:
    assert predict(TEXT, "-f", "json").out == predict(TEXT, "-f", "jsonl").out
    tree = predict(TEXT, "-f", "tree").out
    assert tree == predict(TEXT, "--format", "draw").out
    assert re.match(r"[01] [01]\.\d\d ← ", tree)
    trees = [tree_from_brackets(line) for line in predict(TEXT, "-f", "brackets").out.splitlines()]
    assert [tree.num_words for tree in trees] == [5, 5]
    table = [line.split("\t") for line in predict(TEXT, "a\tb", "-f", "table").out.splitlines()]
    assert table[0] == ["label", "probability", "text"]
    assert [row[2] for row in table[1:]] == [TEXT, "a b"]
    phrases = [line.split("\t") for line in predict(TEXT, "-f", "table", "--phrases").out.splitlines()]
    assert len(phrases) == 1 + 2 * 9
    assert {len(row) for row in phrases} == {8}
    svg = tmp_path / "a.svg"
    assert predict(TEXT, "-o", svg) == (0, "", "")
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    page = tmp_path / "a.html"
    assert predict(TEXT, "-o", page) == (0, "", "")
    assert "lt-reason" in page.read_text()
    assert page.read_text() == predict(TEXT, "-f", "html").out
    assert "2 sentences" in predict("the film", "the plot", "-f", "html").out


def test_trees_may_be_arguments_and_become_pages(call: Call, saved_model: Path, tmp_path: Path) -> None:
    found = call("predict", saved_model, SENTENCE.strip(), "-f", "brackets")
    assert found == call("predict", saved_model, "-f", "brackets", stdin=SENTENCE)
    page = call("predict", saved_model, "-f", "html", stdin=SENTENCE).out
    assert page.startswith("<!doctype html>")
    assert (
        call("predict", saved_model, "-f", "json", stdin=SENTENCE).out
        == call("predict", saved_model, "-f", "jsonl", stdin=SENTENCE).out
    )
    assert_users_error(
        call("predict", saved_model, "-f", "table", stdin=SENTENCE), "format table is for text"
    )
    assert_users_error(call("predict", saved_model, "--resume", stdin=SENTENCE), "--resume is for text")


def test_text_that_begins_with_a_bracket(predict: Call, call: Call, saved_model: Path) -> None:
    text = "(at last) a good film"
    assert_users_error(predict(text), "<command line>:1")
    assert json.loads(predict(text, "--input", "text").out)["text"] == text
    forced = call("predict", saved_model, "--input", "trees", stdin="a good film\n")
    assert_users_error(forced, "<standard input>:1")


def test_text_without_a_parser_says_what_to_do(call: Call, saved_model: Path, shipped_folder: Path) -> None:
    for finished in (call("predict", saved_model, TEXT), call("predict", saved_model, stdin="some words\n")):
        assert_users_error(finished, "no parser of its own", "--parser")
    assert_users_error(call("predict", TEXT), "sentiment: does not come with this version", "saved model")
    assert_users_error(call("predict", saved_model, TEXT, "--parser", "magic"), "unknown parser 'magic'")


def test_wrong_combinations_are_refused(
    predict: Call, reviews: Path, tmp_path: Path, call: Call, saved_model: Path
) -> None:
    assert_users_error(predict(reviews), "which column", "--column review")
    assert_users_error(predict(TEXT, "--column", "a"), "is not a file")
    assert_users_error(predict(TEXT, "--nodes", "root", "-f", "tree"), "tree shows phrases", "--format json")
    assert_users_error(predict(TEXT, "--phrases"), "--phrases is for a table")
    assert_users_error(predict(reviews, "--column", "review", "-f", "tree"), "cannot be written as tree")
    assert_users_error(predict(TEXT, "--resume"), "only a file")
    assert_users_error(predict(TEXT, "--resume", "-o", tmp_path / "a.html"), "only a file")
    trees, texts = tmp_path / "trees.txt", tmp_path / "texts.txt"
    trees.write_text(SENTENCE)
    texts.write_text(TEXT)
    assert_users_error(predict(texts, trees), "trees.txt holds trees")
    assert_users_error(predict(trees, texts), "texts.txt:1")
    assert predict(TEXT, "--batch-size", "0").code == 2


class CountingBar(Progress):
    """A bar that remembers how far it got."""

    shown: ClassVar[list[tuple[float, float | None]]] = []

    def stop(self) -> None:
        self.shown.extend((task.completed, task.total) for task in self.tasks)
        super().stop()


def test_a_bar_is_shown_on_a_screen_only(
    predict: Call, reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "Progress", CountingBar)
    output = tmp_path / "out.csv"
    arguments = (reviews, "--column", "review", "-o", output, "--resume")
    assert predict(*arguments).err == ""
    monkeypatch.setattr(console.messages, "_force_terminal", True)
    half = "".join(output.read_text().splitlines(keepends=True)[:4])
    for content in ("", half):
        output.write_text(content)
        assert predict(*arguments).code == 0
    packed = tmp_path / "reviews.csv.gz"
    packed.write_bytes(gzip.compress(reviews.read_bytes()))
    assert predict(packed, "--column", "review", "-o", tmp_path / "other.csv").code == 0
    assert CountingBar.shown == [(4, 4), (4, 4), (4, None)]


def test_trees_on_a_screen_have_colours(predict: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console.output, "_force_terminal", True)
    monkeypatch.setattr(console.output, "_color_system", 1)
    monkeypatch.delenv("NO_COLOR", raising=False)
    found = predict("the film is good")
    assert "good" in found.out
    assert "├─" in found.out


def test_an_engine_is_not_for_trees_on_a_screen(predict: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console.output, "_force_terminal", True)
    monkeypatch.setattr("lexitree.cli.predict._open_engine", lambda *_: nullcontext)
    assert_users_error(predict("the film is good", "--engine", "ray"), "an engine writes a folder of parts")


def test_the_weights_of_all_words(predict: Call) -> None:
    (sentence,) = json.loads(predict("the film is good", "--head-weights").out)["sentences"]
    assert [len(phrase["head_weights"]) for phrase in sentence["phrases"]] == [4, 1, 3, 1, 2, 1, 1]
    assert sum(sentence["phrases"][0]["head_weights"]) == pytest.approx(1, abs=1e-5)
    assert "head_weights" not in predict("the film is good").out


def test_the_weights_of_all_words_are_for_json_only(predict: Call, reviews: Path) -> None:
    refused = predict("the film is good", "--head-weights", "--format", "table")
    assert_users_error(refused, "--head-weights is for JSON, not for table")
    assert_users_error(
        predict(reviews, "--column", "review", "--head-weights"), "which --column does not give"
    )


@pytest.fixture
def shipped(shipped_folder: Path, saved_model: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package with one model, the tiny one, and with a parser that needs no model."""
    monkeypatch.setattr(loading, "open_parser", lambda spec, device: {"builtin": RightBranching()}[spec])
    return Path(shutil.copytree(saved_model, shipped_folder / "sentiment")).parent


def test_without_a_model_the_package_has_one(call: Call, shipped: Path, reviews: Path) -> None:
    expected = call("predict", "sentiment", TEXT).out
    assert json.loads(expected)["text"] == TEXT
    for arguments, stdin in (
        ((TEXT,), ""),
        (("-m", "sentiment", TEXT), ""),
        ((), f"{TEXT}\n"),
        (("-",), f"{TEXT}\n"),
    ):
        assert call("predict", *arguments, stdin=stdin).out == expected
    tree = call("predict", stdin=SENTENCE)
    assert json.loads(tree.out)["label"] == "1"
    table = call("predict", reviews, "--column", "review")
    assert records(table.out)[1][:2] == records(CSV)[1]


def test_a_given_text_is_a_text(
    call: Call, shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("from the file\n")

    def texts(*arguments: str, stdin: str = "") -> list[str]:
        return [
            json.loads(line)["text"] for line in call("predict", *arguments, stdin=stdin).out.splitlines()
        ]

    given = ["a.txt", "--help", "-", "sentiment", "(hm) good"]
    assert texts(*(word for text in given for word in ("--text", text)), stdin="no") == given
    assert texts("a.txt", "--text=-o") == ["from the file", "-o"]
    assert texts("sentiment", "--text", "good") == ["good"]
    assert texts("--", "-bad", "--worse") == ["-bad", "--worse"]


def test_a_pipe_of_the_shell_is_an_input(call: Call, shipped: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"a film\nthe plot is bad\n")
    os.close(writer)
    found = call("predict", f"/dev/fd/{reader}")
    os.close(reader)
    assert [json.loads(line)["text"] for line in found.out.splitlines()] == ["a film", "the plot is bad"]


def test_a_word_alone_is_the_name_of_a_model(call: Call, shipped: Path) -> None:
    said = ("Great: there is no such model", "If 'Great' is a text, use --text Great")
    assert_users_error(call("predict", "Great"), *said)
    assert_users_error(call("explain", "Great"), *said)
    assert json.loads(call("predict", "-m", "sentiment", "Great").out)["text"] == "Great"


def test_a_model_that_does_not_come_with_the_package(call: Call, shipped: Path) -> None:
    assert_users_error(call("predict", "questions", TEXT), "questions: does not come", "Available: sentiment")


def test_nobody_is_made_to_type(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(options, "sys", screen)
    for command in ("predict", "explain"):
        found = call(command)
        assert found.code == 2
        assert "a text is needed" in found.err


def test_several_processes_are_for_records_of_text(call: Call, saved_model: Path, tmp_path: Path) -> None:
    parser = save_untrained_parser(tmp_path / "parser")
    arguments = ("predict", "--model", saved_model, "--parser", f"builtin:{parser}", "--jobs", 2)
    assert_users_error(call(*arguments, "a film", "-o", tmp_path / "a.html"), "--jobs is for records")
    assert_users_error(call(*arguments, "(_ (_ a) (_ film))"), "--jobs is for text")
    alone = call(*arguments[:-2], "a film", "-f", "tree")
    assert call(*arguments, "a film", "-f", "tree") == alone
