"""Cards: what hovering over a phrase shows, of few labels and words and of many."""

from __future__ import annotations

import re
from html import unescape

import pytest

from lexitree.pipeline.predictor import Predictor
from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from lexitree.views.boxes import MOST_ROWS, card, describe, num_rows, phrase_shares, word_shares
from lexitree.views.colors import label_looks
from lexitree.views.shown_tree import span_of, word_weights
from tests.tiny import chain, tiny_model
from tests.views.labelled import labelled


def flat(weights: list[float], head: int, labels: tuple[str, ...] = ("0", "1")) -> LabelledTree:
    """One phrase over words `w0 w1 ...` of these weights; its first label is the likeliest by far."""
    words = [f"w{place}" for place in range(len(weights))]
    tree = Tree.flat(words, labels[0])
    likely = [0.9, *[0.1 / (len(labels) - 1)] * (len(labels) - 1)]
    return labelled(
        tree,
        labels,
        [likely] * tree.num_nodes,
        heads=[head, *range(len(words))],
        weights=[weights[head], *[1.0] * len(words)],
        weigh=lambda node: [1.0] if node else weights,
    )


def rows(sentence: LabelledTree, node: int = 0) -> list[list[tuple[str, str]]]:
    looks = label_looks(sentence.label_set)
    shares = phrase_shares(sentence, looks, node)
    return [[(share.name, share.shown) for share in column] for column in shares]


def test_few_labels_and_words() -> None:
    labels, words = rows(flat([0.2, 0.5, 0.3], head=2))
    assert labels == [("0", "0.90"), ("1", "0.10")], "in the order of the label set"
    assert words == [("w1", "50%"), ("w2", "30%"), ("w0", "20%")], "the heaviest first"


def test_as_many_as_there_is_room_for() -> None:
    sentence = flat([1 / MOST_ROWS] * MOST_ROWS, 0, tuple("abcdef"))
    assert [len(column) for column in rows(sentence)] == [MOST_ROWS, MOST_ROWS]
    assert num_rows(sentence) == MOST_ROWS


def test_the_others_are_added_up() -> None:
    labels, words = rows(flat([0.3, 0.2, 0.1, 0.1, 0.1, *[0.01] * 20], 0, tuple("abcdefghijk")))
    assert labels[0] == ("a", "0.90")
    assert labels[-1] == ("6 other labels", "0.06")
    assert words[-1] == ("20 other words", "20%")
    assert [len(labels), len(words)] == [MOST_ROWS, MOST_ROWS]


def test_the_head_word_is_always_there() -> None:
    """Each step takes the head of the closer part, which need not have the largest weight in the end."""
    sentence = flat([0.3, 0.2, 0.1, 0.1, 0.1, *[0.01] * 20], head=24)
    words = word_shares(sentence, 0)
    assert words[-2].name == "w24"
    assert [share.css_class for share in words] == [""] * 4 + ["lt-main", "lt-rest"]
    assert sum(share.share for share in words) == pytest.approx(1)


def test_single_words_have_labels_only() -> None:
    labels, words = rows(flat([0.2, 0.8], head=1), node=1)
    assert labels
    assert not words


def test_models_without_heads_and_phrases_that_were_not_asked_for() -> None:
    tree = tree_from_brackets("(0 (1 a) (1 b))")
    sentence = labelled(tree, ("0", "1"), [[0.6, 0.4]])
    assert rows(sentence) == [[("0", "0.60"), ("1", "0.40")], []]
    assert rows(sentence, 1) == [[], []]
    assert num_rows(sentence) == 2


def test_without_the_model_only_the_head_is_known() -> None:
    """As in a document that came from another process."""
    tree = tree_from_brackets("(0 (1 a) (1 b) (1 c))")
    sentence = labelled(tree, ("0", "1"), [[0.6, 0.4]] * 4, heads=[1, 0, 1, 2], weights=[0.7, 1, 1, 1])
    assert rows(sentence)[1] == [("b", "70%"), ("2 other words", "30%")]


def test_a_card_is_escaped_and_hidden_without_styles() -> None:
    words = ["<b>", '"x', "\u202ey"]
    tree = Tree.flat(words, "<i>")
    sentence = labelled(
        tree,
        ("<i>", "1"),
        [[0.5, 0.5]] * 4,
        heads=[0, 0, 1, 2],
        weights=[0.5, 1, 1, 1],
        weigh=lambda node: [0.5, 0.25, 0.25],
    )
    shares = phrase_shares(sentence, label_looks(sentence.label_set), 0)
    html = card(sentence, 0, shares)
    assert " hidden " in html
    assert set(re.findall(r"<(\w+)", html)) == {"div", "p", "bdi", "ul", "li", "b"}
    assert "&lt;b&gt; &quot;x \\u202ey" in html
    assert re.findall(r"--s:([\d.]+)%", html) == ["50.0", "50.0", "50.0", "25.0", "25.0"]
    assert describe(sentence, 0, shares) == (
        '<i> 0.50, head <b> (50%): <b> "x \\u202ey [<i> 0.50, 1 0.50] [<b> 50%, "x 25%, \\u202ey 25%]'
    )
    assert unescape(html).count("\\u202ey") == 2


def test_the_weights_of_a_prediction_are_asked_for_phrase_by_phrase() -> None:
    prediction = Predictor(tiny_model()).predict(chain(30, "right"))
    for node in (0, 2, 40):
        weights = prediction.head_weights(node)
        assert weights is not None
        assert list(word_weights(prediction, node).values()) == list(weights)
        assert next(iter(word_weights(prediction, node))) == span_of(prediction, node)[0]
    assert word_weights(prediction, 1) == {}
