"""A screen of 80 columns: whether a table fits on it, without a word that is cut."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH = 80


def on_screen(shown: Table | Text) -> str:
    """What a screen of 80 columns shows of a table."""
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None)
    with console.capture() as capture:
        console.print(shown, soft_wrap=isinstance(shown, Text))
    return capture.get()


def check_table(
    shown: Table | Text, columns: Sequence[str], rows: Sequence[Sequence[str]], **options: Any
) -> None:
    """Fails if a line is too long, other than by a single long word, or if a word is cut."""
    text = on_screen(shown)
    for line in text.splitlines():
        assert cell_len(line.rstrip()) <= WIDTH or max(map(cell_len, line.split())) > WIDTH - 4, line
    cells = [cell for row in rows for cell in row]
    words = {word for cell in cells for word in cell.split()}
    if isinstance(shown, Table) and options.get("has_header", True):
        words |= {word for column in columns for word in column.split()}
    assert words <= set(text.split()), words - set(text.split())
