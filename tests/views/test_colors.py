"""Colours: a ramp for labels that have an order, one colour each for others."""

from __future__ import annotations

import pytest
from rich.style import Style

from lexitree.labels import SENTIMENTS, LabelSet
from lexitree.views.colors import Look, label_colors, label_looks, label_styles

STARS = LabelSet(tuple("01234"), dict(zip("01234", SENTIMENTS, strict=True)))
NUMBERS = LabelSet(tuple("01234"))


@pytest.mark.parametrize("labels", [STARS, NUMBERS, LabelSet(("DESC", "ENTY", "HUM"))])
def test_terminals_and_pages_have_the_same_colours(labels: LabelSet) -> None:
    looks = label_looks(labels)
    for name, style in label_styles(labels).items():
        ink, fill = style.split(" on ")
        assert f".{looks.css_class(name)}{{--fill:{fill};--on:{ink}}}" in looks.css("", looks.dark)
        assert Style.parse(style).bgcolor is not None
    assert {look.fill for look in looks.light.values()} == set(label_colors(labels).values())


def test_terminals() -> None:
    ramp = label_styles(NUMBERS)
    assert len(set(ramp.values())) == 5
    assert list(label_styles(STARS).values()) == list(ramp.values())
    assert label_styles(LabelSet(tuple(map(str, range(10)))))["9"] == ramp["4"]
    assert label_styles(LabelSet(("negative", "positive")))["negative"] == ramp["1"]
    assert len(set(label_styles(LabelSet(("DESC", "ENTY", "HUM"))).values())) == 3
    assert label_styles(LabelSet(())) == {}


def test_pictures() -> None:
    ramp = label_colors(NUMBERS)
    assert len(set(ramp.values())) == 5
    assert label_colors(LabelSet(("0", "1"))) == {"0": ramp["0"], "1": ramp["4"]}
    assert label_colors(LabelSet(("0", "1"), {"0": "negative", "1": "positive"}))["positive"] == ramp["3"]
    assert len(set(label_colors(LabelSet(("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"))).values())) == 6
    assert label_colors(LabelSet(())) == {}


def luminance(color: str) -> float:
    channels = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    brighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("labels", [tuple("01234"), tuple("01"), tuple("ABCDEFGHI")])
def test_text_can_be_read_on_every_colour(labels: tuple[str, ...]) -> None:
    """4.5 to 1 is what the Web Content Accessibility Guidelines ask for."""
    looks = label_looks(LabelSet(labels))
    for look in (*looks.light.values(), *looks.dark.values()):
        assert isinstance(look, Look)
        assert contrast(look.fill, look.ink) >= 4.5, look


def test_marks_tell_labels_apart_without_colours() -> None:
    assert list(label_looks(STARS).marks.values()) == ["−−", "−", "○", "+", "++"]
    assert list(label_looks(LabelSet(("ABBR", "DESC"))).marks.values()) == ["ABBR", "DESC"]
    assert list(label_looks(LabelSet(("number", "number of"))).marks.values()) == ["1", "2"]
    assert list(label_looks(LabelSet(("a", "b"), {"a": "x", "b": "\u202e"})).marks.values()) == ["x", "\\u20"]
