"""Rows of text and their documents in, what is written for each of them out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from lexitree.pipeline.document import Document
    from lexitree.pipeline.tables import AddedColumns, Row

TextForm = Literal["tree", "json", "table", "csv", "brackets", "svg", "html"]
WHOLE_FORMS: tuple[TextForm, ...] = ("svg", "html")
"""One file holds all texts, whose size is known only when all are there."""

_TABLE_OF_TEXTS = ("label", "probability", "text")
_TABLE_OF_PHRASES = ("sentence", "phrase", "start", "end", "label", "probability", "head_word", "text")


@dataclass(frozen=True)
class TextOutput:
    """How documents are written."""

    form: TextForm
    column: str | None
    """The column of the input that holds the texts; None for texts that stand alone."""
    added: AddedColumns
    columns: Sequence[str]
    """The header of the input, for CSV."""
    delimiter: str = ","
    head_weights: bool = False
    """Whether JSON has the weights of all words of a phrase."""

    def opening(self) -> str:
        """What stands before the first record."""
        from lexitree.pipeline.tables import csv_line

        if self.form == "csv":
            return csv_line([*self.columns, *self.added.names], self.delimiter)
        if self.form != "table":
            return ""
        return "\t".join(_TABLE_OF_PHRASES if self.added.phrases else _TABLE_OF_TEXTS) + "\n"

    def record(self, row: Row, document: Document) -> str:
        """What is written for one text."""
        from lexitree.pipeline.tables import csv_line, json_line

        if self.column is not None:
            columns = [*row.columns, *self.added.values(document)]
            if self.form == "csv":
                return csv_line([value for _, value in columns], self.delimiter)
            self.added.refuse_clash([name for name, _ in row.columns], row.place)
            return json_line(columns, row.place)
        if self.form == "table":
            return "".join("\t".join(cells) + "\n" for cells in _table_cells(document, self.added.phrases))
        if self.form == "brackets":
            return "".join(f"{tree}\n" for tree in document.brackets())
        if self.form == "json":
            return document.to_json(head_weights=self.head_weights) + "\n"
        return "".join(f"{line}\n" for line in document.draw())


def _table_cells(document: Document, phrases: bool) -> Iterator[Sequence[str]]:
    """Cells without tabs and line breaks; one row a text, or one a phrase."""
    if phrases:
        for row in document.rows():
            yield [_one_line(row[name]) for name in _TABLE_OF_PHRASES]
    else:
        yield [_one_line(value) for value in (document.label, _share(document.probability), document.text)]


def _share(probability: float | None) -> str:
    return "" if probability is None else f"{probability:.4f}"


def _one_line(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())


def whole_file(documents: Iterable[Document], form: TextForm) -> str:
    """All documents in one picture or on one page."""
    from lexitree.pipeline.document import Document
    from lexitree.views.page import explanation_page

    found = list(documents)
    sentences = tuple(sentence for document in found for sentence in document.sentences)
    everything = Document(" ".join(document.text for document in found), sentences)
    if form == "svg":
        return everything.svg()
    explanation = everything.explanation()
    # Texts that stand beside each other have no label together.
    return explanation_page(explanation if len(found) == 1 else replace(explanation, probabilities={}))
