"""Plots: what is in them, that the same data give the same file, and the error where matplotlib is missing."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lexitree.errors import MissingExtraError
from lexitree.learning.observers import EpochRecord
from lexitree_paper.analyze.comparison import LengthBin
from lexitree_paper.analyze.curves import LearningCurve, plot_curves, plot_lengths

BINS = [
    LengthBin(1, 5, 12, {"ConTree": 0.5, "A < B": 0.6}),
    LengthBin(6, 10, 7, {"ConTree": 0.4, "A < B": 0.7}),
]


def records(loss: float, phrase: float | None = 0.8) -> tuple[EpochRecord, ...]:
    scores = {"dev_root": 0.4, "dev_phrase": phrase}
    return tuple(EpochRecord(epoch, loss / epoch, scores, 0.001, 1.0, 10.0, True) for epoch in (1, 2, 3))


CURVES = [
    LearningCurve("two seeds", {"1": records(9), "2": records(8)}),
    LearningCurve("one", {"1": records(7)}),
]

PLOTS: list[tuple[Callable[[Path], None], list[str]]] = [
    (lambda path: plot_lengths(BINS, path), ["ConTree", "A < B", "1–5", "6–10", "root accuracy (%)"]),
    (lambda path: plot_curves(CURVES, path), ["two seeds", "one", "dev phrase accuracy (%)", "epoch"]),
]


@pytest.mark.parametrize(("draw", "shown"), PLOTS, ids=["lengths", "curves"])
def test_plots_show_their_names_and_can_be_repeated(
    draw: Callable[[Path], None], shown: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    draw(tmp_path / "one.svg")
    draw(tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    texts = {element.text for element in ElementTree.parse(tmp_path / "one.svg").iter() if element.text}
    assert set(shown) <= {text.strip() for text in texts}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.svg", "two.svg"]


def test_bars_stay_between_nothing_and_everything(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    bins = [LengthBin(1, 5, 2, {"a": 0.95, "b": 0.02}, {"a": 0.5, "b": 0.5})]
    plot_lengths(bins, tmp_path / "plot.svg")
    texts = [element.text or "" for element in ElementTree.parse(tmp_path / "plot.svg").iter()]
    ticks = [float(text.replace("−", "-")) for text in texts if re.fullmatch(r"[−\d.]+", text)]
    assert ticks
    assert min(ticks) >= 0
    assert max(tick for tick in ticks) <= 100


def test_systems_stand_side_by_side_only_where_they_have_bars(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path, in_legend = tmp_path / "plot.svg", len(BINS[0].accuracies)
    plot_lengths(BINS, path)
    assert len(_places_of_marks(path)) == len(BINS) + in_legend
    plot_lengths([replace(part, deviations={"ConTree": 0.1, "A < B": 0.1}) for part in BINS], path)
    assert len(_places_of_marks(path)) == 2 * len(BINS) + in_legend


def _places_of_marks(path: Path) -> set[str]:
    """Where, from left to right, the lines have their marks."""
    return set(re.findall(r'<use xlink:href="[^"]*" x="([\d.]+)" y="[\d.]+" style="fill', path.read_text()))


def test_without_phrases_there_is_no_panel_for_them(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot_curves([LearningCurve("questions", {"1": records(9, None)})], tmp_path / "curves.svg")
    text = (tmp_path / "curves.svg").read_text()
    assert "dev root accuracy" in text
    assert "dev phrase" not in text


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"\[plots\]"):
        plot_lengths(BINS, tmp_path / "plot.svg")
    assert list(tmp_path.iterdir()) == []
