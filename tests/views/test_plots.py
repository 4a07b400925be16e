"""Plots: the ending decides about the format, and nothing is left where a plot cannot be written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lexitree.errors import FileError, MissingExtraError
from lexitree.views.plots import line_look, open_figure, require_plots


def draw(path: Path) -> None:
    with open_figure(path, width=4, height=3) as figure:
        figure.subplots().plot([1, 2, 3], [0.1, 0.3, 0.2], **line_look(0))


@pytest.mark.parametrize(
    ("name", "start"), [("a.svg", b"<?xml"), ("a.PNG", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a", b"<?xml")]
)
def test_the_ending_decides_about_the_format(name: str, start: bytes, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw(tmp_path / name)
    first = (tmp_path / name).read_bytes()
    assert first.startswith(start)
    draw(tmp_path / name)
    assert (tmp_path / name).read_bytes() == first


@pytest.mark.parametrize("name", ["a.jpg", "a.svg.gz", "a.html"])
def test_other_endings_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot be written as \.(jpg|gz|html)") as caught:
        draw(tmp_path / name)
    assert caught.value.remedy == "Endings that fit: .svg, .png, .pdf."
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError):
        draw(tmp_path / "file" / "plot.svg")


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"\[plots\]"):
        draw(tmp_path / "plot.svg")
    with pytest.raises(MissingExtraError, match="matplotlib"):
        require_plots("plot.svg")
    assert list(tmp_path.iterdir()) == []


def test_lines_can_be_told_apart() -> None:
    looks = [(look["color"], look["marker"]) for look in map(line_look, range(7))]
    assert len(set(looks)) == 7
