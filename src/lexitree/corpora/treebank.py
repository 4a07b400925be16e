"""Load corpora from treebank files with any labels: brackets, JSON Lines, dependencies or labelled sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal

from lexitree.corpora.assemble import assemble_files
from lexitree.corpora.corpus import SPLITS, Corpus, SplitName, Supervision, name_splits
from lexitree.errors import ConfigError, CorpusNotFoundError, OnError, Place, SentenceError
from lexitree.files import display_name, read_lines
from lexitree.trees.brackets import ReadReport, read_trees, strip_function_tags, strip_traces
from lexitree.trees.dependencies import WORDS_SUFFIX, read_dependencies
from lexitree.trees.jsonl import read_json_lines
from lexitree.trees.tree import Tree
from lexitree.trees.tree_limits import MAX_WORDS, TOO_LARGE, too_many

Strip = Literal["traces", "function-tags"]
"""What to remove from Penn trees: empty elements, and function tags such as the -SBJ of NP-SBJ."""

STRIPS: tuple[Strip, ...] = ("traces", "function-tags")
_TABLE_SUFFIXES = (".csv", ".parquet")
_SUFFIXES = (".txt", ".mrg", ".ptb", ".jsonl", ".tsv", *_TABLE_SUFFIXES)
"""The endings of the files in a folder, which determine the format: .tsv is `label<TAB>words`."""

# As in brackets, a no-break space belongs to its word.
_WORD = re.compile(r"[^ \t\r\n\f\v]+")


def split_words(text: str) -> list[str]:
    """Return the words of a tokenized sentence, separated by ASCII white space."""
    return _WORD.findall(text)


def read_sentences(
    path: str | Path,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[Tree]:
    """Yield a flat tree for each line `label<TAB>words separated by spaces`; blank lines are skipped.

    Args:
        path: The file; `-` is standard input, and `.gz` is decompressed on the fly.
        encoding: Its encoding.
        on_error: Whether to "raise" at a malformed line or to "skip" it.
        report: Counts the trees and collects the errors that are skipped.

    Raises:
        SentenceError: A line is malformed.
        FileError: The file cannot be read.
    """
    report = report if report is not None else ReadReport()
    name = display_name(path)
    for number, line in read_lines(path, encoding):
        if not line.strip(" \t"):
            continue
        report.line = number
        tree = report.attempt(on_error, _tree_from_labelled_line, line, name, number)
        if tree is not None:
            yield tree


def _tree_from_labelled_line(line: str, name: str = "<sentence>", number: int = 0) -> Tree:
    """Make the flat tree of one line `label<TAB>words`."""
    label, tab, text = line.partition("\t")
    label = label.strip(" ")
    if not tab:
        raise SentenceError(
            Place(name, number, len(line) + 1, line),
            "line has no tab",
            remedy="Each line is a label, a tab, and words separated by spaces.",
        )
    if not label:
        raise SentenceError(Place(name, number, 1, line), "no label before the tab")
    words = [match[0] for match in islice(_WORD.finditer(text), MAX_WORDS + 1)]
    if len(words) > MAX_WORDS:
        raise SentenceError(Place(name, number), too_many(MAX_WORDS, "words"), remedy=TOO_LARGE)
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
    """Load files of labelled sentences as a corpus with labels on the roots.

    Args:
        train: The training file.
        dev: The development file.
        test: The test file.
        encoding: The encoding of the files.
        on_error: Whether to "raise" at malformed lines or to "skip" and count them.
        hold_out_dev: Whether to hold out a tenth of the training split if there is no development file.
        name: The name of the corpus; by default that of its first file.

    Raises:
        SentenceError: A line is malformed.
        LabelError: A split has labels that the training split lacks.
    """
    read = partial(read_sentences, encoding=encoding, on_error=on_error)
    return assemble_files(name, name_splits(train, dev, test), read, hold_out_dev=hold_out_dev)


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
    """Load any labelled treebank.

    `Corpus.inference` says what was inferred.

    Args:
        train: The training file; or a folder with train.txt and, optionally, dev.txt and test.txt (or .mrg, .ptb,
            .jsonl and .tsv, each also with .gz). Without it, the label set is that of the other files.
        dev: The development file.
        test: The test file.
        encoding: The encoding of the files.
        on_error: Whether to "raise" at malformed trees or to "skip" and count them.
        strip: What to remove from Penn trees.
        supervision: Which nodes are labelled for the task; inferred by default.
        hold_out_dev: Whether to hold out a tenth of the training split if there is no development split.
        name: The name of the corpus; by default that of its folder or first file.

    Raises:
        InputError: A tree is malformed.
        LabelError: There are no labels, or a split has labels that the training split lacks.
        CorpusNotFoundError: The folder has no training file.
    """
    unknown = set(strip) - set(STRIPS)
    if unknown:
        raise ConfigError(f"cannot strip {', '.join(sorted(unknown))}; choose from {' and '.join(STRIPS)}")
    paths = name_splits(train, dev, test)
    if train is not None and Path(train).is_dir():
        paths = {**_split_files(train), **name_splits(None, dev, test)}
        name = name or Path(train).resolve().name

    def read(path: str | Path, *, report: ReadReport) -> Iterator[Tree]:
        return strip_trees(read_any(path, encoding=encoding, on_error=on_error, report=report), strip)

    return assemble_files(name, paths, read, supervision=supervision, hold_out_dev=hold_out_dev)


def read_any(
    path: str | Path,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[Tree]:
    """Yield the trees of a file in the format given by its name: .jsonl, .tsv, .toks, or brackets.

    The arguments are those of `read_trees`.
    """
    plain = str(path).removesuffix(".gz")
    if plain.endswith(_TABLE_SUFFIXES):
        raise ConfigError(
            f"{path} is a table of texts and holds no trees",
            remedy="Train on it with `lexitree train` or lexitree.train_texts, which parse the texts.",
        )
    reader = next((reader for suffix, reader in _READERS.items() if plain.endswith(suffix)), read_trees)
    return reader(path, encoding=encoding, on_error=on_error, report=report)


_READERS: dict[str, Callable[..., Iterator[Tree]]] = {
    ".jsonl": read_json_lines,
    WORDS_SUFFIX: read_dependencies,
    ".tsv": read_sentences,
}


def strip_trees(trees: Iterable[Tree], strip: Collection[Strip]) -> Iterator[Tree]:
    """Yield the trees without what is to be stripped; sentences that consist of traces are dropped."""
    for tree in trees:
        stripped: Tree | None = tree
        if "traces" in strip:
            stripped = strip_traces(tree)
        if stripped is not None:
            yield strip_function_tags(stripped) if "function-tags" in strip else stripped


def chosen_strips(*, traces: bool, function_tags: bool) -> list[Strip]:
    """Return the `strip` argument for two flags."""
    wanted: dict[Strip, bool] = {"traces": traces, "function-tags": function_tags}
    return [strip for strip, is_wanted in wanted.items() if is_wanted]


def _split_files(folder: str | Path) -> dict[str, str | Path]:
    """Return the files of the splits in a folder; there must be one for training."""
    files = {split: find_split_file(folder, split) for split in SPLITS}
    found: dict[str, str | Path] = {split: path for split, path in files.items() if path is not None}
    if "train" not in found:
        raise CorpusNotFoundError(
            f"{folder} has no file train.txt (nor {', '.join('train' + suffix for suffix in _SUFFIXES[1:])})",
            remedy="A treebank folder contains train.txt and, optionally, dev.txt and test.txt.",
        )
    return found


def find_split_file(folder: str | Path, split: SplitName) -> Path | None:
    """Return the file of a split in a folder, whatever its format; None if there is none.

    Raises:
        ConfigError: There are several.
    """
    paths = [Path(folder, split + suffix + packed) for suffix in _SUFFIXES for packed in ("", ".gz")]
    present = [path for path in paths if path.is_file()]
    if len(present) > 1:
        raise ConfigError(
            f"{folder} has both {present[0].name} and {present[1].name}: specify the files instead"
        )
    return present[0] if present else None
