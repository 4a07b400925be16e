"""Reads texts that may have a label, labelled spans, both or neither: tables of texts, and files of spans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from lexitree.corpora.corpus import SplitName
from lexitree.corpora.text_files import read_texts
from lexitree.corpora.text_tables import TableSettings
from lexitree.corpora.treebank import find_split_file
from lexitree.errors import Place, TableError
from lexitree.files import display_name, read_lines
from lexitree.trees.jsonl import parse_json_line
from lexitree.trees.tree import NO_LABEL

SPANS_SUFFIX = ".spans.jsonl"
"""What a file of texts with labelled spans ends with, before .gz."""
_A_SPAN = '{"start": integer, "end": integer, "label": string}, and may have a "kind"'


class LabelledSpan(NamedTuple):
    """A part of a text, in characters, that has a label of its own."""

    start: int
    end: int
    label: str
    kind: str = ""
    """What it marks, such as an opinion, or the aspect that an opinion is about."""


class AnnotatedText(NamedTuple):
    """A text with what is known about it."""

    text: str
    label: str
    """The label of the whole text; "" for none."""
    spans: tuple[LabelledSpan, ...]
    place: Place


def is_span_file(path: str | Path) -> bool:
    """Whether the name of a file says that it has texts with spans."""
    return str(path).removesuffix(".gz").endswith(SPANS_SUFFIX)


def annotated_files(folder: Path, split: SplitName) -> list[Path]:
    """The files of a split in a folder: a table of texts, a file of spans, or both."""
    spans = [folder / f"{split}{SPANS_SUFFIX}{packed}" for packed in ("", ".gz")]
    table = find_split_file(folder, split)
    return [*([table] if table else []), *(path for path in spans if path.is_file())]


def read_annotated(
    paths: list[Path], settings: TableSettings | None = None, encoding: str = "utf-8"
) -> list[AnnotatedText]:
    """Read the texts of some files; spans of a text that has a row in a table are added to that row.

    Raises:
        InputError: A row or line is malformed.
        FileError: A file cannot be read.
    """
    rows: list[AnnotatedText] = []
    for path in sorted(paths, key=is_span_file):
        if is_span_file(path):
            rows = _merge(rows, _read_spans(path, encoding))
        else:
            found = read_texts(path, settings, encoding=encoding).rows
            rows += [AnnotatedText(row.text, row.label, (), row.place) for row in found]
    return rows


def _merge(rows: list[AnnotatedText], others: Iterator[AnnotatedText]) -> list[AnnotatedText]:
    """Add spans to the first row with the same text; a label that the row has already stays."""
    merged = list(rows)
    places: dict[str, int] = {}
    for number, row in enumerate(rows):
        places.setdefault(row.text, number)
    for other in others:
        number = places.get(other.text)
        if number is None:
            merged.append(other)
        else:
            own = merged[number]
            merged[number] = own._replace(label=own.label or other.label, spans=(*own.spans, *other.spans))
    return merged


def _read_spans(path: Path, encoding: str) -> Iterator[AnnotatedText]:
    name = display_name(path)
    for number, line in read_lines(path, encoding):
        if line.strip():
            yield _annotated(parse_json_line(line, number, name), Place(name, number))


def _annotated(values: Mapping[str, Any], place: Place) -> AnnotatedText:
    text, label, spans = values.get("text"), values.get("label", NO_LABEL), values.get("spans", [])
    if not isinstance(text, str) or not text.strip():
        raise TableError(place, 'there is no text: "text" must be a string with words in it')
    if not isinstance(label, str):
        raise TableError(place, f'"label" must be a string, not {label!r:.40}')
    if not isinstance(spans, list):
        raise TableError(place, '"spans" must be a list of objects')
    found = tuple(_span(span, len(text), place) for span in cast(list[object], spans))
    return AnnotatedText(text, label.strip(), found, place)


def _span(value: object, length: int, place: Place) -> LabelledSpan:
    if not isinstance(value, dict):
        raise TableError(place, f"a span is an object {_A_SPAN}")
    fields = cast(dict[str, object], value)
    start, end, label, kind = (fields.get(name) for name in ("start", "end", "label", "kind"))
    # `type` and not `isinstance`: true and false are not positions.
    if type(start) is not int or type(end) is not int or not isinstance(label, str) or not label.strip():
        raise TableError(place, f"a span is an object {_A_SPAN}")
    if not 0 <= start < end <= length:
        raise TableError(
            place,
            f"a span from {start} to {end} is not in the text, which has {length:,} characters",
            remedy="Positions count characters from 0, and a span ends before the character at `end`.",
        )
    return LabelledSpan(start, end, label.strip(), kind if isinstance(kind, str) else "")
