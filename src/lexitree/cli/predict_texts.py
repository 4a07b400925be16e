"""A labeller and inputs of text in, labelled texts out: each written as soon as it is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from lexitree.cli.text_output import WHOLE_FORMS, TextForm, TextOutput, whole_file
from lexitree.errors import ConfigError, Place

if TYPE_CHECKING:
    from lexitree.cli.text_inputs import Inputs
    from lexitree.cli.text_labelling import TextLabeller
    from lexitree.cli.text_workers import TextWorkers
    from lexitree.pipeline.document import Document
    from lexitree.pipeline.tables import Row

COLUMN_FORMS: tuple[TextForm, ...] = ("csv", "json")
FORMS_OF_FILES: dict[str, TextForm] = {
    ".svg": "svg",
    ".html": "html",
    ".htm": "html",
    ".tsv": "table",
    ".csv": "csv",
}


@dataclass(frozen=True)
class TextJob:
    """One call of `lexitree predict` on text."""

    labeller: TextLabeller | TextWorkers
    source: Inputs
    output: Path | None
    column: str | None
    prefix: str
    phrases: bool
    head_weights: bool = False

    def run(self, form: TextForm | None, *, resume: bool) -> None:
        """Label all texts and write them, from where a stopped run has left off if that is asked for."""
        rows, columns = self._rows()
        output = self._text_output(form, columns)
        if output.form in WHOLE_FORMS:
            documents = (document for _, document in self._one_process().documents(rows))
            self._write_whole(documents, output.form, resume)
            return
        from lexitree.cli.console import output as screen
        from lexitree.cli.text_progress import text_progress

        with self._open(rows, output, resume) as (write, num_done):
            on_its_own = self.output is not None or not screen.is_terminal
            quoted = self.column is not None and bool(columns)
            with text_progress(on_its_own, self.source.files, quoted=quoted, done=num_done) as advance:
                if output.form == "tree" and self.output is None:
                    for _, document in self._one_process().documents(rows):
                        _show(document)
                        advance()
                    return
                for record in self.labeller.records(rows, output):
                    write(record)
                    advance()

    def _one_process(self) -> TextLabeller:
        """What gives whole documents, which other processes do not send."""
        from lexitree.cli.text_labelling import TextLabeller

        if not isinstance(self.labeller, TextLabeller):
            raise ConfigError(
                "--jobs is for records, one after the other, not for pictures, pages and trees on the screen",
                remedy="Use --format json, table, csv or brackets, or leave --jobs out.",
            )
        return self.labeller

    def _rows(self) -> tuple[Iterator[Row], Sequence[str]]:
        """The rows of all inputs, and the header of CSV."""
        if self.column is None:
            return self.source.rows(), ()
        tables = self.source.tables(self.column)
        return chain.from_iterable(tables), tables[0].columns

    def _text_output(self, form: TextForm | None, columns: Sequence[str]) -> TextOutput:
        from lexitree.pipeline.tables import AddedColumns

        added = AddedColumns(self.prefix, self.phrases)
        form = form or self._default_form(columns)
        if self.column is None and (form == "csv" or self.prefix):
            raise ConfigError("CSV and --prefix are for a column of a table", remedy="Name it with --column.")
        if self.column is None and self.phrases and form != "table":
            raise ConfigError(
                "--phrases is for a table or a column",
                remedy="JSON, trees and pages have the phrases as it is.",
            )
        if self.column is not None and form not in COLUMN_FORMS:
            raise ConfigError(f"a column cannot be labelled as {form}", remedy="Use --format csv or json.")
        if self.head_weights and form != "json":
            raise ConfigError(f"--head-weights is for JSON, not for {form}", remedy="Add --format json.")
        if form == "csv":
            if not columns:
                raise ConfigError("JSON Lines cannot be written as CSV", remedy="Use --format json.")
            added.refuse_clash(columns, Place(str(self.source.arguments[0]), 1))
        return TextOutput(form, self.column, added, columns, self._delimiter(), self.head_weights)

    def _default_form(self, columns: Sequence[str]) -> TextForm:
        from lexitree.cli.console import output as screen

        suffix = "" if self.output is None else self.output.suffix.lower()
        if self.column is not None:
            return "csv" if columns and suffix not in (".jsonl", ".ndjson") else "json"
        if suffix in FORMS_OF_FILES:
            return FORMS_OF_FILES[suffix]
        return "tree" if self.output is None and screen.is_terminal else "json"

    def _delimiter(self) -> str:
        named = self.output if self.output is not None else self.source.arguments[0]
        return "\t" if str(named).endswith(".tsv") else ","

    def _write_whole(self, documents: Iterable[Document], form: TextForm, resume: bool) -> None:
        from lexitree.cli.resumption import refuse_resumption
        from lexitree.cli.streams import open_output

        if resume:
            refuse_resumption()
        with open_output(self.output) as write:
            write(whole_file(documents, form))

    @contextmanager
    def _open(
        self, rows: Iterator[Row], output: TextOutput, resume: bool
    ) -> Generator[tuple[Callable[[str], object], int]]:
        """A function that writes, and how many texts are written already."""
        from lexitree.cli.resumption import find_resumption, open_appended, skip_done
        from lexitree.cli.streams import open_output

        if not resume:
            with open_output(self.output) as plain_write:
                write = _flushing(plain_write) if self.output is None else plain_write
                write(output.opening())
                yield write, 0
            return
        resumption = find_resumption(self.output, output)
        skip_done(rows, resumption, output)
        with open_appended(resumption.path) as write:
            if resumption.is_empty:
                write(output.opening())
            yield write, resumption.num_done


def _show(document: Document) -> None:
    """The trees of a document on standard output, with colours where that is a screen."""
    from lexitree.cli.console import show_tree

    for sentence in document.sentences:
        prediction = sentence.prediction
        named = prediction.named_tree(prediction.label_names)
        show_tree(named, prediction.notes(), sentence.label_names)


def _flushing(write: Callable[[str], object]) -> Callable[[str], object]:
    """For standard output: each text is seen as soon as it is done."""

    def write_now(text: str) -> None:
        write(text)
        sys.stdout.flush()

    return write_now
