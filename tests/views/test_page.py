"""The page that explains and the view for notebooks: complete, well formed, escaped, and legible in both modes."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lexitree.views.boxes import MOST_WORDS_ACROSS, MOST_WORDS_SHOWN, nested_boxes

from lexitree.labels import SENTIMENTS, LabelSet
from lexitree.pipeline.predictor import Predictor
from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from lexitree.views.colors import Look, label_looks
from lexitree.views.page import explanation_page, notebook_view, step_list
from lexitree.views.shown_tree import composition_order, head_path, is_turning_point, phrase_text
from lexitree.views.visible import html_text, visible
from tests.pipeline.stubs import tiny_pipeline
from tests.tiny import chain, tiny_dependencies, tiny_model
from tests.views.labelled import labelled

STARS = LabelSet(tuple("01234"), dict(zip("01234", SENTIMENTS, strict=True)))
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


def not_bad() -> LabelledTree:
    """`It is not bad`, where two wrongs make a right."""
    tree = tree_from_brackets("(3 (2 It) (3 (2 is) (3 (1 not) (0 bad))))")
    rows = [[0.0] * 5 for _ in range(7)]
    for row, label in zip(rows, tree.labels, strict=True):
        row[int(label)] = 0.75
        row[2] += 0.25
    heads, weights = [3, 0, 3, 1, 3, 2, 3], [0.4, 1, 0.5, 1, 0.625, 1, 1]
    return labelled(tree, STARS, rows, heads, weights)


class Checker(HTMLParser):
    """Elements in their order; every one must be closed where it was opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

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
        assert tag not in ("link", "iframe", "object", "embed", "base", "img")
        assert attributes.get("style", "").count("url(") == 0
    styles = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    assert not any("@import" in style or "url(" in style for style in styles)
    ids = [attributes["id"] for _, attributes in checker.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    return checker


def test_the_steps_lead_from_words_to_the_whole() -> None:
    sentence = not_bad()
    order = composition_order(sentence)
    assert [phrase_text(sentence, node) for node in order] == ["not bad", "is not bad", "It is not bad"]
    assert [is_turning_point(sentence, node) for node in order] == [True, False, False]
    steps = step_list(sentence, label_looks(sentence.label_set))
    text = " ".join("".join(check(steps).texts).split())
    assert text.startswith("not−+bad−−→not bad+positive 0.75head bad62%turning point")
    assert text.count("turning point") == 1


def test_a_unary_chain_is_a_step_of_its_own() -> None:
    tree = tree_from_brackets("(1 (0 (0 a) (0 b)))")
    sentence = labelled(tree, ("0", "1"), [[0.0, 1.0], *[[1.0, 0.0]] * 3])
    assert composition_order(sentence) == [1, 0]
    assert is_turning_point(sentence, 0)


def test_the_page_has_it_all() -> None:
    page = explanation_page([not_bad()])
    checker = check(page)
    assert page.startswith("<!doctype html>")
    tags = [tag for tag, _ in checker.elements]
    assert tags.count("h1") == 1
    assert tags.count("main") == 1
    assert tags.count("script") == 1
    text = "".join(checker.texts)
    for name in SENTIMENTS:
        assert name in text
    items = [attributes for _, attributes in checker.elements if attributes.get("role") == "treeitem"]
    assert len(items) == 7
    assert items[0]["aria-label"].startswith(
        "positive 0.75, head bad (40%): It is not bad [very negative 0.00"
    )
    assert [item["tabindex"] for item in items] == ["0"] + ["-1"] * 6
    assert [item["aria-level"] for item in items] == ["1", "2", "2", "3", "3", "4", "4"]
    assert page.count("Show the 1 turning point") == 0, "three steps need no filter"
    assert explanation_page([not_bad()]) == page


def test_thick_edges_lead_to_the_head() -> None:
    sentence = not_bad()
    assert [node for node, leads in enumerate(head_path(sentence)) if leads] == [0, 2, 4, 6]


def test_several_sentences_have_links() -> None:
    document = tiny_pipeline()("The film is good. The plot is not bad, and the cast is great. Fine.")
    checker = check(document.html())
    links = [attributes["href"] for tag, attributes in checker.elements if tag == "a"]
    assert links == ["#sentence-1", "#sentence-2", "#sentence-3"]
    sections = [attributes["id"] for tag, attributes in checker.elements if tag == "section"]
    assert [f"#{section}" for section in sections] == links
    assert "The text is" in "".join(checker.texts)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_is_shown_and_nothing_else(hostile: str) -> None:
    document = tiny_pipeline()(f"The film is {hostile} good.")
    for html in (document.html(), document._repr_html_(), document.sentences[0]._repr_html_()):
        checker = check(html)
        num_scripts = [tag for tag, _ in checker.elements].count("script")
        assert num_scripts == ("<!doctype" in html)
        assert "alert(1)" not in "".join(
            re.findall(r"<script>.*?</script>|<style>.*?</style>", html, re.DOTALL)
        )
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f]", html)
    if "\u202e" in hostile:
        assert "a\\u202eb\\u2066c\\u200fd" in document.html()


@pytest.mark.parametrize("hostile", ["<img/src=x/onerror=hit>", *HOSTILE])
def test_hostile_words_of_a_tree_are_shown_as_words(hostile: str) -> None:
    """In a tree, a whole tag can be one word."""
    word = hostile.replace(" ", "\u00a0")
    tree = Tree.flat(["good", word, "film"])
    prediction = Predictor(tiny_model()).predict(tree)
    assert prediction.words[1] == word
    for html in (prediction.html(), prediction._repr_html_()):
        assert visible(word) in "".join(check(html).texts)


@given(
    st.lists(
        st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8), min_size=1, max_size=6
    )
)
@settings(max_examples=60)
def test_any_words_and_labels(words: list[str]) -> None:
    tree = Tree.flat(words, words[0])
    labels = tuple(dict.fromkeys([words[0], ""]))
    rows = [[1.0] + [0.0] * (len(labels) - 1)] * tree.num_nodes
    sentences = [labelled(tree, labels, rows), LabelledTree.from_tree(tree)]
    for shown in (sentences, sentences[:1], sentences[1:]):
        check(explanation_page(shown))
        check(notebook_view(shown))


def test_text_is_on_one_line_and_spelled_out() -> None:
    assert visible("a\nb\tc\u2028d") == "a b c d"
    assert visible("\u202e\x1b\x00") == "\\u202e\\x1b\\x00"
    assert visible("👩\u200d👧 می\u200cخواهم") == "👩\u200d👧 می\u200cخواهم"
    assert html_text("<a href='x'>\"&") == "&lt;a href=&#x27;x&#x27;&gt;&quot;&amp;"


def test_long_sentences_run_down_the_page_and_stay_small() -> None:
    looks = label_looks(LabelSet(("0", "1")))

    def right(num_words: int) -> LabelledTree:
        tree = chain(num_words, "right")
        return labelled(tree, ("0", "1"), [[1.0, 0.0]] * tree.num_nodes)

    assert "lt-across" in nested_boxes(right(MOST_WORDS_ACROSS), looks)
    assert "lt-down" in nested_boxes(right(MOST_WORDS_ACROSS + 1), looks)
    assert "too large" in nested_boxes(right(MOST_WORDS_SHOWN + 1), looks)
    sizes = [len(explanation_page([right(num_words)])) for num_words in (1_000, 2_000)]
    assert sizes[1] < 2.2 * sizes[0]
    check(explanation_page([right(5_000)]))


def test_places_in_the_grid() -> None:
    boxes = nested_boxes(not_bad(), label_looks(STARS))
    areas = re.findall(r"grid-area:([\d/]+)", boxes)
    assert areas == ["1/1/2/5", "2/1/5/2", "2/2/3/5", "3/2/5/3", "3/3/4/5", "4/3/5/4", "4/4/5/5"]


def test_whole_sentences_only() -> None:
    prediction = Predictor(tiny_model()).predict(chain(4), nodes="root")
    html = prediction._repr_html_()
    checker = check(html)
    assert "no label" in html
    assert f"{prediction.probability:.2f}" in "".join(checker.texts)
    assert "turning point" not in "".join(checker.texts)
    check(prediction.html())


def test_a_dependency_tree_is_drawn() -> None:
    tree = tiny_dependencies(1)[0]
    html = Predictor(tiny_model("deptree")).predict(tree)._repr_html_()
    checker = check(html)
    assert [tag for tag, _ in checker.elements].count("pre") == 1
    words = re.findall(r'class="lt-token[^>]*><bdi>(.*?)</bdi>', html)
    assert tuple(words) == tree.words
    check(Predictor(tiny_model("deptree")).predict(tree).html())


def test_a_notebook_shows_documents_sentences_and_predictions() -> None:
    document = tiny_pipeline()("The film is good. The plot is bad.")
    assert document._repr_html_().count("<summary>Tree</summary>") == 2
    assert document.sentences[1]._repr_html_().count("<summary>Tree</summary>") == 1
    html = document.sentences[0]._repr_html_()
    assert 'class="lt-root lt-compact"' in html
    assert "<script" not in html
    assert ">positive<" in html or ">negative<" in html


def test_nothing_at_all() -> None:
    check(explanation_page([]))
    check(notebook_view([]))


def luminance(color: str) -> float:
    channels = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    brighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("labels", [tuple("01234"), tuple("01"), tuple("ABCDEFGHI")])
def test_text_can_be_read_on_every_colour(labels: tuple[str, ...]) -> None:
    """4.5 to 1 is what the Web Content Accessibility Guidelines ask for."""
    looks = label_looks(LabelSet(labels))
    for look in (*looks.light.values(), *looks.dark.values()):
        assert isinstance(look, Look)
        assert contrast(look.fill, look.ink) >= 4.5, look


def test_the_page_itself_can_be_read() -> None:
    page = explanation_page([not_bad()])
    for block in re.findall(r"--page:[^}]*", page):
        colors = dict(re.findall(r"--(\w+):(#\w+)", block))
        full = {
            name: "#" + "".join(c * 2 for c in color[1:]) if len(color) == 4 else color
            for name, color in colors.items()
        }
        for ink in ("ink", "muted", "turn", "accent"):
            for ground in ("page", "card"):
                assert contrast(full[ink], full[ground]) >= 4.5, (ink, ground)


def test_marks_tell_labels_apart_without_colours() -> None:
    assert list(label_looks(STARS).marks.values()) == ["−−", "−", "○", "+", "++"]
    assert list(label_looks(LabelSet(("ABBR", "DESC"))).marks.values()) == ["ABBR", "DESC"]
    assert list(label_looks(LabelSet(("number", "number of"))).marks.values()) == ["1", "2"]
    assert list(label_looks(LabelSet(("a", "b"), {"a": "x", "b": "\u202e"})).marks.values()) == ["x", "\\u20"]
