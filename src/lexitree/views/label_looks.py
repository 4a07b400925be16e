"""A label set in, the colours and the marks by which a page tells its labels apart out.

Colours never stand alone: each label has a mark as well (`+`, `−`), which the legend explains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lexitree.trees.tree import NO_LABEL
from lexitree.views.outline import ORDERED_NAMES
from lexitree.views.svg import label_colors
from lexitree.views.visible import visible

LONGEST_MARK = 4
NO_LABEL_CLASS = "lt-none"

_SENTIMENT_MARKS: dict[str, str] = dict(zip(ORDERED_NAMES, ("−−", "−", "○", "+", "++"), strict=True))


class Look(NamedTuple):
    """The fill of a box and the colour of the text on it."""

    fill: str
    ink: str


_DARK_INK, _LIGHT_INK = "#141414", "#ffffff"
_LIGHT_INK_ON = frozenset({"#b2182b", "#2166ac"})
_IN_THE_DARK = {
    "#b2182b": Look("#e8566a", "#120304"),
    "#ef9a80": Look("#6e3529", "#ffe9e2"),
    "#e6e6e6": Look("#3b4046", "#f0f0f0"),
    "#8fbfdf": Look("#27506f", "#e6f3fc"),
    "#2166ac": Look("#62aef0", "#04111d"),
}
"""On a dark page the strong ends of the ramp are the bright ones; the other palette is light enough for both."""


@dataclass(frozen=True)
class LabelLooks:
    """How each label of a set is shown."""

    labels: tuple[str, ...]
    marks: Mapping[str, str]
    light: Mapping[str, Look]
    dark: Mapping[str, Look]

    def css_class(self, label: str) -> str:
        return f"lt-c{self.labels.index(label)}" if label in self.light else NO_LABEL_CLASS

    def mark(self, label: str) -> str:
        return self.marks.get(label, "")

    def css(self, scope: str, looks: Mapping[str, Look]) -> str:
        """One rule a label that sets `--fill` and `--on`."""
        return "".join(
            f"{scope} .{self.css_class(label)}{{--fill:{look.fill};--on:{look.ink}}}"
            for label, look in looks.items()
        )


def label_looks(labels: Sequence[str], names: Mapping[str, str]) -> LabelLooks:
    """Colours as in the pictures of trees, and a short mark for each label."""
    colors = label_colors(labels, names)
    light = {label: Look(fill, _ink_on(fill)) for label, fill in colors.items()}
    dark = {label: _IN_THE_DARK.get(look.fill, look) for label, look in light.items()}
    return LabelLooks(tuple(labels), _marks(labels, names), light, dark)


def _ink_on(fill: str) -> str:
    return _LIGHT_INK if fill in _LIGHT_INK_ON else _DARK_INK


def _marks(labels: Sequence[str], names: Mapping[str, str]) -> dict[str, str]:
    """Signs for sentiments, else the first letters of names; where these are not distinct, numbers."""
    shown = {label: visible(names.get(label, label)) for label in labels if label != NO_LABEL}
    if all(name in _SENTIMENT_MARKS for name in shown.values()):
        return {label: _SENTIMENT_MARKS[name] for label, name in shown.items()}
    marks = {label: name[:LONGEST_MARK] for label, name in shown.items()}
    if len(set(marks.values())) == len(marks) and all(mark.strip() for mark in marks.values()):
        return marks
    return {label: str(number) for number, label in enumerate(shown, 1)}
