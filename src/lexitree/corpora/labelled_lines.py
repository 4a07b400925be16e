"""Lines `label<TAB>words` go in; trees without structure come out, for the models that need none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lexitree.corpora.assemble import assemble_files
from lexitree.corpora.corpus import Corpus, name_splits
from lexitree.errors import OnError, Place, SentenceError
from lexitree.files import display_name, read_lines
from lexitree.trees.brackets import ReadReport
from lexitree.trees.tree import Tree

# The same white space as in brackets: a no-break space belongs to its word.
_WORD = re.compile(r"[^ \t\r\n\f\v]+")


def split_words(text: str) -> list[str]:
    """The words of a tokenized sentence, separated by ASCII white space."""
    return _WORD.findall(text)


def read_sentences(
    path: str | Path,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[Tree]:
    """Yield one flat tree for each line `label<TAB>words separated by spaces`; blank lines are passed over.

    With `on_error="skip"` a malformed line is left out and its error added to `report.errors`.
    """
    report = report if report is not None else ReadReport()
    name = display_name(path)
    for number, line in read_lines(path, encoding):
        if not line.strip(" \t"):
            continue
        try:
            tree = tree_from_labelled_line(line, name, number)
        except SentenceError as error:
            report.note(error, on_error)
            continue
        report.num_trees += 1
        yield tree


def tree_from_labelled_line(line: str, name: str = "<sentence>", number: int = 0) -> Tree:
    """The flat tree of one line `label<TAB>words`."""
    label, tab, text = line.partition("\t")
    label = label.strip(" ")
    if not tab:
        raise SentenceError(
            Place(name, number, len(line) + 1, line),
            "a line without a tab",
            remedy="Each line is a label, a tab, and the words separated by spaces.",
        )
    if not label:
        raise SentenceError(Place(name, number, 1, line), "no label before the tab")
    words = split_words(text)
    if not words:
        raise SentenceError(Place(name, number, len(line) + 1, line), "no words after the tab")
    return Tree.flat(words, label)


def load_sentences(
    train: str | Path | None = None,
    dev: str | Path | None = None,
    test: str | Path | None = None,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    hold_out_dev: bool = True,
    name: str = "",
) -> Corpus:
    """Read files of labelled sentences as a corpus with labels at the roots; see also `load_treebank`."""

    def read(path: str | Path, report: ReadReport) -> Iterator[Tree]:
        return read_sentences(path, encoding=encoding, on_error=on_error, report=report)

    return assemble_files(name, name_splits(train, dev, test), read, hold_out_dev=hold_out_dev)
