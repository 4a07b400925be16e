"""Reports: tables and pictures of an experiment, rendered as Markdown or in a terminal."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lexitree.models.model_config import DEFAULT_MODEL
from lexitree.views.visible import shown_word

NOT_RUN = "–"
NOT_MEASURED = "*Not measured yet.*"
_APPROXIMATED = "approx"
"""In the name of a vector file: the vectors approximate the real ones, and every table must say so."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text cells, ready for a terminal or a page."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    title: str = ""
    """Empty if the experiment's title is enough."""
    num_text_columns: int = 1
    """Number of leading columns with text, aligned left; the others are figures."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a record."""

    file: str
    caption: str


@dataclass(frozen=True, slots=True)
class Report:
    """The tables and pictures of an experiment."""

    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()


def to_markdown(report: Report) -> str:
    """Render a report as Markdown, with its pictures in the folder `images` beside the page."""
    parts = [f"![{picture.caption}](images/{picture.file})" for picture in report.pictures]
    parts += [table_to_markdown(table) for table in report.tables]
    return "\n\n".join(parts) or NOT_MEASURED


def table_to_markdown(table: Table) -> str:
    """Render a table with its title and notes."""
    sides = ["---" if place < table.num_text_columns else "---:" for place in range(len(table.columns))]
    lines = [_line(table.columns), _line(sides), *map(_line, table.rows)]
    title = f"{table.title[0].upper()}{table.title[1:]}:\n\n" if table.title else ""
    notes = f"\n\n{'; '.join(table.notes)}." if table.notes else ""
    return title + "\n".join(lines) + notes


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def training_notes(trained: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return notes on the models behind figures: seeds, epochs, approximated vectors."""
    known = list(trained)
    spans = sorted({(one["recipe"]["training"]["epochs"], len(one["seeds"])) for one in known})
    notes = [f"{_counted(seeds, 'seed')}, {_counted(epochs, 'epoch')}" for epochs, seeds in spans]
    vectors = {one["recipe"]["vectors"] for one in known}
    if any(name and _APPROXIMATED in name for name in vectors):
        notes.append("the word vectors are an approximation of GloVe 840B")
    if None in vectors:
        own = sorted(
            {
                one["recipe"]["model"].get("model", DEFAULT_MODEL)
                for one in known
                if not one["recipe"]["vectors"]
            }
        )
        whose = f" ({', '.join(own)})" if len(vectors) > 1 else ""
        notes.append(f"without pretrained word vectors{whose}")
    return notes


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")


def spread(shares: Sequence[float]) -> str:
    """Format the mean in percent, with the deviation if there are several values."""
    mean = f"{100 * statistics.fmean(shares):.1f}"
    return f"{mean} ± {100 * statistics.stdev(shares):.1f}" if len(shares) > 1 else mean


def list_counts(counts: Mapping[str, int], names: Mapping[str, str]) -> str:
    """Format counted words, such as `film 3, not 2`, or the names that stand for them."""
    shown = [f"{shown_word(names.get(word, word))} {count}" for word, count in counts.items()]
    return ", ".join(shown) or NOT_RUN


def percent(share: float | None) -> str:
    return NOT_RUN if share is None else f"{100 * share:.1f}"
