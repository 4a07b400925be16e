"""Plots with matplotlib, which the extra `plots` installs; the same data give the same file."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexitree.errors import import_extra
from lexitree.files import choose_format
from lexitree.writing import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours for colour-blind readers (Okabe and Ito), and marks for print without colour.
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKS = ("o", "s", "^", "D", "v", "P", "X")

# Text stays text, and the same data give the same bytes.
_WITHOUT_DATE: dict[str, dict[str, None]] = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}
"""The formats of plots, and what keeps the date out of each."""
_SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "lexitree", "font.size": 10}


def line_look(number: int) -> dict[str, Any]:
    """Colour, mark and width of a line."""
    return {
        "color": _COLORS[number % len(_COLORS)],
        "marker": MARKS[number % len(MARKS)],
        "markersize": 4.5,
        "linewidth": 1.6,
    }


@contextmanager
def open_figure(path: str | Path, *, width: float, height: float) -> Generator[Figure, None, None]:
    """Open a figure to draw into; the file is written when it is complete.

    Args:
        path: The file to write; its ending is that of a plot (see `require_plots`).
        width: In inches.
        height: In inches.
    """
    matplotlib, form = require_plots(path)
    from matplotlib.figure import Figure

    # Only for this figure: the user's pyplot backend and settings stay unchanged.
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        with atomic_path(path) as temporary:
            figure.savefig(temporary, format=form, metadata=_WITHOUT_DATE[form])


def require_plots(path: str | Path) -> tuple[Any, str]:
    """Return matplotlib and the format of a file; call it before a long computation to fail early.

    Raises:
        MissingExtraError: matplotlib is not installed.
        FileError: The file does not end in .svg, .png or .pdf.
    """
    form = choose_format(path, {name: (f".{name}",) for name in _WITHOUT_DATE}, can_compress=False)
    return import_extra("matplotlib", extra="plots", purpose="Drawing a plot"), form
