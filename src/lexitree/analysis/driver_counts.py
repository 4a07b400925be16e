"""Counts which phrases and head words make texts negative or positive, or give them any other label.

A *driver* is a word under which phrases are gathered: the head word, in lower case, of the smallest phrases that have
a label. Sentiments and other scales have two kinds of drivers, negative and positive ones; other label sets have
drivers of each label.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, NamedTuple

from lexitree.analysis.driver_mentions import ReadText, folded, read_document
from lexitree.analysis.driver_report import Driver, DriverReport, ExampleText, Mention
from lexitree.errors import ConfigError
from lexitree.evaluation.intervals import Share
from lexitree.results.document import Document
from lexitree.text.columns import column_values, is_null

MAX_GROUPS = 60
"""More groups cannot be compared on a page: two values of a column, the months of some years."""
NUM_EXAMPLES = 3
NUM_PHRASES = 3
"""How many examples, and how many of its commonest phrases, are kept of each driver."""

_EDGES = ' .,;:!?…-–—/"`“”()[]'
"""What is cut off the ends of a phrase where phrases are counted."""


def find_drivers(
    documents: Iterable[Document], *, groups: Any = None, by: str = "group", num_examples: int = NUM_EXAMPLES
) -> DriverReport:
    """Count which phrases and head words make texts negative or positive, or give them any other label.

        pipe = lexitree.load("sentiment")
        report = lexitree.find_drivers(pipe(reviews["comment"]), groups=reviews["store"], by="store")
        report.to_dataframe()
        report.save("report.html")

    A phrase counts if it has a label, its head word explains something (see `explains`), and no phrase inside it does
    so, too. It is counted under its head word in lower case, or, if the model has no head words, under its own words.
    Drivers are ordered by their excess: how many more of their texts have the label than of as many other texts.

    Args:
        documents: The labelled texts, of one model; empty ones are left out.
        groups: The group of each text, such as a shop or a month, to compare them: a list or column. Texts without a
            group are left out of the comparison.
        by: What the groups are called.
        num_examples: How many texts are kept of each driver.

    Returns:
        Counts, shares with intervals, and examples; a page, a table or a data frame by its methods.

    Raises:
        ConfigError: There are more groups than a page can show, or not one for each document; or documents have
            labels of different models.
    """
    counter = DriverCounter(by=by if groups is not None else "", num_examples=num_examples)
    values = repeat(None) if groups is None else iter(column_values(groups))
    for row, document in enumerate(documents, 1):
        value = next(values, values)
        if value is values:
            raise ConfigError(f"there are fewer groups than documents: none for document {row}")
        counter.add(read_document(document), row, group=None if is_null(value) else str(value))
    if groups is not None and next(values, values) is not values:
        raise ConfigError("there are more groups than documents")
    return counter.report()


@dataclass
class _Found:
    """What has been counted of one driver."""

    num_occurrences: int = 0
    num_texts: int = 0
    num_labelled: int = 0
    phrases: Counter[str] = field(default_factory=Counter[str])
    by_group: Counter[str] = field(default_factory=Counter[str])
    examples: list[_RankedExample] = field(default_factory=list["_RankedExample"])
    """The best so far, best first."""


class _RankedExample(NamedTuple):
    """An example is better in a text that has the label itself, if it is surer, and in an earlier row."""

    is_labelled: bool
    probability: float
    minus_row: int
    mention: Mention
    text: ExampleText


class DriverCounter:
    """Counts the drivers of texts, one text at a time.

    Args:
        by: What the groups of texts are called; "" if there are none.
        num_examples: How many texts are kept of each driver.
    """

    def __init__(self, *, by: str = "", num_examples: int = NUM_EXAMPLES) -> None:
        self.by = by
        self.num_examples = num_examples
        self.labels: tuple[str, ...] = ()
        self.num_empty = self.num_without_group = 0
        self._texts: dict[str | None, Counter[str]] = defaultdict(Counter)
        """The labels of all texts (None) and of those of each group."""
        self._found: dict[tuple[str, str], _Found] = defaultdict(_Found)

    def add(self, text: ReadText, row: int, *, group: str | None = None, place: str = "") -> None:
        """Count a text.

        Args:
            text: The text.
            row: Its number among all texts, from 1.
            group: The group it belongs to, if any.
            place: Where it stands, such as `reviews.csv:17`.
        """
        if text.label is None:
            self.num_empty += 1
            return
        self.labels = self.labels or text.labels
        if text.labels != self.labels:
            raise ConfigError(
                f"text {row} was labelled by a model with other labels than the texts before it"
            )
        self._texts[None][text.label] += 1
        if self.by and not group:
            self.num_without_group += 1
        elif self.by:
            self._texts[group][text.label] += 1
            if len(self._texts) > MAX_GROUPS + 1:
                raise ConfigError(
                    f"{self.by} has more than {MAX_GROUPS} different values, too many to compare",
                    remedy="Choose a column with fewer values; of dates, for example, the months: --by date:month",
                )
        mentions: dict[tuple[str, str], list[Mention]] = defaultdict(list)
        for mention in text.mentions:
            mentions[mention.label, mention.head].append(mention)
        example = ExampleText(row, text.text, text.label, group or "", place)
        for key, each in mentions.items():
            self._count(self._found[key], each, example)

    def _count(self, found: _Found, mentions: Sequence[Mention], text: ExampleText) -> None:
        is_labelled = text.label == mentions[0].label
        found.num_occurrences += len(mentions)
        found.num_texts += 1
        found.num_labelled += is_labelled
        if text.group:
            found.by_group[text.group] += 1
        found.phrases.update(folded(text.text[each.start : each.end]).strip(_EDGES) for each in mentions)
        surest = max(mentions, key=lambda each: each.probability)
        found.examples.append(_RankedExample(is_labelled, surest.probability, -text.row, surest, text))
        found.examples.sort(reverse=True)
        del found.examples[self.num_examples :]

    def report(self, *, source: str = "") -> DriverReport:
        """What has been counted so far; `source` is where the texts come from."""
        counts = {group: self._texts[group] for group in (None, *_in_order(self._texts))}
        shares = self._label_shares(None)
        drivers = sorted(
            (self._driver(*key, found, shares, counts) for key, found in self._found.items()),
            key=lambda each: (self.labels.index(each.label), -each.excess, -each.texts.count, each.head),
        )
        return DriverReport(
            labels=self.labels,
            text_labels=shares,
            drivers=tuple(drivers),
            num_empty=self.num_empty,
            source=source,
            by=self.by,
            groups={group: self._label_shares(group) for group in counts if group is not None},
            num_without_group=self.num_without_group,
        )

    def _label_shares(self, group: str | None) -> dict[str, Share]:
        counts = self._texts[group]
        return {label: Share(counts[label], counts.total()) for label in self.labels}

    def _driver(
        self,
        label: str,
        head: str,
        found: _Found,
        shares: Mapping[str, Share],
        counts: Mapping[str | None, Counter[str]],
    ) -> Driver:
        return Driver(
            label=label,
            head=head,
            num_occurrences=found.num_occurrences,
            texts=Share(found.num_texts, shares[label].total),
            labelled=Share(found.num_labelled, found.num_texts),
            excess=round(found.num_labelled - found.num_texts * shares[label].value, 6),
            phrases=tuple(sorted(found.phrases.items(), key=lambda pair: (-pair[1], pair[0]))[:NUM_PHRASES]),
            examples=tuple((each.text, each.mention) for each in found.examples),
            groups={
                group: Share(found.by_group[group], counts[group].total())
                for group in counts
                if group is not None
            },
        )


def _in_order(groups: Iterable[str | None]) -> list[str]:
    """The groups as people list them: numbers by size, all others alphabetically, which sorts dates by time."""
    names = [group for group in groups if group is not None]
    try:
        return sorted(names, key=lambda name: (float(name), name))
    except ValueError:
        return sorted(names)
