"""Lays out tables for a screen of any width, without cutting a word."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

GAP = 2
"""The space between two columns."""
_INDENT = "  "


def lay_out_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    is_number: Sequence[bool],
    width: int,
    has_header: bool = True,
) -> Table | Text:
    """Make a table that is at most `width` wide; cells wrap at spaces.

    A table whose longest words do not fit side by side is laid out row by row, with a line for each cell. Only a
    word that is longer than a line, such as a path, is then wider than the screen.

    Args:
        columns: The header; an empty name belongs to the column on its left.
        rows: The cells, as plain text.
        is_number: Whether each column is aligned to the right.
        width: The columns of the screen.
        has_header: Whether the header is shown.
    """
    columns, *rows = [[_tidy(cell) for cell in row] for row in (columns, *rows)]
    if not fits_side_by_side(columns, rows, width):
        return _stack(columns, rows, width)
    shown = [columns, *rows] if has_header or not rows else rows
    widest, narrowest = _line_widths(shown), _word_widths(shown)
    room = width - GAP * (len(columns) - 1)
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1, 0, 0),
        show_header=has_header,
    )
    # The first column names the row; the names of columns of numbers wrap before it does.
    keeps_first = widest[0] + sum(narrowest[1:]) <= room
    for place, column in enumerate(columns):
        is_fixed = sum(widest) <= room or (place == 0 and keeps_first)
        table.add_column(
            Text(column),
            justify="right" if is_number[place] else "left",
            overflow="fold",
            width=widest[place] if is_fixed else narrowest[place] if is_number[place] else None,
            min_width=narrowest[place],
        )
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def fits_side_by_side(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> bool:
    """Whether the longest words of all columns fit into one line."""
    return sum(_word_widths([columns, *rows])) + GAP * (len(columns) - 1) <= width


def _tidy(cell: str) -> str:
    """A cell without the spaces at the ends of its lines, which would take room from its words."""
    return "\n".join(line.strip() for line in cell.splitlines())


def _word_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """How wide each column is at least: its longest word."""
    return [max(_longest(cell.split()) for cell in column) for column in zip(*rows, strict=True)]


def _line_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """How wide each column is if nothing wraps."""
    return [max(_longest(cell.splitlines()) for cell in column) for column in zip(*rows, strict=True)]


def _longest(pieces: Sequence[str]) -> int:
    return max(map(cell_len, pieces), default=0)


def _stack(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Text:
    """Every row as a paragraph: its first cell, and the others below it, each with the name of its column."""
    lines: list[str] = []
    for first, *others in rows:
        lines.append(first)
        for column, cell in zip(columns[1:], others, strict=True):
            name = f"{column}: " if column else ""
            lines += _wrap(f"{name}{cell}", width) if cell.strip() else []
    return Text("\n".join(lines))


def _wrap(text: str, width: int) -> list[str]:
    """Lines of whole words; `textwrap` would count characters, of which some are two columns wide."""
    first, *others = text.split()
    lines = [f"{_INDENT}{first}"]
    for word in others:
        if cell_len(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{2 * _INDENT}{word}")
    return lines
