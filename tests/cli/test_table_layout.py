"""Tables fit on the screen, whatever is in them; those of all commands at 80 columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from lexitree.cli.console import show_table
from lexitree.cli.evaluate import NUM_CONFUSIONS, _show_classes
from lexitree.cli.table_layout import lay_out_table
from lexitree.cli.train_runs import show_summary
from lexitree.evaluation.accuracy import Confusion
from lexitree.learning.seeds import SeedSummary
from tests.cli.conftest import Call
from tests.cli.screen import WIDTH, check_table, on_screen

EMBEDDED = ("mini-reviews", "mini-questions-fine", "mini-reviews-polarity")


def lay_out(columns: list[str], rows: list[list[str]]) -> Table | Text:
    is_number = [False, *[True] * (len(columns) - 1)]
    return lay_out_table(columns, rows, is_number=is_number, width=WIDTH)


words = st.text("aé映1,", max_size=12)
cells = st.lists(words, max_size=4).map(" ".join)
tables = st.integers(1, 9).flatmap(
    lambda size: st.lists(st.lists(cells, min_size=size, max_size=size), min_size=1, max_size=3)
)


@settings(max_examples=40, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(tables)
@example([["", " 1111映"], ["a" * 40, "b" * 40]])
@example([["", "1", " 1 11映 " + "1" * 50], ["", "x", "y"]])
@example([["name", "映画 " * 30], ["a" * 30, "映画映画映画映画映画 " * 9]])
def test_no_word_is_cut(rows: list[list[str]]) -> None:
    columns, *others = rows
    check_table(lay_out(columns, others), columns, others)


def test_a_wide_table_is_shown_row_by_row() -> None:
    path = "/home/somebody/" + "long/" * 11
    shown = lay_out(["name", "what", "where", ""], [["sst", "reviews of films", path, "9 %"]])
    assert on_screen(shown) == f"sst\n  what: reviews of films\n  where: {path}\n  9 %\n"


def test_names_of_rows_are_kept_whole() -> None:
    columns = ["label", *(f"{split} roots of them" for split in ("train", "dev", "test"))] * 2
    shown = on_screen(lay_out(columns[:4], [["0 (very negative)", "1", "2", "3"] for _ in range(3)]))
    assert shown.count("0 (very negative)") == 3


def test_nothing_is_taken_for_markup(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(("[bold]a", "b"), [("[/red]", "[link=x]\x1b[2J")], title="[/]")
    shown = capsys.readouterr().out
    for text in ("[bold]a", "[/red]", "[link=x]\\x1b[2J", "[/]"):
        assert text in shown


def confusion(labels: tuple[str, ...]) -> Confusion:
    size = len(labels)
    return Confusion(labels, np.arange(size * size).reshape(size, size))


def test_a_confusion_matrix_that_is_too_wide_becomes_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    _show_classes(confusion(("very negative", "negative", "neutral", "positive", "very positive")), "roots")
    assert "roots: confusion matrix" in capsys.readouterr().out
    _show_classes(confusion(tuple(f"label-{number}" for number in range(50))), "roots")
    shown = capsys.readouterr().out
    assert "roots: confusions, the most frequent of 2450" in shown
    listed = shown.partition("confusions,")[2].splitlines()[3:]
    assert listed[0].split() == ["label-49", "label-48", "2498"]
    assert len([line for line in listed if line.strip()]) == NUM_CONFUSIONS


@pytest.mark.parametrize(
    "command",
    [
        ["models"],
        ["models", "--shipped"],
        ["data", "list"],
        *(["data", "show", name] for name in EMBEDDED),
        ["info", "MODEL"],
        ["info", "RUN"],
        ["evaluate", "MODEL", "TREES"],
        ["trees", "statistics", "TREES/train.txt"],
        ["analyze", "compare", "a=MODEL", "a-second-system-with-a-long-name=MODEL", "TREES"],
        ["analyze", "length", "a=MODEL", "TREES"],
        ["analyze", "heads", "MODEL", "PENN"],
        ["analyze", "curves", "RUN"],
        ["vectors", "coverage", "VECTORS", "-t", "TREES/train.txt"],
        ["reproduce"],
        ["reproduce", "main-table", "--table"],
    ],
    ids=" ".join,
)
def test_commands_at_80_columns(
    command: list[str],
    call: Call,
    tables_fit: list[Any],
    trained_run: Path,
    treebank: Path,
    trees_file: Path,
    tmp_path: Path,
) -> None:
    (tmp_path / "vectors.txt").write_text("the 1 2\nfilm 3 4\n")
    places = {
        "MODEL": trained_run / "model",
        "RUN": trained_run,
        "TREES": treebank,
        "PENN": trees_file,
        "VECTORS": tmp_path / "vectors.txt",
    }
    for name, path in places.items():
        command = [word.replace(name, str(path)) for word in command]
    finished = call(*command)
    assert finished.code == 0, finished.err
    assert tables_fit


def test_several_seeds(tables_fit: list[Any], tmp_path: Path) -> None:
    scores = ("dev_root", "dev_phrase", "test_root", "test_phrase")
    result = {"best_epoch": 12, "seconds": 123.4, **dict.fromkeys(scores, 0.987)}
    show_summary(SeedSummary(dict.fromkeys((1, 2, 100), result), scores), "x" * 40, tmp_path)
    assert len(tables_fit) == 1
