"""Texts that pass by in, a bar on standard error out where that is a screen."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from lexitree.cli.console import messages


class Advance(Protocol):
    """Called for each text that is done."""

    def __call__(self) -> None: ...


@contextmanager
def text_progress(wanted: bool, inputs: list[Path], *, quoted: bool, done: int) -> Generator[Advance]:
    """A bar with the number of texts and, where it can be known beforehand, of all there are."""
    if not wanted or not messages.is_terminal:
        yield lambda: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("texts"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=messages, transient=True) as bars:
        task = bars.add_task("texts", total=_count_texts(inputs, quoted), completed=done)
        yield lambda: bars.advance(task)


def _count_texts(inputs: list[Path], quoted: bool) -> int | None:
    """The number of records in files that can be read twice; None where one cannot."""
    from lexitree.pipeline.unfinished import find_whole_records

    if not all(path.is_file() and path.suffix != ".gz" for path in inputs):
        return None
    # The header of a CSV file is no text.
    return sum(find_whole_records(path, quoted=quoted).num_records - quoted for path in inputs)
