"""The page in a real browser, where there is one: it fits, its keys work, and no text of a user runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.stubs import tiny_pipeline

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)

PROBE = """
<script>
window.addEventListener("load", () => {
  const boxes = [...document.querySelectorAll(".lt-box")];
  const press = (key) =>
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
  const across = !!document.querySelector(".lt-across");
  boxes[0].focus();
  press(across ? "ArrowDown" : "ArrowRight");
  const child = document.activeElement.dataset.node;
  const shown = () => {
    const cards = [...document.querySelectorAll(".lt-card")].filter((card) => card.offsetParent);
    return cards.map((card) => card.textContent);
  };
  const card = shown();
  press(across ? "ArrowUp" : "ArrowLeft");
  const parent = document.activeElement.dataset.node;
  const whole = boxes[0].querySelector(".lt-card");
  whole.scrollIntoView({block: "end"});
  const [pane, seen] = [document.querySelector(".lt-scroll"), whole].map((part) => part.getBoundingClientRect());
  const rows = [...whole.querySelectorAll("li")];
  const cut = rows.filter((row) => row.getBoundingClientRect().bottom > seen.bottom).length;
  const clipped = [...document.querySelectorAll(".lt-token bdi, .lt-chip bdi")]
    .filter((text) => text.scrollWidth > text.parentElement.clientWidth + 1).length;
  const overlaps = boxes.filter((box, number) => {
    const next = boxes[number + 1];
    if (!next || box.getAttribute("aria-level") !== next.getAttribute("aria-level")) return false;
    const [a, b] = [box.getBoundingClientRect(), next.getBoundingClientRect()];
    return a.right > b.left + 1 && a.bottom > b.top + 1;
  }).length;
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = JSON.stringify({
    child, parent, card, clipped, overlaps, hit: window.hit === undefined, cut, rows: rows.length,
    together: pane.top >= 0 && pane.bottom <= seen.top && seen.left >= 0 && seen.right <= innerWidth,
    overflow: document.documentElement.scrollWidth - innerWidth,
    tree: document.querySelector(".lt-icicle").className,
  });
  document.body.append(out);
});
</script>
"""

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here: apt install chromium")


def look_at(page: str, folder: Path, width: int) -> dict[str, Any]:
    """What the probe finds on the page in a window of that width."""
    path = folder / "page.html"
    path.write_text(page.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    assert BROWSER is not None
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    command = [BROWSER, *options, f"--window-size={width},900", "--dump-dom", path.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r'<pre id="probe">(.*?)</pre>', shown, re.DOTALL)
    assert found, shown[-2000:]
    return json.loads(unescape(found[1]))


@pytest.mark.slow
@pytest.mark.parametrize("num_words", [5, 60])
@pytest.mark.parametrize("width", [500, 1280])
def test_the_page_fits_and_its_keys_work(num_words: int, width: int, tmp_path: Path) -> None:
    words = ["film", "the", "is", "extraordinarily", "good", "and", "not", "bad"]
    text = " ".join(words[place % len(words)] for place in range(num_words))
    found = look_at(tiny_pipeline()(text).html(), tmp_path, width)
    assert found["overflow"] <= 0
    assert (found["child"], found["parent"]) == ("1", "0")
    assert len(found["card"]) == 1
    assert found["card"][0].startswith("film")
    assert found["together"], "a phrase and what is said of it fit into the window"
    assert (found["rows"], found["cut"]) == (2 + min(num_words, 6), 0)
    assert (found["clipped"], found["overlaps"]) == (0, 0)
    assert found["tree"].endswith("lt-across" if num_words == 5 else "lt-down")


@pytest.mark.slow
def test_no_text_of_a_user_runs(tmp_path: Path) -> None:
    text = 'Good <script>hit=1</script> film </style><img src=x onerror=hit=1> "onfocus=hit=1 autofocus x=" \u202eevil'
    found = look_at(tiny_pipeline()(text, one_sentence=True).html(), tmp_path, 900)
    assert found["hit"]
