"""Links between the pages of the library and those of the paper lead from one site to the other."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
DOCS, PAPER = ROOT / "docs", ROOT / "paper" / "docs"

sys.path.append(str(DOCS / "tools"))
links: Any = importlib.import_module("link_sites")


def convert(docs: Path, source: str, markdown: str) -> str:
    path = Path(source)
    folder = path.parent if path.stem == "index" else path.with_suffix("")
    page = SimpleNamespace(file=SimpleNamespace(src_uri=source), url="" if folder == Path() else f"{folder}/")
    return links.on_page_markdown(markdown, page=page, config={"docs_dir": str(docs)})


def test_every_link_between_the_sites_has_its_page_and_heading(caplog: pytest.LogCaptureFixture) -> None:
    changed = 0
    for docs in (DOCS, PAPER):
        for path in docs.rglob("*.md"):
            text = path.read_text(encoding="utf-8")
            changed += convert(docs, path.relative_to(docs).as_posix(), text) != text
    assert caplog.messages == []
    assert changed > 5


@pytest.mark.parametrize(
    ("docs", "source", "link", "address"),
    [
        (DOCS, "index.md", "../paper/docs/index.md", "paper/"),
        (
            DOCS,
            "guide/text.md",
            "../../paper/docs/studies.md#binary-trees",
            "../../paper/studies/#binary-trees",
        ),
        (PAPER, "index.md", "../../docs/model.md#choices", "../model/#choices"),
        (PAPER, "reranking.md", "../../docs/index.md", "../../"),
    ],
)
def test_a_link_becomes_an_address(docs: Path, source: str, link: str, address: str) -> None:
    assert convert(docs, source, f"[a]({link}) and [b](other.md)") == f"[a]({address}) and [b](other.md)"


def test_a_lost_page_or_heading_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    convert(DOCS, "index.md", "[a](../paper/docs/lost.md) [b](../paper/docs/index.md#lost)")
    assert [message.partition(" links to ")[2] for message in caplog.messages] == [
        "paper/docs/lost.md, which does not exist",
        "#lost, which paper/docs/index.md does not have",
    ]
