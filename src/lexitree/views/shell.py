"""The frame of an HTML page without scripts: head, and styles for light and dark screens and for print."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from lexitree.views.colors import LabelLooks
from lexitree.views.visible import html_text

_NOTEBOOKS_IN_THE_DARK = (
    '[data-jp-theme-light="false"] .lt-root',
    "body.vscode-dark .lt-root",
    "html[theme=dark] .lt-root",
)
"""JupyterLab, VS Code and Colab tell a page of their theme in these ways, and not in the way of browsers."""

NO_SCRIPTS = "default-src 'none'; style-src 'unsafe-inline'"
"""A content security policy for a page without scripts."""


def whole_page(title: str, styles: str, body: str) -> str:
    """An HTML document that needs nothing else and runs no script.

    Args:
        title: The title, as plain text.
        styles: The style sheet; see `page_styles`.
        body: What stands on the page, as HTML.
    """
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{NO_SCRIPTS}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{html_text(title)} · lexitree</title>\n<style>{styles}</style>\n</head>\n"
        f'<body class="lt-page"><main class="lt-root">\n{body}</main>\n</body>\n</html>\n'
    )


def page_styles(looks: LabelLooks, sheet: str) -> str:
    """The style sheet of a page or notebook view, with the colours of its labels.

    Args:
        looks: How the labels look.
        sheet: A style sheet of this package, by its file name.
    """
    dark = read_asset("dark.css")
    in_notebooks = "".join(
        f"{scope}{{{dark}}}{looks.css(scope, looks.dark)}" for scope in _NOTEBOOKS_IN_THE_DARK
    )
    return (
        f"{read_asset(sheet)}{looks.css('.lt-root', looks.light)}"
        f"@media screen and (prefers-color-scheme:dark){{.lt-root{{{dark}}}"
        f"{looks.css('.lt-root', looks.dark)}}}{in_notebooks}"
    )


def cut_text(text: str, most_characters: int) -> str:
    """A text on one line, cut if it is long."""
    text = " ".join(text.split())
    return text if len(text) <= most_characters else text[: most_characters - 1] + "…"


@cache
def read_asset(name: str) -> str:
    """A style sheet or script of this package."""
    return files("lexitree.views").joinpath(name).read_text(encoding="utf-8")
