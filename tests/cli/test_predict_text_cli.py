"""`lexitree predict` on text: arguments, lines, columns of tables, every format, and runs that were stopped."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar
from xml.etree import ElementTree

import pytest
from rich import progress
from rich.progress import Progress

from lexitree.cli import predict_texts, text_arguments, text_progress
from lexitree.cli.predict_texts import TextJob
from lexitree.cli.text_arguments import begins_a_tree, is_file_name
from lexitree.cli.text_inputs import Inputs
from lexitree.cli.text_labelling import TextLabeller
from lexitree.parsing import adapters
from lexitree.trees.brackets import ReadReport, tree_from_brackets
from tests.cli import parser_program
from tests.cli.conftest import SENTENCE, Call, Finished, assert_users_error
from tests.command import COMMAND, environment
from tests.pipeline.stubs import RightBranching, tiny_pipeline

PARSER = f"command:{sys.executable} {parser_program.__file__}"
TEXT = "The film is good. The plot is bad."
CSV = 'id,review\n1,"the ""film"" is good,\nreally"\n2,bad\n3,\n4,the plot is not bad\n'


@pytest.fixture
def predict(call: Call, saved_model: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command with a parser that needs no process of its own."""
    monkeypatch.setattr(adapters, "open_parser", lambda spec: RightBranching())

    def run(*arguments: object, stdin: str = "") -> Finished:
        return call("predict", saved_model, *arguments, "--parser", "stub", stdin=stdin)

    return run


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    path = tmp_path / "reviews.csv"
    path.write_text(CSV)
    return path


def records(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


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
    assert "The text is" in page.read_text()
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
    assert_users_error(call("predict", saved_model, TEXT, "--parser", "magic"), "no parser called 'magic'")


def test_what_is_a_file_and_what_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good film").touch()
    assert all(map(is_file_name, ["-", "a.txt", "none.jsonl", "x/y", "good film", "/tmp/none"]))
    texts = [
        "Great!",
        "Great",
        "Great.",
        "a.b. c",
        "It cost 3.5",
        "3.14",
        "e.g. this",
        "x" * 5000,
        "a\0b",
        "either/or this",
    ]
    assert not [text for text in texts if is_file_name(text)]
    assert begins_a_tree(" (S (NP x))")
    assert not begins_a_tree("well (yes)")


def test_wrong_combinations_are_refused(
    predict: Call, reviews: Path, tmp_path: Path, call: Call, saved_model: Path
) -> None:
    assert_users_error(predict(reviews), "which column", "--column review")
    assert_users_error(predict(TEXT, "--column", "a"), "is no file")
    assert_users_error(predict(TEXT, "--nodes", "root"), "--nodes root is for trees")
    assert_users_error(predict(TEXT, "-f", "csv"), "--column")
    assert_users_error(predict(TEXT, "--phrases"), "--phrases is for a table")
    assert_users_error(predict(reviews, "--column", "review", "-f", "tree"), "cannot be labelled as tree")
    assert_users_error(predict(TEXT, "--resume"), "only a file")
    assert_users_error(predict(TEXT, "--resume", "-o", tmp_path / "a.html"), "only a file")
    trees, texts = tmp_path / "trees.txt", tmp_path / "texts.txt"
    trees.write_text(SENTENCE)
    texts.write_text(TEXT)
    assert_users_error(predict(texts, trees), "trees.txt holds trees")
    assert_users_error(predict(trees, texts), "texts.txt:1")
    assert predict(TEXT, "--batch-size", "0").code == 2


def test_a_column_of_csv_with_everything_else(predict: Call, reviews: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    assert predict(reviews, "--column", "review", "-o", output) == (0, "", "")
    found, source = records(output.read_text()), records(CSV)
    assert found[0] == ["id", "review", "label", "probability"]
    assert [row[:2] for row in found] == source
    assert [row[2] for row in found[1:]] == ["1", "0", "", found[4][2]]
    assert found[3][2:] == ["", ""]
    assert predict(reviews, "--column", "review").out == output.read_text()
    as_json = predict(reviews, "--column", "review", "-o", tmp_path / "out.jsonl", "--phrases")
    assert as_json == (0, "", "")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == ["1", "2", "3", "4"]
    assert lines[1]["phrases"][0]["text"] == "bad"
    with_phrases = records(predict(reviews, "--column", "review", "--phrases").out)
    assert json.loads(with_phrases[2][4]) == lines[1]["phrases"]


def test_a_column_of_json_lines(predict: Call, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"z": [1, null], "review": "the film is good", "a": {"b": "é"}}\n\n{"review": null}\n')
    found = predict(path, "--column", "review").out
    first, second = map(json.loads, found.splitlines())
    assert list(first) == ["z", "review", "a", "label", "probability"]
    assert first["a"] == {"b": "é"}
    assert second == {"review": None, "label": None, "probability": None}
    assert predict("--column", "review", stdin=path.read_text()).out == found
    assert_users_error(predict(path, "--column", "review", "-f", "csv"), "cannot be written as CSV")


def test_columns_that_are_there_already(predict: Call, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\ngood,1\n")
    assert_users_error(
        predict(tmp_path / "a.csv", "--column", "text"), "a.csv:1", "'label' itself", "--prefix"
    )
    found = predict(tmp_path / "a.csv", "--column", "text", "--prefix", "predicted_")
    assert found.out.startswith("text,label,predicted_label,predicted_probability\ngood,1,1,")
    (tmp_path / "a.jsonl").write_text('{"text": "good"}\n{"text": "bad", "label": 0}\n')
    assert_users_error(predict(tmp_path / "a.jsonl", "--column", "text"), "a.jsonl:2", "'label' itself")


def test_wrong_rows_stop_or_are_listed(predict: Call, tmp_path: Path) -> None:
    path, output = tmp_path / "a.csv", tmp_path / "out.csv"
    path.write_text("id,review\n1,good\n2\n3,bad\n")
    assert_users_error(predict(path, "--column", "review", "-o", output), "a.csv:3")
    assert not output.exists()
    assert_users_error(predict(path, "--column", "text"), "no column 'text'", "'id', 'review'")
    found = predict(path, "--column", "review", "--on-error", "skip")
    assert [row[0] for row in records(found.out)] == ["id", "1", "3"]
    assert "skipped 1 malformed rows" in found.err
    (tmp_path / "b.csv").write_text("review\nx\n")
    assert_users_error(predict(path, tmp_path / "b.csv", "--column", "review"), "different columns")


def test_a_stopped_run_is_gone_on_with(predict: Call, reviews: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("the film is good\n\nthe plot is bad\nthe cast is great\n")
    for arguments, name in (
        ([texts], "out.jsonl"),
        ([reviews, "--column", "review"], "out.csv"),
        ([reviews, "--column", "review", "--phrases"], "phrases.jsonl"),
    ):
        output = tmp_path / name
        # One by one: the last digits depend on what else is in a batch.
        arguments += ["--batch-size", 1]
        assert predict(*arguments, "-o", output, "--resume") == (0, "", "")
        whole = output.read_bytes()
        assert predict(*arguments, "-o", output, "--resume").code == 0
        assert output.read_bytes() == whole
        for cut in range(0, len(whole), max(1, len(whole) // 23)):
            output.write_bytes(whole[:cut])
            assert predict(*arguments, "-o", output, "--resume") == (0, "", "")
            assert output.read_bytes() == whole


def test_only_what_belongs_together_is_gone_on_with(predict: Call, reviews: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    predict(reviews, "--column", "review", "-o", output)
    before = output.read_bytes()
    other = tmp_path / "other.csv"
    other.write_text(CSV.replace("not bad", "not good"))
    assert_users_error(
        predict(other, "--column", "review", "-o", output, "--resume"), "does not hold the first results"
    )
    short = tmp_path / "short.csv"
    short.write_text("id,review\n1,x\n")
    assert_users_error(
        predict(short, "--column", "review", "-o", output, "--resume"), "does not hold the first results"
    )
    assert output.read_bytes() == before
    output.write_text("something,else\n")
    assert_users_error(
        predict(reviews, "--column", "review", "-o", output, "--resume"), "does not hold the first results"
    )
    assert output.read_text() == "something,else\n"
    lines = tmp_path / "out.jsonl"
    for content in ("[1]\n", "no json\n", '{"text": "another"}\n'):
        lines.write_text(content)
        assert_users_error(predict("good film", "-o", lines, "--resume"), "does not hold the first results")
        assert lines.read_text() == content


def test_without_resume_a_file_appears_when_it_is_complete(predict: Call, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    output.write_text("before\n")
    path = tmp_path / "a.jsonl"
    path.write_text('{"review": "good"}\nnonsense\n')
    assert_users_error(predict(path, "--column", "review", "-o", output), "a.jsonl:2")
    assert output.read_text() == "before\n"


def test_results_are_seen_as_they_come(saved_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer must be out before the next text is asked for."""
    seen: list[int] = []

    class Screen(io.StringIO):
        num_seen = 0

        def flush(self) -> None:
            self.num_seen = self.getvalue().count("\n")

    class Slow(io.RawIOBase):
        texts = iter([b"the film is good\n", b"the plot is bad\n", b"fine\n"])

        def read(self, size: int = -1) -> bytes:
            seen.append(screen.num_seen)
            return next(self.texts, b"")

    screen, keyboard = Screen(), SimpleNamespace(buffer=Slow())
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stdin", keyboard)
    inputs = Inputs(["-"], "text", "utf-8", "raise", ReadReport())
    labeller = TextLabeller(tiny_pipeline(), batch_size=1)
    TextJob(labeller, inputs, None, None, "", False).run("table", resume=False)
    # The heading, and then one line after each text.
    assert seen == [1, 2, 3, 4]


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
    monkeypatch.setattr(text_progress.messages, "_force_terminal", True)
    half = "".join(output.read_text().splitlines(keepends=True)[:4])
    for content in ("", half):
        output.write_text(content)
        assert predict(*arguments).code == 0
    packed = tmp_path / "reviews.csv.gz"
    packed.write_bytes(gzip.compress(reviews.read_bytes()))
    assert predict(packed, "--column", "review", "-o", tmp_path / "other.csv").code == 0
    assert CountingBar.shown == [(4, 4), (4, 4), (4, None)]


def test_trees_on_a_screen_have_colours(predict: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    from lexitree.cli import console

    monkeypatch.setattr(console.output, "_force_terminal", True)
    monkeypatch.setattr(console.output, "_color_system", 1)
    monkeypatch.delenv("NO_COLOR", raising=False)
    found = predict("the film is good")
    assert "good" in found.out
    assert "├─" in found.out


def test_a_killed_run_leaves_whole_lines(saved_model: Path, tmp_path: Path) -> None:
    texts, output = tmp_path / "texts.txt", tmp_path / "out.jsonl"
    texts.write_text("".join(f"the film is {number}\n" for number in range(3_000)))
    command = [
        *COMMAND,
        "predict",
        str(saved_model),
        str(texts),
        "--parser",
        PARSER,
        "-o",
        str(output),
        "--resume",
    ]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment()) as process:
        while process.poll() is None and not (output.exists() and output.stat().st_size):
            os.sched_yield()
        process.kill()
    num_before = output.read_text().count("\n")
    finished = subprocess.run(command, capture_output=True, env=environment(), check=False)
    assert finished.returncode == 0, finished.stderr
    found = [json.loads(line)["text"] for line in output.read_text().splitlines()]
    assert found == texts.read_text().splitlines()
    assert 0 < num_before <= 3_000


def test_formats_of_columns_are_those_of_text() -> None:
    assert set(predict_texts.COLUMN_FORMS) < {"tree", "json", "table", "csv", "brackets", "svg", "html"}


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
    monkeypatch.setattr(adapters, "open_parser", {"builtin": RightBranching()}.get)
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


def test_a_word_alone_is_the_name_of_a_model(call: Call, shipped: Path) -> None:
    assert_users_error(call("predict", "Great"), "Great: there is no such model directory")
    assert json.loads(call("predict", "-m", "sentiment", "Great").out)["text"] == "Great"


def test_a_model_that_does_not_come_with_the_package(call: Call, shipped: Path) -> None:
    assert_users_error(
        call("predict", "questions", TEXT), "questions: does not come", "Those that do: sentiment"
    )


def test_nobody_is_made_to_type(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(text_arguments, "sys", screen)
    for command in ("predict", "explain"):
        found = call(command)
        assert found.code == 2
        assert "a text is needed" in found.err
