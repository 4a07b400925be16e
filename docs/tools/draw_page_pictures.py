"""Draw docs/images/page-*.png: the page of `lexitree serve` with short and long texts, on a desktop and a phone.

Needs playwright and a Chromium; run it where nothing else listens on its port.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import time
import urllib.request
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from PIL import Image

FOLDER = Path(__file__).resolve().parents[1] / "images"
PORT = 8765
ADDRESS = f"http://127.0.0.1:{PORT}/"
NUM_COLORS = 256
MOST_BYTES = 150_000

TEXTS = {
    "5": "Not a bad film.",
    "25": "I wanted to love this phone, and the screen really is gorgeous, but the battery barely lasts until "
    "lunch and their support never answered me.",
    "60": "This restaurant, despite a promising menu, a friendly cook and a few dishes of real wit, wastes "
    "nearly all of it on slow service, cold plates and a bill so full of mistakes that even the most "
    "patient guests at our table, who had looked forward to the evening for weeks, left feeling cheated "
    "and hungry and swore never to return.",
    "document": "We stayed four nights in May. The pool was lovely, but our room smelled of damp and nobody "
    "apologised. The staff were kind and the breakfast was delicious. I don't think this is a good hotel "
    "for children. Although the view is superb, the furniture is dull and worn. Great coffee!\n\nThe lift"
    " was broken for two days. It's not a cheap place, but it is never boring. The food was cold, the "
    "waiter was rude, and we waited an hour for a bill that was wrong. A warm, funny and deeply moving "
    "concert ended the week. The train back left at nine. We would happily return.",
}


class Shot(NamedTuple):
    """A picture: which text, in which window, and what is done before it is taken."""

    name: str
    text: str
    width: int
    theme: str = "light"
    action: str = ""


SHOTS = [
    *(Shot(f"page-{text}", text, 1280) for text in TEXTS),
    *(Shot(f"page-{text}-phone", text, 390) for text in TEXTS),
    Shot("page-dark", "25", 1280, "dark", "card"),
    Shot("page-what-if", "25", 1280, "light", "what-if"),
    Shot("page-steps", "5", 1280, "light", "steps"),
]


def main() -> int:
    command = [sys.executable, "-m", "lexitree", "serve", "--port", str(PORT), "--device", "cpu"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_ready(server)
        playwright: Any = import_module("playwright.sync_api")
        with playwright.sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for shot in SHOTS:
                save_small(take(browser, shot), FOLDER / f"{shot.name}.png")
            browser.close()
    finally:
        server.terminate()
        server.wait(30)
    return 0


def wait_until_ready(server: subprocess.Popen[bytes]) -> None:
    while server.poll() is None:
        try:
            urllib.request.urlopen(f"{ADDRESS}ready", timeout=5)
        except OSError:
            time.sleep(0.3)
        else:
            return
    raise SystemExit("lexitree serve has ended")


def take(browser: Any, shot: Shot) -> bytes:
    page = browser.new_page(
        viewport={"width": shot.width, "height": 900}, color_scheme=shot.theme, reduced_motion="reduce"
    )
    page.goto(f"{ADDRESS}#{urlencode({'text': TEXTS[shot.text]})}")
    page.wait_for_selector(".node")
    page.wait_for_selector("select")
    if shot.action == "card":
        page.locator(".node-phrase").nth(2).focus()
    if shot.action == "what-if":
        page.get_by_role("button", name="gorgeous", exact=True).click()
        page.keyboard.type("dim")
        page.keyboard.press("Enter")
        page.wait_for_selector(".what-if")
        page.evaluate("document.activeElement.blur()")
    if shot.action == "steps":
        for _ in range(4):
            page.get_by_role("button", name="Step forward").click()
    page.wait_for_timeout(300)
    picture: bytes = page.screenshot(full_page=not shot.action or shot.action == "steps")
    page.close()
    return picture


def save_small(picture: bytes, path: Path) -> None:
    """Writes a picture with few colours, which it has anyway."""
    small = Image.open(io.BytesIO(picture)).convert("RGB").quantize(NUM_COLORS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
    if path.stat().st_size > MOST_BYTES:
        raise SystemExit(f"{path.name} has {path.stat().st_size} bytes, more than {MOST_BYTES}")


if __name__ == "__main__":
    raise SystemExit(main())
