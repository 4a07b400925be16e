"""The drivers that were counted in some texts: as rows, a data frame, JSON, CSV or a page."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from lexitree.arrays import rounded
from lexitree.evaluation.intervals import Share
from lexitree.files import HTML_SUFFIXES, choose_format, to_json
from lexitree.results.document import make_dataframe
from lexitree.writing import open_output

if TYPE_CHECKING:
    import pandas

DRIVER_COLUMNS: tuple[str, ...] = (
    "label",
    "head",
    "group",
    "texts",
    "occurrences",
    "share",
    "share_low",
    "share_high",
    "labelled",
    "labelled_share",
    "labelled_low",
    "labelled_high",
    "excess",
    "phrases",
    "rows",
)
"""What is said of a driver in a row of a table."""

ReportFormat = Literal["page", "csv", "tsv", "json"]
_ENDINGS: dict[str, tuple[str, ...]] = {
    "page": HTML_SUFFIXES,
    "csv": (".csv",),
    "tsv": (".tsv",),
    "json": (".json",),
}
"""What a report can be saved as."""


class Mention(NamedTuple):
    """A phrase that counts for a driver, with its place in the text."""

    label: str
    head: str
    start: int
    end: int
    probability: float


class ExampleText(NamedTuple):
    """A text in which a driver was found."""

    row: int
    """Its number among all texts, from 1."""
    text: str
    label: str
    """Its own label."""
    group: str = ""
    place: str = ""
    """The file and line it comes from."""


@dataclass(frozen=True, slots=True)
class Driver:
    """A head word under which phrases of one label were counted."""

    label: str
    """What it makes a text: an end of the scale, or a label."""
    head: str
    num_occurrences: int
    """How many phrases have it as their head."""
    texts: Share
    """The texts that have such a phrase, among all texts."""
    labelled: Share
    """Those among them that have the label themselves."""
    excess: float
    """How many more these are than among as many texts of all."""
    phrases: tuple[tuple[str, int], ...]
    """The commonest phrases, in lower case, with their counts."""
    examples: tuple[tuple[ExampleText, Mention], ...]
    """Texts that have it, the surest first, each with the phrase."""
    groups: Mapping[str, Share]
    """The texts of each group that have such a phrase, among all texts of the group."""

    @property
    def change(self) -> tuple[float, tuple[float, float]] | None:
        """The difference of the last group's share to the first group's, with its interval; None without groups."""
        shares = list(self.groups.values())
        return shares[-1].change_from(shares[0]) if len(shares) > 1 else None


@dataclass(frozen=True, repr=False)
class DriverReport:
    """The drivers of some texts; `lexitree.find_drivers` makes one."""

    labels: tuple[str, ...]
    """The labels of texts, in their order; of a scale, negative, neutral and positive."""
    text_labels: Mapping[str, Share]
    """How many texts have each label."""
    drivers: tuple[Driver, ...]
    """By label, and then by excess."""
    num_empty: int = 0
    """Texts without words, which are not counted."""
    source: str = ""
    """Where the texts come from."""
    by: str = ""
    """What the groups are called."""
    groups: Mapping[str, Mapping[str, Share]] | None = None
    """How many texts of each group have each label."""
    num_without_group: int = 0
    """Texts without a group, which are left out of the comparison."""

    @property
    def num_texts(self) -> int:
        """How many texts were counted."""
        return sum(share.count for share in self.text_labels.values())

    def of(self, label: str, most: int | None = None) -> tuple[Driver, ...]:
        """The drivers of a label, by excess; at most so many."""
        return tuple(driver for driver in self.drivers if driver.label == label)[:most]

    def rows(self) -> list[dict[str, Any]]:
        """One flat row per driver and, if there are groups, one more for each group; keys are `DRIVER_COLUMNS`."""
        return [row for driver in self.drivers for row in _driver_rows(driver)]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values for JSON."""
        return {
            "source": self.source,
            "num_texts": self.num_texts,
            "num_empty": self.num_empty,
            "labels": {label: _share(share) for label, share in self.text_labels.items()},
            "by": self.by or None,
            "num_without_group": self.num_without_group,
            "groups": {
                group: {label: _share(share) for label, share in shares.items()}
                for group, shares in (self.groups or {}).items()
            },
            "drivers": [_driver_record(driver) for driver in self.drivers],
        }

    def to_dataframe(self) -> pandas.DataFrame:
        """The rows as a pandas data frame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return make_dataframe(self.rows(), DRIVER_COLUMNS)

    def html(self, *, most: int = 25) -> str:
        """A page that needs nothing else, with plots, tables and examples.

        Args:
            most: How many drivers of each label are shown.
        """
        from lexitree.analysis.driver_page import driver_page

        return driver_page(self, most=most)

    def save(self, path: str | Path, *, most: int = 25) -> None:
        """Write the report to a file, by its ending: a page (.html), or all drivers as .csv, .tsv or .json.

        Raises:
            FileError: The ending is none of these, or the file cannot be written.
        """
        kind = report_format(path)
        if kind == "page":
            text = self.html(most=most)
        elif kind == "json":
            text = to_json(self.as_dict(), indent=2) + "\n"
        else:
            text = self._table("\t" if kind == "tsv" else ",")
        with open_output(path) as write:
            write(text)

    def _table(self, delimiter: str) -> str:
        table = StringIO()
        writer = csv.DictWriter(table, DRIVER_COLUMNS, delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows())
        return table.getvalue()

    def __repr__(self) -> str:
        drivers = ", ".join(f"{len(self.of(label))} {label}" for label in self.labels if self.of(label))
        return f"DriverReport({self.num_texts:,} texts; drivers: {drivers or 'none'})"

    def _repr_html_(self) -> str:
        from lexitree.analysis.driver_page import notebook_drivers

        return notebook_drivers(self)


def report_format(path: str | Path) -> ReportFormat:
    """What is written into a file, by its ending.

    Raises:
        FileError: No report is written with such an ending.
    """
    return cast(ReportFormat, choose_format(path, _ENDINGS, can_compress=False))


def _driver_rows(driver: Driver) -> list[dict[str, Any]]:
    of_driver = {"label": driver.label, "head": driver.head}
    everywhere = {
        **of_driver,
        "group": None,
        "texts": driver.texts.count,
        "occurrences": driver.num_occurrences,
        **_estimate(driver.texts, "share", "share_low", "share_high"),
        "labelled": driver.labelled.count,
        **_estimate(driver.labelled, "labelled_share", "labelled_low", "labelled_high"),
        "excess": driver.excess,
        "phrases": "; ".join(f"{phrase} ({count})" for phrase, count in driver.phrases),
        "rows": " ".join(str(text.row) for text, _ in driver.examples),
    }
    in_groups = [
        {
            **dict.fromkeys(DRIVER_COLUMNS),
            **of_driver,
            "group": group,
            "texts": share.count,
            **_estimate(share, "share", "share_low", "share_high"),
        }
        for group, share in driver.groups.items()
    ]
    return [everywhere, *in_groups]


def _driver_record(driver: Driver) -> dict[str, Any]:
    change = driver.change
    return {
        "label": driver.label,
        "head": driver.head,
        "occurrences": driver.num_occurrences,
        "texts": _share(driver.texts),
        "labelled": _share(driver.labelled),
        "excess": driver.excess,
        "phrases": dict(driver.phrases),
        "examples": [
            {"row": text.row, "place": text.place or None, "text": text.text, "label": text.label}
            | {"start": mention.start, "end": mention.end, "probability": mention.probability}
            for text, mention in driver.examples
        ],
        "groups": {group: _share(share) for group, share in driver.groups.items()},
        "change": change
        and dict(zip(("difference", "low", "high"), rounded([change[0], *change[1]]), strict=True)),
    }


def _share(share: Share) -> dict[str, Any]:
    return {"count": share.count, "total": share.total, **_estimate(share, "share", "low", "high")}


def _estimate(share: Share, value: str, low: str, high: str) -> dict[str, float]:
    """A share and the ends of its interval, under these names."""
    return dict(zip((value, low, high), rounded([share.value, *share.interval]), strict=True))
