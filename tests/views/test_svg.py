"""Pictures: nothing overlaps, lines cross no box, all is inside, everything is escaped."""

from __future__ import annotations

import dataclasses
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.errors import TreeError
from lexitree.labels import SENTIMENTS, LabelSet, order_labels
from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import Tree
from lexitree.views.colors import label_colors
from lexitree.views.svg import MAX_SHOWN_CHARACTERS, Box, draw_svg, lay_out_boxes, line_way, text_width
from tests.strategies import any_text, trees
from tests.views.labelled import labelled

SVG = "{http://www.w3.org/2000/svg}"
FILM = tree_from_brackets("(3 (2 (2 the) (2 film)) (4 (2 is) (4 great)))")
HEADS = [3, 1, 0, 1, 3, 2, 3]
STARS = LabelSet(tuple("01234"), dict(zip("01234", SENTIMENTS, strict=True)))


@st.composite
def pictures(draw: st.DrawFn, max_words: int = 14) -> LabelledTree:
    """Any tree; each phrase takes the head of one of its parts, as a model's do."""
    tree = draw(trees(max_words, words=any_text().filter(bool), labels=any_text()))
    heads = tree.starts.tolist()
    for node in range(tree.num_nodes - 1, -1, -1):
        if tree.children[node]:
            heads[node] = heads[draw(st.sampled_from(tree.children[node]))]
    return LabelledTree.from_tree(tree, draw(st.sampled_from([heads, None])))


def overlap(one: Box, other: Box) -> bool:
    beside = one.left + one.width <= other.left or other.left + other.width <= one.left
    return not beside and one.top < other.bottom and other.top < one.bottom


def segments(way: str) -> list[tuple[float, float, float, float]]:
    """The three straight pieces of a line, as (x, y, x, y)."""
    x, y, bend, sideways, end = map(float, re.findall(r"-?[\d.]+", way))
    return [(x, y, x, bend), (x, bend, sideways, bend), (sideways, bend, sideways, end)]


def crosses(segment: tuple[float, float, float, float], box: Box) -> bool:
    x1, y1, x2, y2 = segment
    slack = 0.11  # coordinates are written with one decimal
    within = box.left + slack < max(x1, x2) and min(x1, x2) < box.left + box.width - slack
    return within and box.top + slack < max(y1, y2) and min(y1, y2) < box.bottom - slack


@given(pictures())
@settings(max_examples=60)
def test_no_boxes_overlap_and_no_line_crosses_one(picture: LabelledTree) -> None:
    boxes = lay_out_boxes(picture)
    for place, box in enumerate(boxes):
        assert not any(overlap(box, other) for other in boxes[:place])
    for node, parent in enumerate(picture.source.parents.tolist()[1:], 1):
        assert boxes[parent].bottom < boxes[node].top
        for segment in segments(line_way(boxes[parent], boxes[node])):
            assert not any(crosses(segment, box) for box in boxes)


@given(st.lists(pictures(8), max_size=3))
@settings(max_examples=60)
def test_any_text_is_well_formed_and_inside(shown: list[LabelledTree]) -> None:
    labels = LabelSet(order_labels(label for picture in shown for label in picture.labels))
    shown = [dataclasses.replace(picture, label_set=labels) for picture in shown]
    root = ElementTree.fromstring(draw_svg(shown))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    groups = [group for group in root if group.tag == f"{SVG}g"]
    assert len(groups) == len(shown)
    end = 0.0
    for group, picture in zip(groups, shown, strict=True):
        top = float(group.attrib["transform"].split()[1].rstrip(")"))
        assert top >= end
        rectangles = list(group.iter(f"{SVG}rect"))
        assert len(rectangles) == len(list(group.iter(f"{SVG}title"))) == picture.source.num_nodes
        for found in rectangles:
            x, y, w, h = (float(found.attrib[name]) for name in ("x", "y", "width", "height"))
            assert 0 <= x <= x + w <= width
            assert top <= top + y < top + y + h <= height
            end = max(end, top + y + h)


@pytest.mark.parametrize("num_words", [10, 25, 40])
def test_sentences_of_usual_length_fit_a_page(num_words: int) -> None:
    """A word needs about 60 pixels: 40 words are a wide window, and no word is cut."""
    words = ["something", "is", "rather", "good", ","] * (num_words // 5)
    arity = [2, 0] * (num_words - 1) + [0]
    picture = LabelledTree.from_tree(Tree(arity, ["1"] * len(arity), words), [0] * len(arity))
    boxes = lay_out_boxes(picture)
    assert max(box.left + box.width for box in boxes) < 62 * num_words
    assert all(box.width >= text_width(word) for box, word in zip(boxes[1::2], words[:-1], strict=True))


def test_what_a_picture_shows() -> None:
    rows = [[0, 0, 0, 0.75, 0.25], [0, 0, 0.5, 0.25, 0.25], *[[0, 0, 1, 0, 0]] * 4, [0, 0, 0, 0, 1]]
    root = ElementTree.fromstring(draw_svg([labelled(FILM, STARS, rows, HEADS)]))
    assert [text.text for text in root.iter(f"{SVG}text")][:5] == list(SENTIMENTS)
    group = next(child for child in root if child.tag == f"{SVG}g")
    assert [text.text for text in group.iter(f"{SVG}text")] == [
        *("great", "film", "the", "film", "great", "is", "great")
    ]
    titles = [title.text for title in group.iter(f"{SVG}title")]
    assert titles[0] == "positive 0.750, head: great\nthe film is great"
    assert titles[1] == "neutral 0.500, head: film\nthe film"
    assert titles[6] == "very positive 1.000\ngreat"
    fills = [found.attrib["fill"] for found in group.iter(f"{SVG}rect")]
    colors = label_colors(STARS)
    assert fills == [colors[name] for name in ("positive", *["neutral"] * 5, "very positive")]


def test_the_way_of_the_head_is_emphasised() -> None:
    group = ElementTree.fromstring(draw_svg([LabelledTree.from_tree(FILM, HEADS)]))[-1]
    lines = [path.attrib.get("class") for path in group.iter(f"{SVG}path")]
    assert lines == [None] * 3 + ["head"] * 3
    marked = [part.attrib.get("class") == "head" for part in group.iter(f"{SVG}g")][1:]
    assert marked == [True, False, False, False, True, False, True]


def test_long_words_are_cut_and_shown_whole_on_hovering() -> None:
    word = "x" * 500 + "<&\"'"
    text = LabelledTree.from_tree(Tree.leaf(word, "1")).svg()
    root = ElementTree.fromstring(text)
    assert len([found.text for found in root.iter(f"{SVG}text")][1] or "") == MAX_SHOWN_CHARACTERS
    assert next(root.iter(f"{SVG}title")).text == f"1\n{word}"


def test_a_deep_chain_needs_no_recursion() -> None:
    num_words = 3000
    chain = Tree([2] * (num_words - 1) + [0] * num_words, ["1"] * (2 * num_words - 1), ["w"] * num_words)
    assert LabelledTree.from_tree(chain, chain.starts).svg().count("<rect") == 2 * num_words + 1


def test_nothing_to_draw_is_a_picture_all_the_same() -> None:
    assert ElementTree.fromstring(draw_svg([])).tag == f"{SVG}svg"


def test_the_size_of_a_picture_does_not_grow_with_the_square_of_the_depth() -> None:
    def size(num_words: int) -> int:
        chain = Tree([2, 0] * (num_words - 1) + [0], ["1"] * (2 * num_words - 1), ["word"] * num_words)
        return len(LabelledTree.from_tree(chain, chain.starts).svg())

    assert size(2_000) < 2.1 * size(1_000)


def texts_in(picture: str) -> list[tuple[str | None, str | None]]:
    return [(text.get("class"), text.text) for text in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def test_a_plain_tree_shows_its_labels_and_tags() -> None:
    penn = tree_from_brackets("(SBARQ (WHNP (WP$ whose)) (NP (DT a)))")
    assert texts_in(draw_svg(penn)) == [
        *((None, "SBARQ"), (None, "WHNP"), ("tag", "WP$"), (None, "whose")),
        *((None, "NP"), ("tag", "DT"), (None, "a")),
    ]
    assert draw_svg([penn]) == draw_svg(penn) == draw_svg(LabelledTree.from_tree(penn))
    fills = {found.get("fill") for found in ElementTree.fromstring(draw_svg(penn)).iter(f"{SVG}rect")}
    assert fills == {None, "#ffffff"}


def test_numbers_keep_their_colours_without_a_legend() -> None:
    picture = draw_svg(FILM)
    assert texts_in(picture)[0] == (None, "3")
    fills = [found.get("fill") for found in ElementTree.fromstring(picture).iter(f"{SVG}rect")][1:]
    scale = label_colors(STARS)
    assert fills[0] == scale["positive"]
    assert fills[-1] == scale["very positive"]


def test_a_tree_without_labels_is_a_picture_of_its_shape() -> None:
    picture = draw_svg(tree_from_brackets("(_ (_ the) (_ (_ old) (_ -LRB-)))"))
    assert texts_in(picture) == [(None, "the"), (None, "old"), (None, "(")]
    boxes = [rect for rect in ElementTree.fromstring(picture).iter(f"{SVG}rect") if rect.get("x")]
    assert [rect.get("width") for rect in boxes][::2][:2] == ["8", "8"]


def test_a_model_without_heads_keeps_its_coloured_boxes() -> None:
    rows = [[0, 0, 0, 1, 0]] * FILM.num_nodes
    shown = labelled(FILM, STARS, rows, None)
    assert lay_out_boxes(shown)[0].height == lay_out_boxes(shown)[-1].height
    assert texts_in(draw_svg(shown))[0] == ("name", "very negative")


def test_a_dependency_tree_has_no_phrases_to_draw() -> None:
    with pytest.raises(TreeError, match="cannot be drawn as a picture"):
        draw_svg(DependencyTree.from_parents(["a", "b"], [-1, 0]))
