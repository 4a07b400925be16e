"""What an output format is: the classes to subclass for one more way to write labelled texts and trees.

To add one, subclass `RecordFormat` (a record for each text or tree, one after the other) or `WholeFormat` (one file
that holds all of them), give it a `name`, and say in `sources` what it can write. Those of this package are in
`known_formats`; in your own program or package it is registered as everything else is, see `lexitree.plugins`:

    @lexitree.register("format", "labels")
    class LabelFormat(RecordFormat):
        name = "labels"
        sources = frozenset({"texts"})

        def text_record(self, row, document):
            return f"{document.label}\\n"

`lexitree predict --format labels` then works. This module imports nothing heavy, so that `--help` stays quick.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar

from lexitree.errors import Place, TableError

if TYPE_CHECKING:
    from lexitree.corpora.tables import Row
    from lexitree.results.document import Document
    from lexitree.results.labelled_tree import LabelledTree

PHRASE_NAMES = ("start", "end", "text", "label", "probability", "score", "head")
"""What is said of a phrase where all phrases stand in one cell of a table."""

Source = Literal["texts", "column", "trees"]
"""What is labelled: texts that stand alone, a column of a table, or trees."""


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """What is written, whatever the format."""

    column: str | None = None
    """The column of the input that holds the texts; None for texts that stand alone."""
    columns: tuple[str, ...] = ()
    """The header of CSV input."""
    delimiter: str = ","
    """What separates the cells of CSV output."""
    prefix: str = ""
    """Put before the names of added columns, where the input has columns of these names."""
    phrases: bool = False
    """Whether to add the phrases to a column, or to list them in a table."""
    head_weights: bool = False
    """Whether JSON holds the weights of all words of a phrase, not only its head word's."""
    guard_formulas: bool = False
    """Whether cells of CSV that spreadsheets would take for formulas get an apostrophe."""
    header_place: Place | None = None
    """Where the header of CSV input stands, for error messages."""
    score: bool = False
    """Whether to add the score to a column."""
    errors: bool = False
    """Whether to add why a text was refused to a column."""
    warnings: bool = False
    """Whether to add to a column why the label of a text may mean nothing."""
    keeps_refused: bool = False
    """Whether a text that is refused has a record all the same, that of a text without words."""

    @property
    def added_names(self) -> list[str]:
        """The names of the columns that are added to those of the input."""
        asked = {
            "label": True,
            "score": self.score,
            "probability": True,
            "phrases": self.phrases,
            "warning": self.warnings,
            "error": self.errors,
        }
        return [self.prefix + name for name, is_asked in asked.items() if is_asked]

    def added_columns(self, document: Document) -> list[tuple[str, Any]]:
        """The columns that are added to a row: `label`, `probability` and those that are asked for."""
        from lexitree.arrays import rounded

        values: list[Any] = [document.label, rounded(document.probability)]
        if self.score:
            values.insert(1, rounded(document.score))
        if self.phrases:
            values.append([{name: row[name] for name in PHRASE_NAMES} for row in document.rows()])
        if self.warnings:
            values.append("; ".join(document.notes) if document.notes and document.sentences else None)
        if self.errors:
            # Of a text that was labelled, the notes tell what was cut.
            values.append(" ".join(document.notes) if document.notes and not document.sentences else None)
        return list(zip(self.added_names, values, strict=True))

    def check_header(self, *, can_repeat: bool = True) -> None:
        """Raise an error if the columns of CSV input clash with those that are added, or with each other."""
        place = self.header_place or Place("input", 1)
        self.refuse_clash(self.columns, place)
        if not can_repeat and len(set(self.columns)) < len(self.columns):
            raise TableError(
                place, "two columns have the same name, which JSON cannot hold", remedy="Write CSV."
            )

    def refuse_clash(self, columns: Iterable[str], place: Place) -> None:
        """Raise an error if an added column would overwrite one of the input's."""
        clash = next((name for name in columns if name in self.added_names), None)
        if clash is not None:
            raise TableError(
                place,
                f"the input already has a column {clash!r}",
                remedy='Rename the added columns, for example with --prefix predicted_ (prefix="predicted_")',
            )


class OutputFormat:
    """A way to write labelled texts and trees; see `RecordFormat` and `WholeFormat`."""

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    suffixes: ClassVar[tuple[str, ...]] = ()
    """Output files with these endings are written in this format unless another is asked for."""
    sources: ClassVar[frozenset[Source]]
    lists_phrases: ClassVar[bool] = False
    """Whether `phrases` makes a difference for texts that stand alone."""
    has_head_weights: ClassVar[bool] = False
    """Whether `head_weights` makes a difference."""
    has_formulas: ClassVar[bool] = False
    """Whether `guard_formulas` makes a difference."""

    def __init__(self, settings: OutputSettings | None = None) -> None:
        self.settings = settings or OutputSettings()

    @property
    def needs_phrases(self) -> bool:
        """Whether it shows phrases; if not, whole sentences are labelled only, which is faster."""
        return True

    @property
    def can_omit_phrases(self) -> bool:
        """Whether it can be written where whole sentences are labelled only."""
        return not self.needs_phrases


class RecordFormat(OutputFormat):
    """A format with a record for each text or tree, written as soon as it is labelled."""

    is_resumable: ClassVar[bool] = False
    """Whether an interrupted output can be continued; `record_start` must then be implemented."""
    is_quoted: ClassVar[bool] = False
    """Whether quotes may enclose line breaks, which then do not end a record."""

    def opening(self) -> str:
        """What is written before the first record."""
        return ""

    def text_record(self, row: Row, document: Document) -> str:
        """The record of a labelled text, with its line break."""
        raise NotImplementedError

    def tree_record(self, tree: LabelledTree) -> str:
        """The record of a labelled tree, with its line break."""
        raise NotImplementedError

    def record_start(self, row: Row) -> str:
        """What the record of a row begins with, whatever its labels; `--resume` knows records by it."""
        raise NotImplementedError


class WholeFormat(OutputFormat):
    """A format that holds everything in one picture or page, written when all is labelled."""

    def text_file(self, documents: Sequence[Document]) -> str:
        """All texts in one file."""
        raise NotImplementedError

    def tree_file(self, trees: Sequence[LabelledTree]) -> str:
        """All trees in one file."""
        raise NotImplementedError


class ValuesFormat(OutputFormat):
    """The values that are added to each row, for tables of Arrow and pandas, which hold the other columns."""

    @property
    def needs_phrases(self) -> bool:
        return self.settings.phrases

    def text_record(self, row: Row, document: Document) -> list[Any]:
        """The values of the added columns, in their order."""
        return [value for _, value in self.settings.added_columns(document)]


Record_co = TypeVar("Record_co", covariant=True)


class RowFormat(Protocol[Record_co]):
    """What makes a record of a labelled text, whatever that is."""

    settings: OutputSettings

    @property
    def needs_phrases(self) -> bool:
        """Whether it shows phrases."""
        ...

    def text_record(self, row: Row, document: Document) -> Record_co:
        """The record of a labelled text."""
        ...
