"""`lexitree vectors`: what it writes, what it prints, and that errors come through."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lexitree.cli.vectors import app
from lexitree.errors import BracketError, FileError, LexitreeError, VectorsError
from lexitree.lexicon import read_vectors

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
    assert "small.npz: 4 of 5 vectors of 2 numbers" in result.output
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
    assert "bad.txt: rows left out: 1" in result.stderr
    assert "bad.txt:6" in result.stderr
    assert "bad_trees.txt: trees left out: 1" in result.stderr
    assert json.loads(result.stdout)["num_read"] == 5


@pytest.mark.parametrize(
    ("command", "kind", "problem"),
    [
        (["filter", "none.txt", "-t", "train.txt", "-o", "a.npz"], FileError, "none.txt: cannot be read"),
        (["filter", "g.txt", "-t", "none.txt", "-o", "a.npz"], FileError, "none.txt: cannot be read"),
        (["filter", "g.txt", "-t", "empty.txt", "-o", "a.npz"], FileError, "empty.txt: holds no trees"),
        (["filter", "g.txt", "-t", "train.txt", "-o", "a.txt"], FileError, "must end in .npz"),
        (["filter", "empty.txt", "-t", "train.txt", "-o", "a.npz"], VectorsError, "holds no word vectors"),
        (["filter", "g.txt", "-t", "train.txt", "-o", "g.txt/a.npz"], FileError, "cannot be written"),
    ],
)
def test_errors_come_through_and_nothing_is_written(
    files: Path, command: list[str], kind: type[LexitreeError], problem: str
) -> None:
    (files / "empty.txt").write_text("")
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
