"""`lexitree vectors`: what it writes, what it prints, and that errors come through."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lexitree.cli.vectors import app
from lexitree.corpora.named import load_corpus
from lexitree.errors import (
    BracketError,
    CorpusNotFoundError,
    FileError,
    LexitreeError,
    VectorsError,
)
from lexitree.lexicon.vector_files import read_vectors
from lexitree.trees.brackets import read_trees
from lexitree.trees.jsonl import write_json_lines

GLOVE = "the 1 2\nfilm 3 4\n( 5 6\nThe 7 8\nunused 9 9\n"
TRAIN = "(3 (2 The) (3 (2 -LRB-) (2 Film)))\n(1 (2 zzz) (2 the))\n"
DEV = "(3 (2 zzz) (3 film))\n"

runner = CliRunner()


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in [("g.txt", GLOVE), ("train.txt", TRAIN), ("dev.txt", DEV)]:
        (tmp_path / name).write_text(text)
    return tmp_path


def test_filter_keeps_written_and_lower_case_forms(files: Path) -> None:
    command = ["filter", "g.txt", "--trees", "train.txt", "--trees", "dev.txt", "--output", "small.npz"]
    result = runner.invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "small.npz: 4 of 5 vectors, 2 dimensions" in result.output
    assert "71.43% of the running words, 83.33% of the distinct" in result.output
    vectors = read_vectors(files / "small.npz")
    assert vectors.words == ("the", "film", "(", "The")
    assert vectors.vectors.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_filter_float16_is_smaller_and_filters_again(files: Path) -> None:
    assert (
        runner.invoke(app, ["filter", "g.txt", "-t", "train.txt", "-o", "a.npz", "--float16"]).exit_code == 0
    )
    assert runner.invoke(app, ["filter", "a.npz", "-t", "dev.txt", "-o", "b.npz"]).exit_code == 0
    assert read_vectors(files / "b.npz").words == ("film",)


@pytest.mark.usefixtures("files")
def test_coverage_as_json() -> None:
    result = runner.invoke(app, ["coverage", "g.txt", "-t", "train.txt", "-t", "dev.txt", "--json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["vectors"] == "g.txt"
    assert (report["dim"], report["num_read"]) == (2, 5)
    assert {kind: report["tokens"][kind] for kind in ("exact", "lower", "unknown")} == {
        "exact": 4,
        "lower": 1,
        "unknown": 2,
    }
    assert report["most_frequent_unknown"] == [{"word": "zzz", "count": 2}]


@pytest.mark.usefixtures("files")
def test_coverage_as_table() -> None:
    result = runner.invoke(app, ["coverage", "g.txt", "-t", "train.txt", "-t", "dev.txt"])
    assert result.exit_code == 0
    assert "in lower case" in result.output
    assert "28.57%" in result.output
    assert "zzz (2)" in result.output


def test_coverage_of_nothing_is_a_report_not_an_error(files: Path) -> None:
    (files / "none.txt").write_text("(1 [bold])\n")
    result = runner.invoke(app, ["coverage", "g.txt", "-t", "none.txt"])
    assert result.exit_code == 0
    assert "100.00%" in result.output
    assert "[bold] (1)" in result.output


def test_skipped_rows_and_trees_are_counted_and_listed(files: Path) -> None:
    (files / "bad.txt").write_text(GLOVE + "odd 1\n")
    (files / "bad_trees.txt").write_text(TRAIN + "(3 (2 a\n")
    command = ["coverage", "bad.txt", "-t", "bad_trees.txt"]
    failed = runner.invoke(app, command)
    assert isinstance(failed.exception, BracketError)
    failed = runner.invoke(app, ["coverage", "bad.txt", "-t", "train.txt"])
    assert isinstance(failed.exception, VectorsError)
    result = runner.invoke(app, [*command, "--on-error", "skip", "--json"])
    assert result.exit_code == 0, result.output
    assert "skipped 1 malformed rows\n  bad.txt:6" in result.stderr
    assert "skipped 1 malformed trees\n  bad_trees.txt:3" in result.stderr
    assert json.loads(result.stdout)["num_read"] == 5


def test_all_skipped_trees_are_counted_though_not_all_are_kept(files: Path) -> None:
    (files / "bad_trees.txt").write_text(TRAIN * 100 + "(3 (2 a)\n" * 1500)
    result = runner.invoke(app, ["coverage", "g.txt", "-t", "bad_trees.txt", "--on-error", "skip"])
    assert result.exit_code == 0, result.output
    assert "skipped 1,500 malformed trees" in result.stderr
    assert "... and 1,480 more" in result.stderr


def num_words(*sources: str) -> int:
    options = [option for source in sources for option in ("-t", source)]
    result = runner.invoke(app, ["coverage", "g.txt", *options, "--json"])
    assert result.exit_code == 0, result.output
    tokens = json.loads(result.stdout)["tokens"]
    return sum(tokens[kind] for kind in ("exact", "lower", "unknown"))


def test_trees_of_every_form(files: Path) -> None:
    with (files / "train.jsonl").open("w") as stream:
        write_json_lines(read_trees(files / "train.txt"), stream.write)
    (files / "some.tsv").write_text("good\tthe film\nbad\tzzz\n")
    assert num_words("train.txt") == num_words("train.jsonl") == 5
    assert num_words("some.tsv") == 3
    assert num_words("some.tsv", "dev.txt") == 5


def test_trees_of_a_folder_and_of_a_named_corpus(files: Path) -> None:
    (files / "bank").mkdir()
    for name in ("train.txt", "dev.txt"):
        (files / name).rename(files / "bank" / name)
    assert num_words("bank") == 7
    corpus = load_corpus("mini-questions")
    every_word = sum(tree.num_words for trees in corpus.splits.values() for tree in trees)
    assert num_words("mini-questions") == every_word
    assert num_words("mini-questions", "bank") == every_word + 7
    skipping = ["coverage", "g.txt", "-t", "mini-questions", "--on-error", "skip", "--encoding", "latin-1"]
    assert runner.invoke(app, skipping).exit_code == 0


@pytest.mark.parametrize(
    ("command", "kind", "problem"),
    [
        (["filter", "none.txt", "-t", "train.txt", "-o", "a.npz"], FileError, "none.txt: cannot be read"),
        (["filter", "g.txt", "-t", "none.txt", "-o", "a.npz"], FileError, "none.txt: no such file"),
        (["coverage", "g.txt", "-t", "mini-revews"], CorpusNotFoundError, "Did you mean mini-reviews"),
        (["coverage", "g.txt", "-t", "nothing"], FileError, "nothing: contains no trees"),
        (["filter", "g.txt", "-t", "empty.txt", "-o", "a.npz"], FileError, "empty.txt: contains no trees"),
        (["filter", "g.txt", "-t", "train.txt", "-o", "a.txt"], FileError, "Endings that fit: .npz"),
        (["filter", "empty.txt", "-t", "train.txt", "-o", "a.npz"], VectorsError, "contains no word vectors"),
        (["filter", "g.txt", "-t", "train.txt", "-o", "g.txt/a.npz"], FileError, "cannot be written"),
    ],
)
def test_errors_come_through_and_nothing_is_written(
    files: Path, command: list[str], kind: type[LexitreeError], problem: str
) -> None:
    (files / "empty.txt").write_text("")
    (files / "nothing").mkdir()
    before = sorted(files.iterdir())
    result = runner.invoke(app, command)
    assert isinstance(result.exception, kind)
    assert problem in str(result.exception)
    assert sorted(files.iterdir()) == before


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "command",
    [
        ["filter", "g.txt", "-t", "train.txt"],
        ["coverage", "g.txt"],
        ["coverage", "g.txt", "-t", "x", "--on-error", "y"],
    ],
)
def test_wrong_usage_is_exit_code_2(command: list[str]) -> None:
    assert runner.invoke(app, command).exit_code == 2


def test_help_teaches_by_example() -> None:
    assert "lexitree vectors filter glove.840B" in runner.invoke(app, ["filter", "--help"]).output
    assert "lexitree vectors coverage" in runner.invoke(app, ["coverage", "--help"]).output


def test_importing_the_commands_imports_nothing_heavy() -> None:
    code = "import sys, lexitree.cli.vectors; print([name for name in ('numpy', 'torch') if name in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


def test_extend_adds_the_words_of_texts(files: Path, encoders: dict[str, Path]) -> None:
    rows = "".join(f"{first}{second} {len(first)} 1 2\n" for first in "abcdef" for second in "abcdef")
    (files / "v.txt").write_text(f"thumbs 1 2 3\nup 3 2 1\nUp 1 1 1\n{rows}")
    (files / "t.tsv").write_text("positive\tomg soooo 👍🏽 :)\nnegative\tyummy Zyzzyx\n", encoding="utf-8")
    command = ["extend", "v.txt", "--encoder", str(encoders["bert"]), "--texts", "t.tsv", "-o", "e.npz"]
    result = runner.invoke(app, [*command, "--no-whole-words"])
    assert result.exit_code == 0, result.output
    assert "added: 2 from the transformer, 1 from other words" in result.output
    words = read_vectors(files / "e.npz").words
    assert {"omg", "yummy", "👍"} < set(words)
    assert not {"Up", "soooo", "zyzzyx", ":)"} & set(words)
