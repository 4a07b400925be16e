"""The page in a real browser: one types, and what it shows is right, fits, and can be worked with."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import lexitree
from tests.server.conftest import OpenPage

pytestmark = pytest.mark.slow

HOTEL = "The pool was lovely, but our room smelled of damp and nobody apologised."
LONG = (
    "This is a film that, despite a promising premise, a talented cast and a few moments of genuine wit in its opening "
    "half hour, collapses under the weight of a lazy script, a tedious middle section that repeats every joke twice, "
    "and an ending so contrived and sentimental that even the most forgiving viewer will leave the cinema feeling "
    "cheated and bored."
)
LENGTHS = {5: "Not a bad film.", 25: HOTEL + " It rained.", 60: LONG}
LETTER = f"We stayed four nights. {HOTEL} Great coffee! The staff were kind. I don't think we will come back."

OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll(".node .body")].map((body) => body.getBoundingClientRect());
  return boxes.filter((a, place) => boxes.some((b, other) => other > place
    && a.left < b.right - 9 && b.left < a.right - 9 && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length;
}"""


def overflow(page: Any) -> int:
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def field_of(page: Any) -> Any:
    return page.get_by_role("textbox", name="Your text")


def wait_until(page: Any, expression: str) -> None:
    """Waits for something to be true; the page's policy forbids the browser's own way, which evaluates a string."""
    limit = monotonic() + 15
    while not page.evaluate(expression):
        assert monotonic() < limit, expression
        page.wait_for_timeout(20)


def link_of(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(str(page.url)).fragment)


def test_the_answer_follows_as_one_types(open_page: OpenPage) -> None:
    page = open_page()
    assert page.locator(".node").count() > 5, "an example is shown at once"
    field_of(page).fill("")
    page.wait_for_selector(".answer:empty", state="attached")
    page.keyboard.type("What a wonderful hotel, and what a dull town.", delay=5)
    wait_until(page, "document.querySelector('.text')?.textContent.includes('town')")
    assert page.locator(".verdict-name").inner_text() in page.locator("[role=status]").text_content()
    assert page.title() == "What a wonderful hotel, and what a dull town. · lexitree"
    page.get_by_role("button", name="A course").click()
    wait_until(page, "document.querySelector('.text').textContent.startsWith('The course')")


def test_only_the_last_answer_is_shown_and_the_old_one_is_dimmed(open_page: OpenPage) -> None:
    page = open_page(HOTEL)
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    page.route("**/v1/explain", hold)
    field_of(page).fill("A dull film.")
    page.wait_for_selector(".answer.old")
    assert page.locator(".text").inner_text().startswith("The pool")
    field_of(page).fill("A great film.")
    page.wait_for_timeout(400)
    assert len(held) == 2
    held[1].continue_()
    wait_until(page, "document.querySelector('.text').textContent.startsWith('A great')")
    assert page.locator(".answer.old").count() == 0


@pytest.mark.parametrize(
    ("status", "told"),
    [(429, "Trying again in 1 s"), (422, "too many words"), (401, "wants a token"), (0, "cannot be reached")],
)
def test_problems_are_told_and_the_text_stays(open_page: OpenPage, status: int, told: str) -> None:
    page = open_page(HOTEL)
    problem = {"title": "no", "status": status, "detail": "too many words", "request_id": "1"}

    def refuse(route: Any) -> None:
        if not status:
            route.abort()
            return
        headers = {"Retry-After": "1"} if status == 429 else {}
        route.fulfill(
            status=status, headers=headers, content_type="application/problem+json", body=json.dumps(problem)
        )

    page.route("**/v1/explain", refuse)
    field_of(page).fill("A great film.")
    page.wait_for_selector(".problem:visible")
    assert told in page.locator(".problem").inner_text()
    assert field_of(page).input_value() == "A great film."
    page.unroute("**/v1/explain")
    if status == 401:
        page.get_by_label("Token").fill("secret")
        with page.expect_request("**/v1/explain") as asked:
            page.keyboard.press("Enter")
        assert asked.value.headers["authorization"] == "Bearer secret"
    if status in (401, 429):
        page.wait_for_selector(".problem", state="hidden")
        assert page.locator(".text").inner_text().startswith("A great")


def test_phrases_that_matter_are_marked_in_the_text_as_written(open_page: OpenPage) -> None:
    written = "  The 👩‍👩‍👧 cast is  lovely,\nbut the plot is dull — and the jokes fall flat! "
    page = open_page(written)
    text = page.locator(".text")
    marks = text.locator(".phrase-mark").all_text_contents()
    plain = text.evaluate(
        "(text) => { const copy = text.cloneNode(true);"
        " copy.querySelectorAll('.phrase-mark').forEach((mark) => mark.remove()); return copy.textContent; }"
    )
    assert plain == written
    assert {"+", "−"} <= set(marks)
    styles = text.locator(".phrase").evaluate_all(
        "(all) => all.map((one) => getComputedStyle(one).borderBottomStyle)"
    )
    assert {"solid", "dashed"} <= set(styles), "not told by colour alone"
    page.locator(".reason a").first.hover()
    lit = text.locator(".word.lit").all_text_contents()
    assert lit
    page.locator(".reason a").first.click()
    assert page.evaluate("document.activeElement.getAttribute('role')") == "treeitem"


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("length", LENGTHS)
def test_the_tree_is_legible(open_page: OpenPage, length: int, width: int) -> None:
    page = open_page(LENGTHS[length], width=width)
    assert overflow(page) <= 0
    assert page.evaluate(OVERLAPS) == 0
    assert page.locator(".edge").count() == page.locator(".node").count() - 1
    assert page.locator(".edge.leads.main").count() >= 1
    words = " ".join(page.locator(".word-text, .folded-text").all_text_contents())
    assert words.split()[0] == LENGTHS[length].split()[0]
    size = page.locator(".word-text").first.evaluate("(word) => word.getBoundingClientRect().height")
    assert size >= 11
    page.get_by_role("button", name="All").click(force=True)
    page.wait_for_timeout(400)
    assert page.evaluate(OVERLAPS) == 0
    assert overflow(page) <= 0
    page.locator(".node").first.focus()
    card = page.locator(".card").bounding_box()
    assert card["x"] >= 0
    assert card["x"] + card["width"] <= width
    assert card["y"] >= 0
    assert card["y"] + card["height"] <= 900


def test_phrases_fold_and_unfold_level_by_level(open_page: OpenPage) -> None:
    page = open_page(LONG)
    shown = [page.locator(".node").count()]
    for name in ("Less", "Less", "More", "More", "All"):
        page.get_by_role("button", name=name, exact=True).click()
        shown.append(page.locator(".node").count())
    assert shown[0] > shown[1] > shown[2] < shown[3] < shown[4] < shown[5]
    root = page.locator(".node").first
    root.click()
    assert (page.locator(".node").count(), root.get_attribute("aria-expanded")) == (1, "false")
    root.click()
    assert page.locator(".node").count() > 1
    page.get_by_role("button", name="What matters").click()
    assert page.locator(".node").count() == shown[0]


def test_the_tree_zooms_and_pans(open_page: OpenPage) -> None:
    page = open_page(HOTEL)
    where = "document.querySelector('.canvas').getBoundingClientRect().toJSON()"
    first = page.evaluate(where)
    page.get_by_role("button", name="Zoom in").click()
    larger = page.evaluate(where)
    assert larger["width"] > first["width"] * 1.2
    page.get_by_role("button", name="Fit").click()
    frame = page.locator(".tree-frame").bounding_box()
    middle = (frame["x"] + 20, frame["y"] + 40)
    page.mouse.move(*middle)
    page.mouse.wheel(0, 120)
    assert page.evaluate(where)["width"] == pytest.approx(first["width"]), "the wheel scrolls the page"
    page.evaluate("scrollTo(0, 0)")
    page.mouse.move(*middle)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -120)
    page.keyboard.up("Control")
    wait_until(page, f"({where}).width > {first['width'] * 1.1}")
    before = page.evaluate(where)
    page.mouse.down()
    page.mouse.move(middle[0] + 80, middle[1] + 30, steps=4)
    page.mouse.up()
    assert page.evaluate(where)["x"] == pytest.approx(before["x"] + 80, abs=6)


def test_the_labels_are_played_step_by_step(open_page: OpenPage) -> None:
    page = open_page("Not a bad film.", reduced_motion="reduce")
    forward = page.get_by_role("button", name="Step forward")
    for _ in range(4):
        forward.click()
    caption = page.locator(".step-caption")
    assert caption.inner_text().startswith("4 of 4")
    assert "the label turns" in caption.inner_text()
    assert page.locator(".turn-ring").count() == 1
    page.get_by_role("button", name="Step back").click()
    assert page.locator(".node.later").count() >= 1
    assert page.locator(".text .word.lit").count() >= 2
    page.get_by_label("only the 1 turn").check()
    page.get_by_role("button", name="Play").click()
    assert caption.inner_text().startswith("1 of 1")
    page.get_by_role("button", name="Pause").click()
    assert page.get_by_role("button", name="Play").count() == 1


def test_a_word_is_dropped_or_replaced_and_brought_back(open_page: OpenPage) -> None:
    page = open_page(HOTEL)
    field = field_of(page)
    page.get_by_role("button", name="lovely", exact=True).click()
    page.keyboard.type("filthy")
    page.keyboard.press("Enter")
    page.wait_for_selector(".what-if")
    assert field.input_value() == HOTEL.replace("lovely", "filthy")
    panel = page.locator(".what-if").inner_text()
    assert "lovely" in panel
    assert "filthy" in panel
    assert page.locator(".what-if li").count() >= 1
    page.get_by_role("button", name="nobody", exact=True).click()
    page.get_by_role("button", name="Drop it").click()
    wait_until(page, "document.querySelector('.what-if-line').textContent.includes('without')")
    assert field.input_value().endswith("and apologised.")
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Undo").click()
    assert field.input_value() == HOTEL
    assert page.locator(".what-if").count() == 0


def test_two_texts_are_compared(open_page: OpenPage) -> None:
    page = open_page(HOTEL)
    page.get_by_role("button", name="Compare").click()
    page.keyboard.type("The pool was lovely and everybody smiled.")
    wait_until(page, "document.querySelectorAll('.verdict-name').length === 2")
    assert "more positive" in page.locator(".comparison").inner_text()
    sides = [box.bounding_box()["x"] for box in page.locator(".desk").all()]
    assert sides[1] > sides[0] + 400
    assert link_of(page)["compare"] == ["The pool was lovely and everybody smiled."]
    page.reload()
    wait_until(page, "document.querySelectorAll('.verdict-name').length === 2")
    page.get_by_role("button", name="Compare").click()
    assert page.locator(".desk").count() == 1


def test_the_link_brings_everything_back(open_page: OpenPage) -> None:
    page = open_page("Who wrote “Ulysses” & why? 100 % #1", link={"model": "questions"})
    wait_until(page, "document.querySelector('select')?.value === 'questions'")
    assert page.locator(".verdict-name").first.inner_text() in ("human", "description", "entity")
    page.get_by_label("Model").select_option("sentiment")
    wait_until(page, "document.querySelector('.share-list').textContent.includes('negative')")
    assert "model" not in link_of(page)
    field_of(page).fill("Ünï 👍 code")
    wait_until(page, "decodeURIComponent(location.hash).includes('👍')")
    again = open_page(link_of(page)["text"][0])
    assert field_of(again).input_value() == "Ünï 👍 code"
    assert again.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0


def test_a_document_has_an_overview(open_page: OpenPage) -> None:
    page = open_page(LETTER)
    bars = page.locator(".overview button")
    assert bars.count() == 5
    assert page.locator(".tree-panel").count() == 1, "details of one sentence at a time"
    # Which one is shown at first depends on the model.
    bars.nth(0).click()
    bars.nth(2).click()
    assert page.locator("h2").inner_text() == "Sentence 3 of 5"
    assert link_of(page)["sentence"] == ["3"]
    assert page.locator(".sentence.chosen").inner_text().startswith("Great")
    page.keyboard.press("ArrowRight")
    assert page.locator("h2").inner_text() == "Sentence 4 of 5"
    assert page.evaluate("document.documentElement.scrollHeight") < 2500


def test_a_long_document_stays_short_on_the_screen(open_page: OpenPage) -> None:
    page = open_page(" ".join(f"{LETTER} Day {day} was dull." for day in range(20)), width=390)
    assert page.evaluate("document.documentElement.scrollHeight") < 4000
    assert overflow(page) <= 0
    page.locator(".overview button").last.click()
    text, chosen = (page.locator(name).bounding_box() for name in (".text", ".sentence.chosen"))
    assert text["y"] <= chosen["y"] <= text["y"] + text["height"], "the chosen sentence is in sight"


def test_every_export_is_a_file_that_others_can_read(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(HOTEL)
    files: dict[str, Path] = {}
    for name in ("SVG", "PNG", "JSON", "Brackets"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"Download {name}").click()
        files[name] = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(files[name])
    picture = ElementTree.parse(files["SVG"]).getroot()
    assert "lovely" in " ".join(picture.itertext())
    assert "var(" not in files["SVG"].read_text(encoding="utf-8")
    assert files["PNG"].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert files["PNG"].stat().st_size > 10_000
    assert json.loads(files["JSON"].read_text(encoding="utf-8"))["text"] == HOTEL
    assert (
        files["Brackets"].read_text(encoding="utf-8").splitlines()
        == lexitree.load("sentiment")(HOTEL).brackets()
    )
