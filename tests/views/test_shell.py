"""The frame of pages without scripts: readable in light and dark."""

from __future__ import annotations

import re

from lexitree.views.colors import label_looks
from lexitree.views.shell import NO_SCRIPTS, cut_text, page_styles, whole_page
from tests.views.labelled import STARS
from tests.views.test_colors import contrast


def test_a_page_runs_no_script() -> None:
    page = whole_page("<b>", "p{}", "<p>x</p>")
    assert f'content="{NO_SCRIPTS}"' in page
    assert "<title>&lt;b&gt; · lexitree</title>" in page


def test_the_page_can_be_read() -> None:
    """4.5 to 1 is what the Web Content Accessibility Guidelines ask for."""
    blocks = re.findall(r"--page:[^}]*", page_styles(label_looks(STARS), "drivers.css"))
    assert len(blocks) == 5
    for block in blocks:
        colors = dict(re.findall(r"--(\w+):(#\w+)", block))
        full = {
            name: "#" + "".join(c * 2 for c in color[1:]) if len(color) == 4 else color
            for name, color in colors.items()
        }
        for ink in ("ink", "muted", "accent"):
            for ground in ("page", "card"):
                assert contrast(full[ink], full[ground]) >= 4.5, (ink, ground)


def test_long_titles_are_cut() -> None:
    assert cut_text("a\n b", 10) == "a b"
    assert cut_text("abcdef", 4) == "abc…"
