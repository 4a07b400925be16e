"""Trees in and lines out, for all commands that pass trees through: files or standard streams, errors listed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lexitree.errors import OnError
    from lexitree.trees.brackets import ReadReport
    from lexitree.trees.tree import Tree


def stream_trees(
    paths: Sequence[Path], encoding: str, on_error: OnError, report: ReadReport
) -> Iterator[Tree]:
    """The trees of files one after the other (`-` is standard input); what was skipped goes into the report."""
    from lexitree.corpora.treebank import read_any

    for path in paths:
        yield from read_any(path, encoding=encoding, on_error=on_error, report=report)


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
