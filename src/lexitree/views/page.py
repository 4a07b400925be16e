"""Explain the labels of sentences on one HTML page that needs nothing else, or in a frame for notebooks.

It is the server's page with everything inside: style sheet, script and the data of the explanation. Where no script
runs, it still shows the text, its label, the reason and the tree as an outline.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from graphlib import TopologicalSorter
from hashlib import sha256
from html import escape
from typing import Any

from lexitree.files import to_json
from lexitree.views.explanation import explain_trees
from lexitree.views.outline import draw_tree
from lexitree.views.quotes import Run
from lexitree.views.shell import cut_text, read_asset
from lexitree.views.shown_tree import ShownTree
from lexitree.views.visible import html_text

LONGEST_TITLE = 70
MOST_WORDS_OUTLINED = 2_000
"""Where no script runs, the trees are shown of so many words, and of the others only label and reason."""
MOST_WORDS_IN_NOTEBOOKS = 5_000
"""A notebook shows a longer text without its page, which would make the file large."""
FRAME_HEIGHTS = (680, 820)
"""The height of a notebook's frame in pixels, for one sentence and for several."""

_STYLE_LINK = '<link rel="stylesheet" href="assets/page.css">'
_SCRIPT_LINK = '<script type="module" src="assets/main.js"></script>'
_ICON_LINK = '<link rel="icon" href="assets/icon.svg" type="image/svg+xml">\n'
_ROOM = '<div id="lexitree"></div>'
_ENCODING = '<meta charset="utf-8">'
_NO_SCRIPT = re.compile(r"<noscript>.*?</noscript>\n", re.DOTALL)
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async function|function|class|const)\*? (\w+))", re.MULTILINE)


def explanation_page(
    trees: Sequence[ShownTree],
    *,
    text: str | None = None,
    probabilities: Mapping[str, float] | None = None,
    names: Sequence[str] | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
) -> str:
    """A page that shows why each sentence has its label: a reason, the phrases that matter, and the tree.

    Args:
        trees: The sentences, of one label set.
        text: The text that all of them were taken from; by default, their own texts one after the other.
        probabilities: The probability of each label, by its name, for the text as a whole; by default a single
            sentence's own, and nothing for several.
        names: The headings of the sentences, such as `Row 7`.
        title: The title of the page; by default the beginning of the text.
        notes: What the reader should know of the text, such as what was cut.

    Returns:
        A whole HTML document.
    """
    data = explain_trees(trees, text=text, probabilities=probabilities, names=names, notes=notes)
    return _whole_page(data, trees, title or data["text"])


def notebook_view(
    trees: Sequence[ShownTree], *, text: str | None = None, probabilities: Mapping[str, float] | None = None
) -> str:
    """A block for a notebook's output: the page in a frame, and below it the same as text, folded away.

    The arguments are those of `explanation_page`.
    """
    data = explain_trees(trees, text=text, probabilities=probabilities)
    fallback = (
        f"<details><summary>{reason_html(data['reason'])}</summary>{_plain_view(data, trees)}</details>"
    )
    if sum(len(tree.words) for tree in trees) > MOST_WORDS_IN_NOTEBOOKS:
        return f"<div>{fallback}</div>"
    page = escape(_whole_page(data, trees, data["text"]), quote=True)
    height = FRAME_HEIGHTS[len(trees) > 1]
    # Without allow-same-origin, nothing on the page can reach the notebook.
    return (
        f'<div><iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" title="Explanation" '
        f'width="100%" height="{height}" style="border:0"></iframe>{fallback}</div>'
    )


def _whole_page(data: Mapping[str, Any], trees: Sequence[ShownTree], title: str) -> str:
    style, script = read_asset("web/page.css"), _whole_script()
    parts = {
        _ENCODING: f'{_ENCODING}\n<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">',
        "<title>lexitree</title>": f"<title>{html_text(cut_text(title, LONGEST_TITLE))} · lexitree</title>",
        _ICON_LINK: "",
        _STYLE_LINK: f"<style>{style}</style>",
        _SCRIPT_LINK: (
            f'<script type="application/json" id="lexitree-data">{_embedded({**data, "live": False})}</script>\n'
            f'<script type="module">{script}</script>'
        ),
        _ROOM: f'<div id="lexitree">{_plain_view(data, trees)}</div>',
    }
    served = _NO_SCRIPT.sub("", read_asset("web/index.html"))
    # All at once: what is put in is not looked at again.
    page, num_replaced = re.subn("|".join(map(re.escape, parts)), lambda found: parts[found[0]], served)
    assert num_replaced == len(parts)
    return page


def _policy(style: str, script: str) -> str:
    """Nothing runs and nothing is loaded but this script and this style sheet."""
    hashes = [b64encode(sha256(part.encode()).digest()).decode() for part in (script, style)]
    return (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _embedded(data: Mapping[str, Any]) -> str:
    """JSON that no text can break out of: `<` begins every tag and comment that would end a script element."""
    return to_json(data).replace("<", "\\u003c")


@cache
def _whole_script() -> str:
    return join_modules("main", lambda name: read_asset(f"web/{name}.js"))


def join_modules(entry: str, read: Callable[[str], str]) -> str:
    """JavaScript modules as one, each as a function that returns what it exports.

    Modules import with `import {a, b as c} from "./name.js";` and export functions, classes and constants where they
    are declared, not in a circle.

    Args:
        entry: The module to begin with, by its name without `.js`.
        read: Gives the source of a module by its name.

    Raises:
        ValueError: Modules import each other, or in another way.
    """
    sources: dict[str, str] = {}
    graph: dict[str, list[str]] = {}
    missing = [entry]
    while missing:
        name = missing.pop()
        sources[name] = read(name)
        graph[name] = [found for _, found in _IMPORT.findall(sources[name])]
        missing += [found for found in graph[name] if found not in sources]
    return "".join(_wrapped(name, sources[name]) for name in TopologicalSorter(graph).static_order())


def _wrapped(name: str, source: str) -> str:
    exports = ", ".join(found for _, found in _EXPORT.findall(source))
    body = _EXPORT.sub(r"\1", _IMPORT.sub(_destructured, source))
    if found := re.search(r"^(?:import|export)\b.*", body, re.MULTILINE):
        raise ValueError(f"{name}.js: cannot be joined with others: {found[0]}")
    return f"const ${name} = (() => {{\n{body}\nreturn {{{exports}}};\n}})();\n"


def _destructured(statement: re.Match[str]) -> str:
    """`const {a, b: c} = $name;` for `import {a, b as c} from "./name.js";`."""
    names = re.sub(r"\s+as\b", ":", statement[1])
    return f"const {{{names}}} = ${statement[2]};"


def _plain_view(data: Mapping[str, Any], trees: Sequence[ShownTree]) -> str:
    """What is seen where no script runs: text, label and reason, and the trees as outlines."""
    label = "" if data["label"] is None else f"<p><strong>{_verdict(data)}</strong></p>"
    notes = "".join(f"<p>{html_text(note)}</p>" for note in data["notes"])
    num_words = 0
    parts: list[str] = []
    for sentence, tree in zip(data["sentences"], trees, strict=True):
        num_words += len(tree.words)
        heading = f"<h2>{html_text(sentence['name'])}</h2>" if "name" in sentence else ""
        reason = f"<p>{reason_html(sentence['reason'])}</p>" if len(trees) > 1 else ""
        outline = _outline(tree) if num_words <= MOST_WORDS_OUTLINED else ""
        parts.append(f"{heading}{reason}{outline}")
    return (
        f'<div class="lt-fallback"><p dir="auto">{html_text(data["text"])}</p>{label}'
        f'<p class="lt-reason">{reason_html(data["reason"])}</p>{notes}{"".join(parts)}</div>'
    )


def _outline(tree: ShownTree) -> str:
    return f'<pre class="lt-outline">{escape(chr(10).join(draw_tree(tree)))}</pre>'


def _verdict(data: Mapping[str, Any]) -> str:
    share = "" if data["probability"] is None else f" {data['probability']:.0%}"
    return f"{html_text(data['label'])}{share}"


def reason_html(runs: Sequence[Run]) -> str:
    """A reason with its quotes in italics."""
    return "".join(
        f"<em><bdi>{html_text(run['text'])}</bdi></em>" if "node" in run else html_text(run["text"])
        for run in runs
    )
