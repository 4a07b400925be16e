"""Colours: a ramp for labels that have an order, one colour each for others."""

from __future__ import annotations

import pytest
from rich.style import Style

from lexitree.labels import SENTIMENTS, LabelSet
from lexitree.views.colors import label_colors, label_looks, label_styles

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
