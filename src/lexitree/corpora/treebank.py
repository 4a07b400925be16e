"""Bracket, JSON Lines or sentence files with any labels go in; a corpus comes out, and what was inferred."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Literal

from lexitree.corpora.assemble import assemble_files
from lexitree.corpora.corpus import SPLITS, Corpus, SplitName, Supervision, name_splits
from lexitree.errors import ConfigError, CorpusNotFoundError, OnError, Place, SentenceError
from lexitree.files import display_name, read_lines
from lexitree.trees.brackets import ReadReport, read_trees
from lexitree.trees.dependencies import WORDS_SUFFIX, read_dependencies
from lexitree.trees.jsonl import read_json_lines
from lexitree.trees.penn import strip_function_tags, strip_traces
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


Strip = Literal["traces", "function-tags"]
"""What to take off Penn trees: empty elements, and the -SBJ of NP-SBJ."""

STRIPS: tuple[Strip, ...] = ("traces", "function-tags")
SUFFIXES = (".txt", ".mrg", ".ptb", ".jsonl", ".tsv")
"""How the files of a folder may end, which tells the format: .tsv is `label<TAB>words`."""


def load_treebank(
    train: str | Path | None = None,
    dev: str | Path | None = None,
    test: str | Path | None = None,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    strip: Collection[Strip] = (),
    supervision: Supervision | None = None,
    hold_out_dev: bool = True,
    name: str = "",
) -> Corpus:
    """Read any labelled treebank.

    `train` is a file or a folder with train.txt and, if there, dev.txt and test.txt (.mrg, .ptb, .jsonl and
    .tsv as well, and each with .gz). Which nodes carry labels is inferred unless `supervision` says so; a
    missing development split is held out of the training split unless `hold_out_dev` is false;
    `Corpus.inference` tells both. Labels of dev or test that the training split lacks are an error. Without
    `train` the label set is what the other files have.
    """
    unknown = set(strip) - set(STRIPS)
    if unknown:
        raise ConfigError(f"only {' and '.join(STRIPS)} can be stripped, not {', '.join(sorted(unknown))}")
    paths = name_splits(train, dev, test)
    if train is not None and Path(train).is_dir():
        paths = {**split_files(train), **name_splits(None, dev, test)}
        name = name or Path(train).resolve().name

    def read(path: str | Path, report: ReadReport) -> Iterator[Tree]:
        return strip_trees(read_any(path, encoding=encoding, on_error=on_error, report=report), strip)

    return assemble_files(name, paths, read, supervision=supervision, hold_out_dev=hold_out_dev)


def read_any(
    path: str | Path,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[Tree]:
    """Yield the trees of a file in the format its name ends in; .jsonl, .tsv, .toks, and brackets for all others."""
    plain = str(path).removesuffix(".gz")
    if plain.endswith(".jsonl"):
        return read_json_lines(path, encoding=encoding, on_error=on_error, report=report)
    if plain.endswith(WORDS_SUFFIX):
        return read_dependencies(path, encoding=encoding, on_error=on_error, report=report)
    if plain.endswith(".tsv"):
        return read_sentences(path, encoding=encoding, on_error=on_error, report=report)
    return read_trees(path, encoding=encoding, on_error=on_error, report=report)


def strip_trees(trees: Iterable[Tree], strip: Collection[Strip]) -> Iterator[Tree]:
    """Yield the trees without what is to be stripped; a sentence of nothing but traces vanishes."""
    for tree in trees:
        stripped: Tree | None = tree
        if "traces" in strip:
            stripped = strip_traces(tree)
        if stripped is not None:
            yield strip_function_tags(stripped) if "function-tags" in strip else stripped


def chosen_strips(*, traces: bool, function_tags: bool) -> list[Strip]:
    """What `strip` takes, from two answers."""
    wanted: dict[Strip, bool] = {"traces": traces, "function-tags": function_tags}
    return [strip for strip, is_wanted in wanted.items() if is_wanted]


def split_files(folder: str | Path) -> dict[str, str | Path]:
    """The files of the splits in a folder; there must be one for training."""
    files = {split: find_split_file(folder, split) for split in SPLITS}
    found: dict[str, str | Path] = {split: path for split, path in files.items() if path is not None}
    if "train" not in found:
        raise CorpusNotFoundError(
            f"{folder} has no file train.txt (nor {', '.join('train' + suffix for suffix in SUFFIXES[1:])})",
            remedy="A treebank folder holds train.txt and, if there are any, dev.txt and test.txt.",
        )
    return found


def find_split_file(folder: str | Path, split: SplitName) -> Path | None:
    """The one file of a split in a folder, whatever its format; None where there is none."""
    paths = [Path(folder, split + suffix + packed) for suffix in SUFFIXES for packed in ("", ".gz")]
    present = [path for path in paths if path.is_file()]
    if len(present) > 1:
        raise ConfigError(
            f"{folder} has both {present[0].name} and {present[1].name}: give the files by name"
        )
    return present[0] if present else None
