"""Arguments that are texts or names of files in, the trees or the rows of text that they hold out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lexitree.cli.text_arguments import TREE_SUFFIXES, InputKind, begins_a_tree, is_file_name
from lexitree.errors import ConfigError, OnError, Place

if TYPE_CHECKING:
    from lexitree.pipeline.tables import CsvTable, JsonLinesTable, NumberedLine, Row
    from lexitree.trees.brackets import ReadReport
    from lexitree.trees.tree import Tree

ARGUMENT_NAME = "<command line>"


@dataclass
class Inputs:
    """What is to be labelled, read as it is asked for."""

    arguments: Sequence[str]
    kind: InputKind
    encoding: str
    on_error: OnError
    report: ReadReport
    _opened: dict[str, Iterator[NumberedLine]] = field(
        default_factory=dict[str, "Iterator[NumberedLine]"], init=False
    )
    """Inputs whose first line was looked at: standard input cannot be opened twice."""

    @property
    def files(self) -> list[Path]:
        return [Path(argument) for argument in self.arguments if is_file_name(argument)]

    def hold_trees(self) -> bool:
        """Whether the first input is trees; the others must then be trees as well."""
        return self._holds_trees(self.arguments[0])

    def _holds_trees(self, argument: str) -> bool:
        if self.kind != "auto":
            return self.kind == "trees"
        if not is_file_name(argument):
            return begins_a_tree(argument)
        plain = argument.removesuffix(".gz")
        if plain.endswith(".csv"):
            raise ConfigError(
                f"{argument}: which column holds the texts?", remedy="Name it, for example --column review"
            )
        if plain.endswith(TREE_SUFFIXES):
            return True
        from lexitree.pipeline.tables import look_at_first

        first, self._opened[argument] = look_at_first(self._lines(argument))
        # Nothing at all is no text that would need a parser.
        return not first or begins_a_tree(first)

    def _lines(self, argument: str) -> Iterator[NumberedLine]:
        from lexitree.files import read_lines

        if not is_file_name(argument):
            return iter([(1, argument)])
        opened = self._opened.pop(argument, None)
        return read_lines(argument, self.encoding) if opened is None else opened

    def trees(self) -> Iterator[Tree]:
        """The trees of all inputs; what was skipped goes into the report."""
        from lexitree.corpora.treebank import read_any
        from lexitree.trees.brackets import read_bracket_lines

        for argument in self.arguments:
            if argument.removesuffix(".gz").endswith(TREE_SUFFIXES) and is_file_name(argument):
                yield from read_any(
                    argument, encoding=self.encoding, on_error=self.on_error, report=self.report
                )
            else:
                yield from read_bracket_lines(
                    self._lines(argument), _name(argument), on_error=self.on_error, report=self.report
                )

    def rows(self) -> Iterator[Row]:
        """A text from each argument that is one, and from each line of the files."""
        from lexitree.pipeline.tables import Row

        for argument in self.arguments:
            if not is_file_name(argument):
                yield Row(argument, (), Place(ARGUMENT_NAME))
                continue
            if argument not in self._opened and argument != self.arguments[0] and self._holds_trees(argument):
                raise ConfigError(
                    f"{argument} holds trees, and {self.arguments[0]} text",
                    remedy="Label them one after the other, or say --input text.",
                )
            for number, line in self._lines(argument):
                yield Row(line, (), Place(_name(argument), number))

    def whole_texts(self) -> Iterator[str]:
        """Each argument that is a text, and each file as one text."""
        for argument in self.arguments:
            yield "\n".join(line for _, line in self._lines(argument))

    def tables(self, column: str) -> list[CsvTable | JsonLinesTable]:
        """The tables of all inputs; those of CSV must have the same columns."""
        from lexitree.pipeline.tables import open_table

        for argument in self.arguments:
            if not is_file_name(argument):
                raise ConfigError(
                    f"{argument[:60]!r} is no file, so it has no column {column!r}",
                    remedy="Leave --column out to label a text.",
                )
        tables = [
            open_table(path, column, encoding=self.encoding, on_error=self.on_error, report=self.report)
            for path in self.arguments
        ]
        if any(list(table.columns) != list(tables[0].columns) for table in tables):
            raise ConfigError("the files have different columns", remedy="Label them one after the other.")
        return tables


def _name(argument: str) -> str:
    from lexitree.files import display_name

    return display_name(argument) if is_file_name(argument) else ARGUMENT_NAME
