"""The page as one file in a real browser, where there is one: its script replaces the text, and nothing else runs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.pipeline.stubs import tiny_pipeline

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium here: apt install chromium"),
]


def shown(page: str, folder: Path) -> str:
    """The elements of the page after its script ran."""
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    assert BROWSER is not None
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    command = [BROWSER, *options, "--virtual-time-budget=2000", "--dump-dom", path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_the_script_runs_under_the_policy(tmp_path: Path) -> None:
    document = tiny_pipeline()("The film is good. The plot is not bad.")
    body = shown(document.html(), tmp_path).partition("<body>")[2]
    assert "lt-fallback" not in body
    assert "<svg" in body
    assert "<textarea" not in body, "there is no server to type for"


def test_no_text_of_a_user_runs(tmp_path: Path) -> None:
    hit = "document.title='hit'"
    text = f'Good <script>{hit}</script> </style><img src=x onerror="{hit}"> "onfocus={hit} autofocus x=" \u202eevil'
    page = shown(tiny_pipeline()(text, one_sentence=True).html(), tmp_path)
    assert re.findall(r"<title>(.*?)</title>", page)[0].startswith("Good ")
    assert "<img" not in page.partition("<body>")[2]
