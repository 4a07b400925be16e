"""The command line called in this process, which saves importing torch for every call."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lexitree.cli import main as main_module
from lexitree.cli import table_layout
from lexitree.cli.main import main
from lexitree.pipeline import loading
from tests.cli.screen import WIDTH, check_table
from tests.pipeline.stubs import RightBranching

SENTENCE = "(_ (_ (_ the) (_ film)) (_ (_ is) (_ good)))\n"


@pytest.fixture(autouse=True)
def tables_fit(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every table that a command shows fits on a screen of 80 columns; gives those that were shown."""
    shown: list[Any] = []
    lay_out_table = table_layout.lay_out_table

    def lay_out_and_check(columns: Any, rows: Any, **options: Any) -> Any:
        table = lay_out_table(columns, rows, **{**options, "width": WIDTH})
        check_table(table, columns, rows, **options)
        shown.append(table)
        return lay_out_table(columns, rows, **options)

    monkeypatch.setattr(table_layout, "lay_out_table", lay_out_and_check)
    return shown


class Finished(NamedTuple):
    code: int
    out: str
    err: str


Call = Callable[..., Finished]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """A function that runs `lexitree` with arguments and gives its exit code and what it wrote."""

    def run(*arguments: object, stdin: str = "") -> Finished:
        monkeypatch.setattr(sys, "argv", ["lexitree", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capsys.readouterr()
        code: object = 0
        try:
            main()
        except SystemExit as stopped:
            code = stopped.code
        written = capsys.readouterr()
        return Finished(code if isinstance(code, int) else 0, written.out, written.err)

    monkeypatch.delenv("LEXITREE_DATA", raising=False)
    # The process of the tests keeps its signals.
    monkeypatch.setattr(main_module, "interrupt_on_signals", lambda: None)
    return run


def assert_users_error(finished: Finished, *parts: str) -> None:
    """Exit code 1 and one message that names these parts."""
    assert finished.code == 1, finished.err
    assert finished.err.count("error:") == 1
    assert "Traceback" not in finished.err
    for part in parts:
        assert part in finished.err


@pytest.fixture
def trees_file(tmp_path: Path) -> Path:
    path = tmp_path / "trees.txt"
    path.write_text("(S (NP (DT the) (NN film)) (VP (VBZ works)) (. .))\n(S (NN this))\n")
    return path


CSV = 'id,review\n1,"the ""film"" is good,\nreally"\n2,bad\n3,\n4,the plot is not bad\n'


@pytest.fixture
def predict(call: Call, saved_model: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command with a parser that needs no process of its own."""
    monkeypatch.setattr(loading, "open_parser", lambda spec: RightBranching())

    def run(*arguments: object, stdin: str = "") -> Finished:
        return call("predict", saved_model, *arguments, "--parser", "stub", stdin=stdin)

    return run


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    path = tmp_path / "reviews.csv"
    path.write_text(CSV)
    return path


def records(text: str) -> list[list[str]]:
    """The rows of CSV."""
    return list(csv.reader(io.StringIO(text, newline="")))
