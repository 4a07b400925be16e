"""What all commands share: the two consoles, and how errors, skipped input, seeds and trees are shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from lexitree.errors import InputError, LexitreeError
    from lexitree.results.labelled_tree import LabelledTree
    from lexitree.trees.tree import Tree

output = Console(highlight=False)
"""For results: standard output."""
messages = Console(stderr=True, highlight=False)
"""For progress, warnings and errors: standard error, so that results can be piped."""

NUM_SKIPPED_LISTED = 20


def printable(text: str) -> str:
    """Escape control characters, which file names and input may hold, so that they do not steer the terminal."""
    return "".join(
        character
        if character.isprintable() or character == "\n"
        else character.encode("unicode_escape").decode()
        for character in text
    )


def show_error(error: LexitreeError) -> None:
    """Show what is wrong, where, and what to do."""
    messages.print("[bold red]error:[/bold red]", end=" ")
    # The caret must stand under its place, so the text is neither wrapped nor marked up.
    messages.out(printable(error.message), highlight=False)
    if error.remedy:
        messages.out(printable(error.remedy), highlight=False)


def show_skipped(
    num_skipped: int,
    errors: Sequence[InputError],
    *,
    what: str = "trees",
    message: str = "skipped {number} malformed {what}",
) -> None:
    """Report how much malformed input was skipped, and where the first of it is."""
    if not num_skipped:
        return
    messages.print(f"[yellow]{message.format(number=f'{num_skipped:,}', what=what)}[/yellow]")
    listed = errors[:NUM_SKIPPED_LISTED]
    for error in listed:
        messages.out(printable(f"  {error.place}: {error.problem}"), highlight=False)
    if num_skipped > len(listed):
        messages.print(f"  ... and {num_skipped - len(listed):,} more")


@contextmanager
def progress_bars() -> Generator[Callable[[str, int, int], None]]:
    """Show progress bars on a terminal, and nothing elsewhere.

    Yields:
        A function that takes the name of a file, the bytes done and the total.
    """
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=messages, transient=True, disable=not messages.is_terminal) as bars:
        tasks: dict[str, TaskID] = {}

        def show_progress(name: str, num_done: int, num_total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=num_total)
            bars.update(tasks[name], completed=num_done, total=num_total)

        yield show_progress


def show_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    numbers: Sequence[str] | None = None,
    has_header: bool = True,
) -> None:
    """Print a table on standard output, fitted to the width of the screen; nothing in it is taken for markup.

    Args:
        columns: The header.
        rows: The cells.
        title: A line above the table.
        numbers: The columns that are aligned to the right; by default all but the first.
        has_header: Whether the header is shown.
    """
    from lexitree.cli.table_layout import lay_out_table

    right = columns[1:] if numbers is None else numbers
    cells = [[printable(cell) for cell in row] for row in rows]
    table = lay_out_table(
        columns,
        cells,
        is_number=[column in right for column in columns],
        width=output.width,
        has_header=has_header,
    )
    if title:
        output.print(printable(title), style="bold", markup=False)
    output.print(table, soft_wrap=isinstance(table, Text))
    output.print()


def can_show_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the columns of a table fit on the screen side by side."""
    from lexitree.cli.table_layout import fits_side_by_side

    return fits_side_by_side(columns, rows, output.width)


def parse_seeds(text: str) -> list[int]:
    """Read seeds written as `3`, `1,2,5` or `1-5`."""
    return parse_numbers(text, "seeds")


def parse_numbers(text: str, what: str) -> list[int]:
    """Read whole numbers written as `3`, `1,2,5` or `1-5`; `what` names them in the error message."""
    numbers: list[int] = []
    for part in text.replace(" ", "").split(","):
        match = re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", part)
        if not match:
            raise typer.BadParameter(f"write {what} as 3, 1,2,5 or 1-5, with at most 18 digits")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first > 999:
            raise typer.BadParameter(f"{part} is not a range of {what}")
        numbers.extend(range(first, last + 1))
    return numbers


def percent(share: float | None) -> str:
    """Show a share as a percentage with one decimal."""
    return "–" if share is None else f"{100 * share:.1f}"


def show_tree(tree: Tree | LabelledTree) -> None:
    """Draw a tree on standard output, in colour on a terminal and as plain text elsewhere."""
    from lexitree.views.outline import draw_tree

    if output.is_terminal:
        for line in draw_tree(tree, color=True):
            output.print(line, soft_wrap=True)
    else:
        for line in draw_tree(tree):
            output.file.write(line + "\n")
    output.file.write("\n")
