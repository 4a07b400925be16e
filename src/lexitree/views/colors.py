"""The colours and marks that tell labels apart in terminals, pictures and pages.

Ordered labels (sentiments, numbers) get a ramp, others a colour each. On a page a label also has a mark (`+`, `−`),
so that nothing depends on colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lexitree.labels import SENTIMENTS, LabelSet
from lexitree.trees.tree import NO_LABEL
from lexitree.views.visible import visible

# From red over grey to blue: people who cannot tell red from green still see which end is which.
_COLOR_RAMP = ("#b2182b", "#ef9a80", "#e6e6e6", "#8fbfdf", "#2166ac")
_COLORS = ("#8dd3c7", "#fdb462", "#bebada", "#fb8072", "#80b1d3", "#b3de69", "#fccde5", "#d9d9d9", "#bc80bd")
_STRONG_COLORS = frozenset({_COLOR_RAMP[0], _COLOR_RAMP[-1]})
"""Text on these is light."""

LONGEST_MARK = 4
NO_LABEL_CLASS = "lt-none"

_SENTIMENT_MARKS = dict(zip(SENTIMENTS, ("−−", "−", "○", "+", "++"), strict=True))


def label_colors(labels: LabelSet) -> dict[str, str]:
    """A colour for each label, by its name, on light ground."""
    if labels.polarity is None:
        return {name: _COLORS[place % len(_COLORS)] for place, name in enumerate(labels.names)}
    places = (round(polarity * (len(_COLOR_RAMP) - 1)) for polarity in labels.polarity)
    return {name: _COLOR_RAMP[place] for name, place in zip(labels.names, places, strict=True)}


class Look(NamedTuple):
    """The fill of a box and the colour of the text on it."""

    fill: str
    ink: str


_DARK_INK, _LIGHT_INK = "#1a1a1a", "#ffffff"
_ON_DARK_PAGES = {
    "#b2182b": Look("#e8566a", "#120304"),
    "#ef9a80": Look("#6e3529", "#ffe9e2"),
    "#e6e6e6": Look("#3b4046", "#f0f0f0"),
    "#8fbfdf": Look("#27506f", "#e6f3fc"),
    "#2166ac": Look("#62aef0", "#04111d"),
}
"""On a dark page the strong ends of the ramp are the bright ones; the other palette is light enough for both."""


@dataclass(frozen=True)
class LabelLooks:
    """How a page shows each label, by its name."""

    marks: Mapping[str, str]
    light: Mapping[str, Look]
    dark: Mapping[str, Look]
    classes: Mapping[str, str]

    def css_class(self, label: str) -> str:
        return self.classes.get(label, NO_LABEL_CLASS)

    def mark(self, label: str) -> str:
        return self.marks.get(label, "")

    def css(self, scope: str, looks: Mapping[str, Look]) -> str:
        """One rule per label that sets `--fill` and `--on`."""
        return "".join(
            f"{scope} .{self.css_class(label)}{{--fill:{look.fill};--on:{look.ink}}}"
            for label, look in looks.items()
        )


def label_looks(labels: LabelSet) -> LabelLooks:
    """The colours of `label_colors`, for light and dark pages, and a short mark for each label."""
    light = {
        label: Look(fill, _LIGHT_INK if fill in _STRONG_COLORS else _DARK_INK)
        for label, fill in label_colors(labels).items()
    }
    dark = {label: _ON_DARK_PAGES.get(look.fill, look) for label, look in light.items()}
    classes = {name: f"lt-c{place}" for place, name in enumerate(labels.names)}
    return LabelLooks(_marks(labels.names), light, dark, classes)


def label_styles(labels: LabelSet) -> dict[str, str]:
    """A Rich style for each label, by its name: the boxes of a dark page, readable on a light terminal as well."""
    return {label: f"{look.ink} on {look.fill}" for label, look in label_looks(labels).dark.items()}


def _marks(names: Sequence[str]) -> dict[str, str]:
    """Signs for sentiments, else the first letters of names; where these are not distinct, numbers."""
    shown = {name: visible(name) for name in names if name != NO_LABEL}
    if all(name in _SENTIMENT_MARKS for name in shown.values()):
        return {label: _SENTIMENT_MARKS[name] for label, name in shown.items()}
    marks = {label: name[:LONGEST_MARK] for label, name in shown.items()}
    if len(set(marks.values())) == len(marks) and all(mark.strip() for mark in marks.values()):
        return marks
    return {label: str(number) for number, label in enumerate(shown, 1)}
