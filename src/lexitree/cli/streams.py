"""Trees in and lines out, for all commands that pass trees through: files or standard streams, errors listed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lexitree.cli.console import messages
from lexitree.cli.options import OnError

if TYPE_CHECKING:
    from lexitree.trees.brackets import ReadReport
    from lexitree.trees.tree import Tree

NUM_ERRORS_LISTED = 20


def stream_trees(
    paths: Sequence[Path], encoding: str, on_error: OnError, report: ReadReport
) -> Iterator[Tree]:
    """The trees of files one after the other (`-` is standard input); what was skipped goes into the report."""
    from lexitree.corpora.treebank import read_any

    for path in paths:
        yield from read_any(path, encoding=encoding, on_error=on_error, report=report)


def show_skipped(report: ReadReport) -> None:
    """Say how many trees were left out and where they are."""
    if not report.num_errors:
        return
    messages.print(f"[yellow]skipped {report.num_errors:,} malformed trees[/yellow]")
    for error in report.errors[:NUM_ERRORS_LISTED]:
        messages.out(f"  {error.place}: {error.problem}", highlight=False)
    if report.num_errors > NUM_ERRORS_LISTED:
        messages.print(f"  ... and {report.num_errors - NUM_ERRORS_LISTED:,} more")


@contextmanager
def open_output(path: Path | None) -> Generator[Callable[[str], object], None, None]:
    """A function that writes text: to a file that appears when complete, or to standard output."""
    from lexitree.files import atomic_write

    if path is None or str(path) == "-":
        yield sys.stdout.write
        sys.stdout.flush()
        return
    with atomic_write(path) as stream:
        yield stream.write
