"""The page as one file and in notebooks: complete, well formed, escaped, and readable where no script runs."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from graphlib import CycleError
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.pipeline.predictor import Predictor
from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from lexitree.views import page as page_module
from lexitree.views.page import explanation_page, join_modules, notebook_view
from lexitree.views.visible import visible
from tests.pipeline.stubs import tiny_pipeline
from tests.tiny import chain, tiny_dependencies, tiny_model
from tests.views.labelled import STARS, labelled, sure

VOID = {"meta", "input", "br", "link"}
HOSTILE = [
    "<script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "\" onmouseover='alert(1)' x=\"",
    "--><!--",
    "&lt;b&gt; &amp; &#60;",
    "]]>",
    "a\u202eb\u2066c\u200fd",
    "javascript:alert(1)",
    "{{7*7}} ${1}",
]


class Checker(HTMLParser):
    """Elements in their order; every one must be closed where it was opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), attrs
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.texts.append(data)
        elif self.open[-1] == "script":
            self.scripts.append(data)


def check(html: str) -> Checker:
    """Well formed, and nothing in it comes from elsewhere or runs by itself."""
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    for tag, attributes in checker.elements:
        assert not {name for name in attributes if name.startswith("on")}, attributes
        assert not {"src", "srcset", "data", "formaction"} & set(attributes), attributes
        assert (attributes.get("href") or "#").startswith("#")
        assert tag not in ("link", "object", "embed", "base", "img")
        assert (attributes.get("style") or "").count("url(") == 0
        if tag == "iframe":
            assert "allow-same-origin" not in (attributes["sandbox"] or "")
            check(attributes["srcdoc"] or "")
    styles = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    assert not any("@import" in style or "url(" in style for style in styles)
    ids = [attributes["id"] for _, attributes in checker.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    return checker


def embedded(html: str) -> dict[str, Any]:
    """The data that a page carries."""
    return json.loads(check(html).scripts[0])


def framed(html: str) -> str:
    """The page in the frame of a notebook's view."""
    (frame,) = [attributes for tag, attributes in check(html).elements if tag == "iframe"]
    return frame["srcdoc"] or ""


def not_bad() -> LabelledTree:
    return sure("(3 (2 It) (3 (2 is) (3 (2 not) (0 bad))))", STARS)


def test_the_page_has_it_all() -> None:
    page = explanation_page([not_bad()])
    checker = check(page)
    assert page.startswith("<!doctype html>")
    assert "<title>It is not bad · lexitree</title>" in page
    tags = [tag for tag, _ in checker.elements]
    assert (tags.count("script"), tags.count("style"), tags.count("noscript")) == (2, 1, 0)
    data = embedded(page)
    assert data["live"] is False
    assert data["label"] == "positive"
    assert len(data["sentences"][0]["nodes"]) == 7
    assert explanation_page([not_bad()]) == page


def test_where_no_script_runs_the_page_is_read_as_text() -> None:
    page = explanation_page([not_bad()], notes=["cut at 4 words"])
    body = page.partition("<body>")[2]
    assert '<div id="lexitree"><div class="lt-fallback">' in body, "the script replaces it"
    assert '<p dir="auto">It is not bad</p><p><strong>positive 100%</strong></p>' in body
    assert (
        '<p class="lt-reason">positive: <em><bdi>not</bdi></em> turns <em><bdi>bad</bdi></em> (very negative) into '
        "<em><bdi>not bad</bdi></em> (positive)</p><p>cut at 4 words</p>"
    ) in body
    assert "└─ very negative 1.00  bad</pre>" in body


def test_only_the_page_s_own_script_and_style_are_allowed() -> None:
    page = explanation_page([not_bad()])
    head, _, rest = page.partition("Content-Security-Policy")
    assert "<script" not in head
    assert "<style" not in head
    policy = rest.partition('content="')[2].partition('"')[0]
    script = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)[0]
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)[0]
    for name, part in (("script-src", script), ("style-src", style)):
        digest = b64encode(sha256(part.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert " style=" not in page.partition("<body>")[2], "which the policy would refuse"


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_is_shown_and_nothing_else(hostile: str) -> None:
    text = f"The film is {hostile} good."
    document = tiny_pipeline()(text)
    views = [document.html(), document._repr_html_(), document.sentences[0]._repr_html_()]
    for html in (*views, framed(views[1])):
        checker = check(html)
        assert len(checker.scripts) == 2 * ("<!doctype" in html[:10])
        assert all("alert(1)" not in script for script in checker.scripts[1:])
        assert "<!--" not in "".join(checker.scripts)
    assert embedded(views[0])["text"] == embedded(framed(views[1]))["text"] == text
    if "\u202e" in hostile:
        assert "a\\u202eb\\u2066c\\u200fd" in views[0].partition("<body>")[2]


@pytest.mark.parametrize("hostile", ["<img/src=x/onerror=hit>", *HOSTILE])
def test_hostile_words_and_labels_of_a_tree_are_shown_as_such(hostile: str) -> None:
    """In a tree, a whole tag can be one word."""
    word = hostile.replace(" ", "\u00a0")
    tree = Tree.flat(["good", word, "film"])
    shown = labelled(tree, (hostile, "x"), [[0.9, 0.1]] * tree.num_nodes)
    for html in (shown.html(), shown._repr_html_()):
        assert visible(word) in "".join(check(html).texts)
    assert embedded(shown.html())["label"] == hostile
    assert embedded(shown.html())["sentences"][0]["tokens"][1]["text"] == word


@given(
    st.lists(
        st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8), min_size=1, max_size=6
    )
)
@settings(max_examples=15)
def test_any_words_and_labels(words: list[str]) -> None:
    tree = Tree.flat(words, words[0])
    labels = tuple(dict.fromkeys([words[0], "x"]))
    rows = [[1.0] + [0.0] * (len(labels) - 1)] * tree.num_nodes
    sentences = [labelled(tree, labels, rows), LabelledTree.from_tree(tree)]
    for shown in (sentences, sentences[:1], sentences[1:]):
        assert embedded(explanation_page(shown))["sentences"][0]["nodes"][0]["label"] == words[0]
        check(notebook_view(shown))


def test_several_sentences_and_rows() -> None:
    document = tiny_pipeline()("The film is good. The plot is not bad, and the cast is great. Fine.")
    assert document.html().count("<pre") == 3
    page = explanation_page(
        document.sentences, probabilities={}, names=["Row 1", "Row 2", "<b>"], title="a <b>"
    )
    assert "<title>a &lt;b&gt; · lexitree</title>" in page
    assert "<h2>&lt;b&gt;</h2>" in page
    assert [sentence["name"] for sentence in embedded(page)["sentences"]] == ["Row 1", "Row 2", "<b>"]


def test_whole_sentences_and_dependency_trees() -> None:
    prediction = Predictor(tiny_model()).predict(chain(4), nodes="root")
    assert "only the sentence as a whole was labelled" in prediction.html()
    tree = tiny_dependencies(1)[0]
    prediction = Predictor(tiny_model("deptree")).predict(tree)
    assert {node["word"] for node in embedded(prediction.html())["sentences"][0]["nodes"]} == set(tree.words)
    check(prediction._repr_html_())


def test_nothing_at_all() -> None:
    assert "no words, so there is no label" in explanation_page([])
    check(notebook_view([]))


def test_a_notebook_frames_the_page_and_folds_the_text_away() -> None:
    document = tiny_pipeline()("The film is good. The plot is bad.")
    html = document._repr_html_()
    assert embedded(framed(html)) == {**document.explanation(), "live": False}
    outside = html.partition("</iframe>")[2]
    assert outside.startswith("<details><summary>")
    assert outside.count("<pre") == 2
    assert 'sandbox="allow-scripts allow-downloads"' in html
    assert "<script" not in html


def test_long_texts_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "MOST_WORDS_OUTLINED", 10)
    monkeypatch.setattr(page_module, "MOST_WORDS_IN_NOTEBOOKS", 20)
    sizes = {number: LabelledTree.from_tree(chain(number, "right")) for number in (10, 11, 20, 21)}
    assert ["<pre" in explanation_page([tree]) for tree in sizes.values()] == [True, False, False, False]
    assert ["<iframe" in notebook_view([tree]) for tree in sizes.values()] == [True, True, True, False]


def join(**sources: str) -> str:
    return join_modules("main", sources.__getitem__)


def test_modules_are_joined_in_their_order() -> None:
    joined = join(
        main='import {one, two as second} from "./numbers.js";\nimport {\n  show,\n} from "./screen.js";\nshow(one + second);\n',
        screen='import {one} from "./numbers.js";\nexport function show(value) {}\nexport class Screen {}\nconst one_ = one;\n',
        numbers="export const one = 1;\nexport async function two() {}\nconst hidden = 3;\n",
    )
    assert joined.index("const $numbers") < joined.index("const $screen") < joined.index("const $main")
    assert "const {one, two: second} = $numbers;" in joined
    assert "return {one, two};" in joined
    assert "return {show, Screen};" in joined
    assert not re.search(r"^(import|export)\b", joined, re.MULTILINE)


@pytest.mark.parametrize(
    "source",
    [
        'import "./x.js";',
        'import all from "./x.js";',
        "export default 1;",
        "export {a};",
        'import * as x from "./x.js";',
    ],
)
def test_modules_that_cannot_be_joined(source: str) -> None:
    with pytest.raises(ValueError, match=r"main\.js"):
        join(main=source)


def test_modules_in_a_circle() -> None:
    with pytest.raises(CycleError):
        join(main='import {a} from "./other.js";\n', other='import {b} from "./main.js";\n')


def test_all_modules_of_the_page_are_joined() -> None:
    folder = files("lexitree.views").joinpath("web")
    names = {each.name.removesuffix(".js") for each in folder.iterdir() if each.name.endswith(".js")}
    page = explanation_page([sure("(3 fun)", STARS)])
    assert set(re.findall(r"const \$(\w+) = \(\(\) => \{\n", page)) == names
    for name in names:
        source = folder.joinpath(f"{name}.js").read_text(encoding="utf-8")
        assert not re.search(r"</script|<!--", source, re.IGNORECASE), "would end the script element"


def test_brackets_give_the_page_of_their_tree() -> None:
    tree = tree_from_brackets("(_ (_ not) (_ bad))")
    prediction = Predictor(tiny_model()).predict(tree)
    assert embedded(prediction.html())["text"] == "not bad"
