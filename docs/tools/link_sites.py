"""A MkDocs hook that turns links between the pages of docs and those of paper/docs into links between the two sites.

In the repository such a link names the file, so that it can be followed there, too. The site of the paper lies in the
folder `paper` of the other one.
"""

from __future__ import annotations

import logging
import posixpath
import re
import unicodedata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SITES = {ROOT / "docs": "", ROOT / "paper" / "docs": "paper/"}
"""The folders of pages, and where their sites lie."""

LINK = re.compile(r"\]\((?P<path>\.\.[^)#\s]*\.md)(?:#(?P<anchor>[^)\s]*))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)

# Warnings of this logger are errors of `mkdocs build --strict`.
log = logging.getLogger("mkdocs.hooks.link_sites")


def on_page_markdown(markdown: str, /, *, page: Any, config: Any, **_: Any) -> str:
    """Replace the links of a page that lead to the other site.

    Args:
        markdown: The text of the page.
        page: The page.
        config: The configuration of its site.

    Returns:
        The text with links between the sites.
    """
    own = Path(config["docs_dir"])
    folder = (own / page.file.src_uri).parent

    def replace(link: re.Match[str]) -> str:
        target = (folder / link["path"]).resolve()
        for docs, site in SITES.items():
            if docs != own and target.is_relative_to(docs):
                check(target, link["anchor"], page.file.src_uri)
                address = site + address_of(target.relative_to(docs))
                path = posixpath.relpath(address or ".", SITES[own] + page.url) + "/"
                return f"]({path}#{link['anchor']})" if link["anchor"] else f"]({path})"
        return link[0]

    return LINK.sub(replace, markdown)


def address_of(page: Path) -> str:
    """Return the address of a page on its site, which ends with a slash unless it is empty."""
    folder = page.parent if page.stem == "index" else page.with_suffix("")
    return "" if folder == Path() else f"{folder.as_posix()}/"


def check(target: Path, anchor: str | None, source: str) -> None:
    """Warn of a link to a page or heading that does not exist."""
    if not target.is_file():
        log.warning("%s links to %s, which does not exist", source, target.relative_to(ROOT))
    elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
        log.warning("%s links to #%s, which %s does not have", source, anchor, target.relative_to(ROOT))


def anchors(markdown: str) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = HEADING.findall(FENCE.sub("", markdown))
    return {anchor_of(re.sub(r"[`*\[]|\]\([^)]*\)", "", heading)) for heading in headings}


def anchor_of(heading: str) -> str:
    """Return the anchor that Python-Markdown makes of a heading."""
    letters = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", letters).strip().lower())
