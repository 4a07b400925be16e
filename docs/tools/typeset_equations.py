"""A MkDocs hook that turns LaTeX into MathML while the site is built, so that pages need no script for equations."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(div|span) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
"""What pymdownx.arithmatex makes of `$...$` and `$$...$$`."""


def on_page_content(content: str, /, **_: Any) -> str:
    """Replace every formula of a page by MathML.

    Args:
        content: The page as HTML.

    Returns:
        The HTML with MathML.
    """
    return FORMULA.sub(_typeset, content)


def _typeset(formula: re.Match[str]) -> str:
    display = "block" if formula[2] == "[" else "inline"
    mathml = convert(html.unescape(formula[3]).strip(), display=display)
    return f'<div class="equation">{mathml}</div>' if display == "block" else mathml
