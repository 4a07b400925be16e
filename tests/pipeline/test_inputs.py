"""Which of the arguments is a model, a text, a file of texts or of trees."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lexitree.errors import ConfigError
from lexitree.pipeline.inputs import Inputs, UntilError, begins_a_tree, is_file_name, split_arguments


def test_what_is_a_file_and_what_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good film").touch()
    assert all(map(is_file_name, ["-", "a.txt", "none.jsonl", "x/y", "good film", "/tmp/none", Path("none")]))
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


@pytest.mark.parametrize(
    ("arguments", "model", "expected"),
    [
        ([], None, ("sentiment", ("-",))),
        (["-"], None, ("sentiment", ("-",))),
        (["runs/mini"], None, ("runs/mini", ("-",))),
        (["questions", "Who?"], None, ("questions", ("Who?",))),
        (["Not bad."], None, ("sentiment", ("Not bad.",))),
        (["Great!", "Bad"], None, ("sentiment", ("Great!", "Bad"))),
        ([""], None, ("sentiment", ("",))),
        (["Great"], "questions", ("questions", ("Great",))),
        (["x" * 5000 + " y"], None, ("sentiment", ("x" * 5000 + " y",))),
        (["-bad"], None, ("sentiment", ("-bad",))),
    ],
)
def test_the_first_argument_may_be_the_model(
    arguments: list[str], model: str | None, expected: tuple[str, tuple[str, ...]]
) -> None:
    assert split_arguments(arguments, model) == expected


def test_a_file_is_an_input_and_a_folder_a_model(tmp_path: Path) -> None:
    (tmp_path / "texts").touch()
    assert split_arguments([str(tmp_path / "texts")])[1] == (str(tmp_path / "texts"),)
    assert split_arguments([str(tmp_path)]) == (str(tmp_path), ("-",))


@pytest.mark.parametrize(
    ("content", "holds_trees"), [("\n (_ (_ a) (_ b))\n", True), ("a film\n(_ a)\n", False), ("", True)]
)
def test_trees_are_known_by_their_bracket(tmp_path: Path, content: str, holds_trees: bool) -> None:
    path = tmp_path / "input.txt"
    path.write_text(content)
    inputs = Inputs([path])
    assert inputs.hold_trees() is holds_trees
    # What was looked at is still read.
    assert len(list(inputs.trees() if holds_trees else inputs.rows())) == content.count("a")
    assert Inputs([path], "text").hold_trees() is False


def test_texts_and_trees_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / "trees.txt").write_text("(_ (_ a) (_ b))\n")
    with pytest.raises(ConfigError, match=r"trees.txt holds trees, and a film text"):
        list(Inputs(["a film", tmp_path / "trees.txt"]).rows())
    (tmp_path / "a.csv").write_text('id,text,note\n1,"a long text, or so",x\n')
    with pytest.raises(ConfigError, match="which column") as caught:
        Inputs([tmp_path / "a.csv"]).hold_trees()
    assert caught.value.remedy == "Name it, for example --column text. The columns are id, text, note."
    (tmp_path / "a.jsonl").write_text('\n{"id": 7, "text": "a long text"}\n')
    with pytest.raises(ConfigError, match="which column") as caught:
        Inputs([tmp_path / "a.jsonl"]).hold_trees()
    assert caught.value.remedy == "Name it, for example --column text. The columns are id, text."
    (tmp_path / "b.jsonl").write_text('{"words": ["a"]}\n')
    assert Inputs([tmp_path / "b.jsonl"]).hold_trees()
    (tmp_path / "b.csv").write_text("")
    with pytest.raises(ConfigError, match="is empty"):
        Inputs([tmp_path / "b.csv"]).hold_trees()


def test_a_file_as_one_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("two\nlines\n")
    assert list(Inputs([tmp_path / "a.txt", "a text"]).whole_texts()) == ["two\nlines", "a text"]


def test_a_pipe_is_an_input(tmp_path: Path) -> None:
    pipe = str(tmp_path / "63")
    os.mkfifo(pipe)
    assert split_arguments([pipe]) == ("sentiment", (pipe,))
    assert split_arguments(["questions", pipe]) == ("questions", (pipe,))


def test_a_given_text_is_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("from the file\n")
    texts = ["a.txt", "-", "--help", "", "(hm) good", "sentiment"]
    name, arguments = split_arguments([], None, texts)
    assert (name, list(arguments)) == ("sentiment", texts)
    inputs = Inputs(arguments)
    assert not inputs.hold_trees()
    assert inputs.files == []
    assert [row.text for row in inputs.rows()] == texts
    name, arguments = split_arguments(["questions", "a.txt"], None, ["a.txt"])
    assert name == "questions"
    assert [row.text for row in Inputs(arguments).rows()] == ["from the file", "a.txt"]


def test_an_error_comes_after_what_was_before_it() -> None:
    def numbers() -> Iterator[int]:
        yield 1
        yield 2
        raise ConfigError("wrong")

    items = UntilError(numbers())
    assert [list(items), list(items)] == [[1, 2], []]
    with pytest.raises(ConfigError, match="wrong"):
        items.check()
    fine = UntilError([1])
    assert list(fine) == [1]
    fine.check()


@pytest.mark.parametrize("name", ["missing.txt", "folder/missing.csv", "missing.csv.gz"])
def test_a_missing_file_of_data_is_no_model(name: str) -> None:
    assert split_arguments([name]) == ("sentiment", (name,))
