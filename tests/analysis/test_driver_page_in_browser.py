"""The page of drivers in a real browser, where there is one: it fits a desktop and a phone, and runs nothing."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from lexitree.analysis.driver_counts import find_drivers
from lexitree.views.shell import NO_SCRIPTS
from tests.analysis.test_driver_counts import GROUPS, TEXTS, a_document
from tests.views.test_in_browser import BROWSER

PROBE = """
<script>
window.addEventListener("load", () => {
  const cut = [...document.querySelectorAll(".lt-drivers td, .lt-drivers th")]
    .filter((cell) => cell.getBoundingClientRect().right > innerWidth + 1).length;
  const link = document.querySelector("a[href^='#row-']");
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = JSON.stringify({
    cut, hit: window.hit === undefined, overflow: document.documentElement.scrollWidth - innerWidth,
    linked: !!document.querySelector(link.getAttribute("href")),
    plots: [...document.querySelectorAll(".lt-plot")].filter((plot) => plot.getBoundingClientRect().width > 50).length,
  });
  document.body.append(out);
});
</script>
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here: apt install chromium"),
]


def look_at(page: str, folder: Path, width: int) -> dict[str, Any]:
    """What the probe finds; for its sake the page may run scripts."""
    path = folder / "page.html"
    path.write_text(page.replace(NO_SCRIPTS, "").replace("</body>", PROBE + "</body>"), encoding="utf-8")
    assert BROWSER is not None
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    command = [BROWSER, *options, f"--window-size={width},900", "--dump-dom", path.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r'<pre id="probe">(.*?)</pre>', shown, re.DOTALL)
    assert found, shown[-2000:]
    return json.loads(unescape(found[1]))


@pytest.mark.parametrize("width", [500, 1280])
def test_the_page_fits(width: int, tmp_path: Path) -> None:
    documents = [a_document(f"{text} <img src=x onerror=hit=1> {'verylongword' * 20}") for text in TEXTS]
    report = find_drivers(documents, groups=GROUPS, by="shop")
    found = look_at(report.html(), tmp_path, width)
    assert (found["cut"], found["overflow"]) == (0, 0) or found["overflow"] < 0
    assert found["hit"]
    assert found["linked"]
    assert found["plots"] == 2 * (len(report.drivers) + 3)
