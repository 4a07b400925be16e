"""The page without a mouse, on paper, in the dark, for screen readers, and with text that wants to do harm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lexitree
from tests.server.conftest import AXE, OpenPage
from tests.server.test_page_in_browser import HOTEL, LETTER, LONG, overflow, wait_until

pytestmark = pytest.mark.slow

HARMFUL = "</script><img src=x onerror=window.hit=1><svg onload=window.hit=1>"


def violations(page: Any) -> list[Any]:
    """What axe finds, as (rule, first element)."""
    if not AXE.exists():
        pytest.skip("needs axe-core: make test-all fetches it, or set LEXITREE_AXE to its axe.min.js")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    return [(item["id"], item["nodes"][0]["html"], item["nodes"][0]["failureSummary"]) for item in found]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("text", [HOTEL, LONG, LETTER], ids=["sentence", "long", "document"])
def test_axe_finds_nothing(open_page: OpenPage, text: str, width: int, theme: str) -> None:
    page = open_page(text, width=width, color_scheme=theme)
    page.wait_for_selector("select")
    assert violations(page) == []
    page.locator(".text .word").nth(3).click()
    assert violations(page) == []
    page.get_by_role("button", name="Drop it").click()
    page.wait_for_selector(".what-if")
    page.get_by_role("button", name="Step forward").click()
    page.get_by_role("button", name="Compare").click()
    page.keyboard.type("Awful.")
    wait_until(page, "document.querySelectorAll('.verdict-name').length >= 2")
    page.locator(".node").first.focus()
    page.wait_for_timeout(300)
    assert violations(page) == []


def test_everything_works_with_the_keyboard_alone(open_page: OpenPage) -> None:
    page = open_page(HOTEL)

    def current() -> str:
        return page.evaluate("document.activeElement.textContent")

    def tab_to(selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(selector)

    tab_to("textarea")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(HOTEL.replace("damp", "roses"))
    wait_until(page, "document.querySelector('.text').textContent.includes('roses')")
    tab_to(".word")
    assert current() == "The"
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert current() == "lovely"
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert current() == "lovely"
    page.keyboard.press("Enter")
    page.keyboard.type("awful")
    page.keyboard.press("Enter")
    page.wait_for_selector(".what-if")
    assert current() == "awful"
    tab_to(".node")
    level = "document.activeElement.getAttribute('aria-level')"
    assert page.evaluate(level) == "1"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(level) == "2"
    assert page.locator(".card").is_visible()
    page.keyboard.press("ArrowUp")
    count = page.locator(".node").count()
    page.keyboard.press("Enter")
    assert page.locator(".node").count() == 1
    page.keyboard.press("ArrowDown")
    assert page.locator(".node").count() == count
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("“.”")
    page.keyboard.press("Home")
    assert page.evaluate(level) == "1"
    before = page.locator(".zoom-share").inner_text()
    page.keyboard.press("+")
    assert page.locator(".zoom-share").inner_text() != before
    page.keyboard.press("Escape")
    assert page.locator(".card").is_hidden()


def test_the_outline_is_walked_like_a_list_of_folders(open_page: OpenPage) -> None:
    page = open_page(HOTEL, width=390)
    page.locator(".node").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getAttribute('aria-level')") == "3"
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.getAttribute('aria-level')") == "2"
    assert (
        page.locator(
            "[role=tree] [role=treeitem][aria-level][aria-setsize][aria-posinset][aria-label]"
        ).count()
        > 5
    )


def test_a_tap_shows_before_it_folds(open_page: OpenPage) -> None:
    page = open_page(HOTEL, width=390, has_touch=True, is_mobile=True)
    count = page.locator(".node").count()
    node = page.locator(".node").nth(1)
    node.scroll_into_view_if_needed()
    node.locator(".cap").tap()
    assert page.locator(".card").is_visible()
    assert page.locator(".node").count() == count
    node.locator(".cap").tap()
    assert page.locator(".node").count() < count


def test_two_fingers_zoom(open_page: OpenPage) -> None:
    page = open_page(HOTEL, width=390, has_touch=True, is_mobile=True)
    page.locator(".tree-frame").scroll_into_view_if_needed()
    frame = page.locator(".tree-frame").bounding_box()
    x, y = frame["x"] + 150, max(frame["y"], 0) + 150
    device = page.context.new_cdp_session(page)
    for kind, apart in (("touchStart", 20), ("touchMove", 40), ("touchMove", 70), ("touchEnd", None)):
        fingers = (
            [] if apart is None else [{"x": x, "y": y - apart, "id": 0}, {"x": x, "y": y + apart, "id": 1}]
        )
        device.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    assert int(page.locator(".zoom-share").inner_text().rstrip(" %\u202f")) > 150


def test_dark_follows_the_system_and_the_button(open_page: OpenPage) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = (open_page(HOTEL, color_scheme=theme).evaluate(ground) for theme in ("light", "dark"))
    assert light != dark
    page = open_page(HOTEL, color_scheme="dark")
    page.get_by_role("button", name="Dark or light").click()
    assert page.evaluate(ground) == light
    page.reload()
    assert page.evaluate(ground) == light, "the link keeps it"


@pytest.mark.parametrize("text", [HOTEL, LONG], ids=["sentence", "long"])
def test_it_prints_what_matters_in_light_colours(open_page: OpenPage, text: str) -> None:
    page = open_page(text, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("textarea, select, .tree-bar, .exports, .steps").evaluate_all(
        "(all) => all.every((one) => !one.checkVisibility())"
    )
    for name in (".text", ".verdict", ".reason", ".tree", ".legend"):
        assert page.locator(name).first.is_visible()
    frame, drawing = (page.locator(name).bounding_box() for name in (".tree-frame", ".canvas"))
    assert frame["height"] > 100
    assert drawing["width"] <= frame["width"] + 1, "the whole tree is on the paper"
    assert drawing["height"] <= frame["height"] + 1
    assert page.locator(".text").evaluate("(text) => getComputedStyle(text).color") == "rgb(31, 29, 26)"
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("width", [390, 1280])
def test_no_text_of_a_user_runs(open_page: OpenPage, width: int) -> None:
    page = open_page(
        f'Good {HARMFUL} film "onfocus=hit=1 autofocus \u202eevil {{{{x}}}} ' + "w" * 300, width=width
    )
    page.get_by_role("button", name="All", exact=True).click(force=True)
    page.locator(".node").first.focus()
    page.locator(".text .word").nth(3).click()
    page.keyboard.type(HARMFUL)
    page.keyboard.press("Enter")
    page.wait_for_selector(".what-if")
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0
    assert overflow(page) <= 0


def test_no_name_of_a_label_runs(open_page: OpenPage) -> None:
    def rename(route: Any) -> None:
        answer = route.fetch()
        hostile = json.dumps(HARMFUL)[1:-1]
        route.fulfill(response=answer, body=answer.text().replace("negative", hostile))

    page = open_page(HOTEL, on_explain=rename)
    page.locator(".node").first.focus()
    page.get_by_role("button", name="Step forward").click()
    with page.expect_download():
        page.get_by_role("button", name="Download PNG").click()
    assert HARMFUL in page.locator(".share-list").inner_text()
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_of_a_file_is_the_same_without_what_needs_a_server(
    open_page: OpenPage, tmp_path: Path, width: int
) -> None:
    path = tmp_path / "page.html"
    path.write_text(lexitree.load("sentiment")(f"{LETTER} {HARMFUL}").html(), encoding="utf-8")
    page = open_page(path=path.as_uri(), width=width)
    assert page.locator("textarea, select, .word[role=button]").count() == 0
    assert page.locator(".phrase").count() >= 3
    page.locator(".overview button").nth(2).click()
    assert page.locator("h2").inner_text().startswith("Sentence 3")
    page.locator(".text .word").first.click()
    assert page.evaluate("document.activeElement.getAttribute('role')") == "treeitem"
    assert page.evaluate("window.hit") is None
    assert overflow(page) <= 0
    assert violations(page) == []
