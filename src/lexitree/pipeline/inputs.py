"""Finds out what is to be labelled (texts, files of texts, tables or trees) and reads it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path
from typing import Literal, TypeVar, cast

from lexitree.corpora.parquet_files import PARQUET_SUFFIX
from lexitree.corpora.tables import (
    CsvTable,
    JsonLinesTable,
    NumberedLine,
    Row,
    look_at_first,
    open_table,
    read_csv_records,
)
from lexitree.corpora.treebank import read_any
from lexitree.errors import ConfigError, LexitreeError, OnError, Place
from lexitree.files import JSON_LINES_SUFFIXES, STANDARD_STREAM, display_name, plain_suffix, read_lines
from lexitree.saving.shipped import DEFAULT_MODEL, could_be_model, no_such_model
from lexitree.stores import is_address
from lexitree.trees.brackets import ReadReport, read_bracket_lines
from lexitree.trees.tree import Tree

InputKind = Literal["auto", "trees", "text"]

ARGUMENT_NAME = "<command line>"
"""What error messages call a text that was given directly, and not in a file."""

_TREE_SUFFIXES = (".toks", ".tsv", ".jsonl")
"""Files that hold trees by their names, unless a column of them is asked for."""
_FILE_NAME = re.compile(r"\S*[/\\]\S*|\S+\.[A-Za-z]\w{0,5}")
_DATA_SUFFIXES = (".txt", ".csv", ".tsv", ".json", ".jsonl", ".mrg", PARQUET_SUFFIX)
_MODEL_NAME = re.compile(r"(?!-)[\w.~:+@\\/-]+")

Item = TypeVar("Item")


class GivenText(str):
    """A text that was given as one: it is never taken for a model, a file or a tree, whatever it looks like."""

    __slots__ = ()


class UntilError(Iterator[Item]):
    """What an iterator gives before its first error, for readers that take several items ahead.

    They would lose the items that they have not answered yet if the error came at once; `check` raises it afterwards.
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self.items = iter(items)
        self.error: LexitreeError | None = None

    def __next__(self) -> Item:
        if self.error is not None:
            raise StopIteration
        try:
            return next(self.items)
        except LexitreeError as error:
            self.error = error
            raise StopIteration from error

    def check(self) -> None:
        """Raise the error, if there was one."""
        if self.error is not None:
            raise self.error


def split_arguments(
    arguments: Sequence[str], model: str | None = None, texts: Sequence[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """Tell the model from what it is to label.

    The first argument names the model unless `model` does or it is a text or a file; the default model is then used.
    Without any input, standard input is read.

    Args:
        arguments: The model, if it is named here, and texts and files.
        model: The model, if it is named elsewhere.
        texts: Further inputs, which are texts whatever they look like.

    Returns:
        The name of the model, and the inputs.

    Raises:
        ModelFileError: The first argument is neither an input nor a model.
    """
    inputs = tuple(arguments)
    if model is None and inputs and not _is_input(inputs[0]):
        model, inputs = inputs[0], inputs[1:]
        if not could_be_model(model):
            error = no_such_model(model)
            error.remedy += f"\nIf {model!r} is a text, use --text {shlex.quote(model)}"
            raise error
    return model or DEFAULT_MODEL, (*inputs, *map(GivenText, texts)) or (STANDARD_STREAM,)


def _is_input(argument: str) -> bool:
    """Whether an argument is a text or a file, and not a model.

    A single word is a text if nothing has that name and no model could: `Great!` and the empty text. What ends like a
    file of data is one, even if it is missing.
    """
    try:
        path = Path(argument)
        return (
            argument == STANDARD_STREAM
            or not argument
            or is_address(argument)
            # Also a pipe, as the shell makes one of `<(command)`.
            or (path.exists() and not path.is_dir())
            or (plain_suffix(path) in _DATA_SUFFIXES and not path.is_dir())
            or not (_MODEL_NAME.fullmatch(argument) or path.exists())
        )
    except (OSError, ValueError):
        # Too long for a name, or with a zero byte in it.
        return True


def is_file_name(argument: str | Path) -> bool:
    """Whether an argument names a file, present or missing, and is not a text itself.

    Anything that exists is a file, and so is a string without white space that has a slash or an ending like `.txt`.
    """
    if isinstance(argument, GivenText):
        return False
    if isinstance(argument, Path) or argument == STANDARD_STREAM or is_address(argument):
        return True
    if _FILE_NAME.fullmatch(argument):
        return True
    try:
        return bool(argument) and Path(argument).exists()
    except (OSError, ValueError):
        # Too long for a name, or with a zero byte in it.
        return False


def begins_a_tree(line: str) -> bool:
    """Whether the first line of an input is a tree in brackets, and not text."""
    return line.lstrip().startswith("(")


def read_tree_files(
    paths: Sequence[str | Path], encoding: str, on_error: OnError, report: ReadReport
) -> Iterator[Tree]:
    """Yield the trees of several files (`-` is standard input); skipped trees are noted in the report."""
    for path in paths:
        yield from read_any(path, encoding=encoding, on_error=on_error, report=report)


@dataclass
class Inputs:
    """Texts and files to label, read as a stream."""

    arguments: Sequence[str | Path]
    """Texts, trees in brackets, and names of files of either; `-` is standard input. A `Path` is always a file, and a
    `GivenText` a text."""
    kind: InputKind = "auto"
    """Whether the inputs are trees or text; by default, trees are known by their opening bracket."""
    encoding: str = "utf-8"
    on_error: OnError = "raise"
    """Whether malformed input is an error, or is skipped and reported."""
    report: ReadReport = field(default_factory=ReadReport)
    """What was skipped."""
    _opened: dict[str, Iterator[NumberedLine]] = field(
        default_factory=dict[str, "Iterator[NumberedLine]"], init=False
    )
    """Inputs whose first line was looked at: standard input cannot be opened twice."""

    @property
    def files(self) -> list[Path]:
        """The inputs that are files."""
        return [Path(argument) for argument in self.arguments if is_file_name(argument)]

    def hold_trees(self) -> bool:
        """Whether the first input is trees; the others must then be trees as well."""
        return self._holds_trees(self.arguments[0])

    def _holds_trees(self, argument: str | Path) -> bool:
        if self.kind != "auto":
            return self.kind == "trees"
        if not is_file_name(argument):
            return not isinstance(argument, GivenText) and begins_a_tree(str(argument))
        plain = str(argument).removesuffix(".gz")
        if plain.endswith(".csv"):
            raise self._column_needed(argument)
        if plain.endswith(JSON_LINES_SUFFIXES) and Path(argument).is_file():
            self._refuse_rows(argument)
        if plain.endswith(_TREE_SUFFIXES):
            return True
        first, self._opened[str(argument)] = look_at_first(self._lines(argument), display_name(argument))
        # Empty input counts as trees, for which no parser has to be opened.
        return not first or begins_a_tree(first)

    def _refuse_rows(self, argument: str | Path) -> None:
        """Raise an error for JSON Lines that hold rows of a table, and not trees, which have words."""
        first, _ = look_at_first(read_lines(argument, self.encoding), display_name(argument))
        try:
            row: object = json.loads(first)
        except (ValueError, RecursionError):
            return  # The reader of trees says where it is malformed.
        if isinstance(row, dict) and "words" not in row:
            raise _name_column(argument, cast(dict[str, object], row))

    def _column_needed(self, argument: str | Path) -> ConfigError:
        """The error for CSV without `--column`, with the columns that there are."""
        records = islice(read_csv_records(self._lines(argument), display_name(argument)), 2)
        header, first = [*(cells for _, cells in records), [], []][:2]
        if not header:
            return ConfigError(f"{argument} is empty")
        return _name_column(argument, dict(zip_longest(header, first[: len(header)], fillvalue="")))

    def _lines(self, argument: str | Path) -> Iterator[NumberedLine]:
        if not is_file_name(argument):
            return iter([(1, str(argument))])
        opened = self._opened.pop(str(argument), None)
        return read_lines(argument, self.encoding) if opened is None else opened

    def trees(self) -> Iterator[Tree]:
        """Yield the trees of all inputs."""
        return (tree for _, tree in self.placed_trees())

    def placed_trees(self) -> Iterator[tuple[Place, Tree]]:
        """Yield the trees of all inputs, each with the file and the line where it ends."""
        for argument in self.arguments:
            name = _name(argument)
            if str(argument).removesuffix(".gz").endswith(_TREE_SUFFIXES) and is_file_name(argument):
                trees = read_tree_files([argument], self.encoding, self.on_error, self.report)
            else:
                trees = read_bracket_lines(
                    self._lines(argument), name, on_error=self.on_error, report=self.report
                )
            for tree in trees:
                yield Place(name, self.report.line), tree

    def rows(self) -> Iterator[Row]:
        """Yield the texts given directly, and each line of the files as a text."""
        for argument in self.arguments:
            if not is_file_name(argument):
                yield Row(str(argument), (), Place(ARGUMENT_NAME))
                continue
            is_new = str(argument) not in self._opened and argument != self.arguments[0]
            if is_new and self._holds_trees(argument):
                raise ConfigError(
                    f"{argument} holds trees, and {self.arguments[0]} text",
                    remedy="Label them separately, or use --input text.",
                )
            for number, line in self._lines(argument):
                yield Row(line, (), Place(_name(argument), number))

    def whole_texts(self) -> Iterator[str]:
        """Yield the texts given directly, and each file as one text."""
        for argument in self.arguments:
            yield "\n".join(line for _, line in self._lines(argument))

    def tables(self, column: str) -> list[CsvTable | JsonLinesTable]:
        """Open all inputs as tables; those of CSV must have the same columns."""
        for argument in self.arguments:
            if not is_file_name(argument):
                raise ConfigError(
                    f"{str(argument)[:60]!r} is not a file, so it has no column {column!r}",
                    remedy="To label a text, omit --column.",
                )
        tables = [
            open_table(path, column, encoding=self.encoding, on_error=self.on_error, report=self.report)
            for path in self.arguments
        ]
        if any(list(table.columns) != list(tables[0].columns) for table in tables):
            raise ConfigError("the files have different columns", remedy="Label them separately.")
        return tables


def _name_column(argument: str | Path, row: Mapping[str, object]) -> ConfigError:
    """The error for a table without `--column`, given its first row."""
    if not row:
        return ConfigError(f"{argument}: its first row is empty")
    # Texts are longer than dates, names and numbers.
    texts = max(row, key=lambda name: len(str(row[name])))
    return ConfigError(
        f"{argument}: which column holds the texts?",
        remedy=f"Name it, for example --column {shlex.quote(texts)}. The columns are {', '.join(row)}.",
    )


def _name(argument: str | Path) -> str:
    return display_name(argument) if is_file_name(argument) else ARGUMENT_NAME
