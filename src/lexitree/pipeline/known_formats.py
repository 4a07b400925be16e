"""The output formats, by name and by the ending of a file, and those of this package.

A format is a class (see `formats`), and `FORMATS` is the registry in which the library and the command line look it
up. Those of this package are decorated with `@_built_in`. This module imports nothing heavy, so that `--help` stays
quick.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lexitree.errors import ConfigError
from lexitree.files import (
    BRACKET_SUFFIXES,
    HTML_SUFFIXES,
    JSON_LINES_SUFFIXES,
    choose_format,
    plain_suffix,
    to_json,
)
from lexitree.pipeline.formats import OutputFormat, OutputSettings, RecordFormat, Source, WholeFormat
from lexitree.plugins import Registry

if TYPE_CHECKING:
    from lexitree.corpora.tables import Row
    from lexitree.results.document import Document
    from lexitree.results.labelled_tree import LabelledTree


def _admit(name: str, value: Any, _: object) -> type[RecordFormat] | type[WholeFormat]:
    if not (isinstance(value, type) and issubclass(value, RecordFormat | WholeFormat)):
        raise TypeError("must be a subclass of RecordFormat or WholeFormat of lexitree.pipeline.formats")
    if getattr(value, "name", None) != name or not hasattr(value, "sources"):
        raise TypeError(f"does not say what it is: its class must have name = {name!r}, and sources")
    return value


FORMATS: Registry[type[RecordFormat] | type[WholeFormat]] = Registry("format", admit=_admit)
"""The output formats by name, aliases included."""

_Format = TypeVar("_Format", bound="type[RecordFormat] | type[WholeFormat]")


def _built_in(output_format: _Format) -> _Format:
    for name in (output_format.name, *output_format.aliases):
        FORMATS.built_in[name] = output_format
    return output_format


def find_format(name: str) -> type[RecordFormat] | type[WholeFormat]:
    """The format with this name or alias."""
    return FORMATS.find(name)


def format_name(
    output: str | Path | None, source: Source, columns: Sequence[str] = (), *, asked: str | None = None
) -> str:
    """The name of the format for an output file; see `choose_format`.

    Args:
        output: The output file, perhaps with `.gz` at its end; None for standard output.
        source: What is labelled. A column of CSV stays CSV and JSON Lines stay JSON Lines unless the ending says
            otherwise; other results are JSON Lines.
        columns: The header of CSV input.
        asked: The name or alias of the format that was asked for.

    Raises:
        FileError: The ending of the file does not fit.
    """
    chosen = [] if asked is None else [find_format(asked)]
    endings = {
        each.name: each.suffixes for each in (*_formats_for(output), *chosen) if source in each.sources
    }
    name = chosen[0].name if chosen else None
    if name is not None and name not in endings:
        return name  # `open_format` says why it does not fit.
    default = "csv" if columns else "json"
    return choose_format(output, endings, asked=name, default=default, option="--format")


def _formats_for(output: str | Path | None) -> Iterable[type[RecordFormat] | type[WholeFormat]]:
    """The formats to choose from; other packages are imported only for an ending that no built-in format has."""
    built_in = [FORMATS[name] for name in FORMATS.built_in]
    suffix = "" if output is None else plain_suffix(output)
    if not suffix or any(suffix in each.suffixes for each in built_in):
        return built_in
    return [each for _, each in FORMATS.working()]


def open_format(name: str, source: Source, settings: OutputSettings) -> RecordFormat | WholeFormat:
    """A format that is ready for use.

    Raises:
        ConfigError: The format cannot write this source, or a setting would have no effect on it.
    """
    found = find_format(name)
    if source not in found.sources:
        raise _wrong_source(found, source)
    if settings.head_weights and not found.has_head_weights:
        raise ConfigError(f"--head-weights is for JSON, not for {found.name}", remedy="Add --format json.")
    if settings.guard_formulas and not found.has_formulas:
        raise ConfigError(f"--guard-formulas is for CSV, not for {found.name}", remedy="Omit it.")
    for_columns = {
        "--prefix": settings.prefix,
        "--errors": settings.errors,
        "--score": settings.score,
        "--warnings": settings.warnings,
    }
    if source == "texts" and any(for_columns.values()):
        option = next(name for name, is_given in for_columns.items() if is_given)
        raise ConfigError(f"{option} is for a column of a table", remedy="Name it with --column.")
    if source == "texts" and settings.phrases and not found.lists_phrases:
        raise ConfigError(
            "--phrases is for a table or a column", remedy="JSON, trees and pages always hold the phrases."
        )
    return found(settings)


def _wrong_source(found: type[OutputFormat], source: Source) -> ConfigError:
    usable = ", ".join(dict.fromkeys(each.name for _, each in FORMATS.working() if source in each.sources))
    problem = {
        "texts": f"the format {found.name} is for a column of a table",
        "column": f"a column cannot be written as {found.name}",
        "trees": f"the format {found.name} is for text",
    }[source]
    remedy = "Name it with --column." if source == "texts" else f"Formats that fit: {usable}."
    return ConfigError(problem, remedy=remedy)


@_built_in
class DrawingFormat(RecordFormat):
    """Trees as indented lines of text, with labels, probabilities and head words."""

    name = "tree"
    aliases = ("draw",)
    sources = frozenset({"texts", "trees"})

    def text_record(self, row: Row, document: Document) -> str:
        return "".join(f"{line}\n" for line in document.draw())

    def tree_record(self, tree: LabelledTree) -> str:
        return "".join(f"{line}\n" for line in (*tree.draw(), ""))


@_built_in
class JsonFormat(RecordFormat):
    """JSON Lines: an object for each text, row or tree."""

    name = "json"
    aliases = ("jsonl",)
    suffixes = JSON_LINES_SUFFIXES
    sources = frozenset({"texts", "column", "trees"})
    has_head_weights = True
    is_resumable = True

    def __init__(self, settings: OutputSettings | None = None) -> None:
        super().__init__(settings)
        self.settings.check_header(can_repeat=False)

    @property
    def needs_phrases(self) -> bool:
        return self.settings.column is None or self.settings.phrases

    @property
    def can_omit_phrases(self) -> bool:
        return not self.settings.phrases

    def text_record(self, row: Row, document: Document) -> str:
        if self.settings.column is None:
            return document.to_json(head_weights=self.settings.head_weights) + "\n"
        self.settings.refuse_clash([name for name, _ in row.columns], row.place)
        return to_json(dict([*row.columns, *self.settings.added_columns(document)])) + "\n"

    def tree_record(self, tree: LabelledTree) -> str:
        return to_json(tree.as_dict(head_weights=self.settings.head_weights)) + "\n"

    def record_start(self, row: Row) -> str:
        copied = {"text": row.text} if self.settings.column is None else dict(row.columns)
        return to_json(copied).removesuffix("}") + ", "


@_built_in
class BracketFormat(RecordFormat):
    """Trees in brackets, one per line, with the ids of the labels, as treebanks have them."""

    name = "brackets"
    suffixes = tuple(suffix for suffix in BRACKET_SUFFIXES if suffix != ".txt")
    """Not `.txt`, which could be any of these formats."""
    sources = frozenset({"texts", "trees"})

    def text_record(self, row: Row, document: Document) -> str:
        return "".join(f"{tree}\n" for tree in document.brackets())

    def tree_record(self, tree: LabelledTree) -> str:
        return tree.brackets() + "\n"


@_built_in
class TableFormat(RecordFormat):
    """A table with tabs between the cells: a line for each text or, with `phrases`, for each phrase."""

    name = "table"
    suffixes = (".tsv",)
    sources = frozenset({"texts"})
    lists_phrases = True

    _text_columns = ("label", "probability", "text")
    _phrase_columns = ("sentence", "phrase", "start", "end", "label", "probability", "head", "text")

    @property
    def needs_phrases(self) -> bool:
        return self.settings.phrases

    def opening(self) -> str:
        return "\t".join(self._phrase_columns if self.settings.phrases else self._text_columns) + "\n"

    def text_record(self, row: Row, document: Document) -> str:
        if self.settings.phrases:
            lines = [[phrase[name] for name in self._phrase_columns] for phrase in document.rows()]
        else:
            probability = document.probability
            lines = [[document.label, None if probability is None else f"{probability:.4f}", document.text]]
        return "".join("\t".join(map(_one_line, cells)) + "\n" for cells in lines)


@_built_in
class CsvFormat(RecordFormat):
    """CSV with the columns of the input, or a column of the texts, and those that are added."""

    name = "csv"
    suffixes = (".csv", ".tsv")
    sources = frozenset({"texts", "column"})
    lists_phrases = True
    has_formulas = True
    is_resumable = True
    is_quoted = True

    def __init__(self, settings: OutputSettings | None = None) -> None:
        super().__init__(settings)
        if self.settings.column is not None and not self.settings.columns:
            raise ConfigError(
                "JSON Lines cannot be written as CSV", remedy="Use -o FILE.jsonl, or --format json."
            )
        self.settings.check_header()

    @property
    def needs_phrases(self) -> bool:
        return self.settings.phrases

    def opening(self) -> str:
        return self._line([*(self.settings.columns or ("text",)), *self.settings.added_names])

    def text_record(self, row: Row, document: Document) -> str:
        added = [value for _, value in self.settings.added_columns(document)]
        return self._line([*self._copied(row), *added])

    def record_start(self, row: Row) -> str:
        # The empty cell stands for those that are added, and leaves the delimiter before them.
        return self._line([*self._copied(row), ""]).removesuffix("\n")

    def _copied(self, row: Row) -> list[Any]:
        return [value for _, value in row.columns] if self.settings.columns else [row.text]

    def _line(self, cells: Sequence[object]) -> str:
        from lexitree.corpora.tables import csv_line

        return csv_line(cells, self.settings.delimiter, guard_formulas=self.settings.guard_formulas)


@_built_in
class SvgFormat(WholeFormat):
    """One SVG picture with all trees below each other."""

    name = "svg"
    suffixes = (".svg",)
    sources = frozenset({"texts", "trees"})

    def text_file(self, documents: Sequence[Document]) -> str:
        return _join(documents).svg()

    def tree_file(self, trees: Sequence[LabelledTree]) -> str:
        from lexitree.views.svg import draw_svg

        return draw_svg(trees)


@_built_in
class HtmlFormat(WholeFormat):
    """One HTML page that shows why the texts have their labels."""

    name = "html"
    suffixes = HTML_SUFFIXES
    sources = frozenset({"texts", "trees"})

    def text_file(self, documents: Sequence[Document]) -> str:
        from lexitree.views.page import explanation_page

        if len(documents) == 1:
            return documents[0].html()
        # Several texts have no label in common.
        return explanation_page(_join(documents).sentences, probabilities={})

    def tree_file(self, trees: Sequence[LabelledTree]) -> str:
        from lexitree.views.page import explanation_page

        return explanation_page(trees)


def _join(documents: Sequence[Document]) -> Document:
    """All sentences in one document."""
    from lexitree.results.document import Document

    sentences = tuple(sentence for document in documents for sentence in document.sentences)
    return Document(" ".join(document.text for document in documents), sentences)


def _one_line(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())
