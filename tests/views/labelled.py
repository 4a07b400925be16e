"""Labelled trees made by hand, without a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

import numpy as np
from hypothesis import strategies as st

from lexitree.labels import SENTIMENTS, LabelSet
from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from lexitree.views.evidence import find_evidence
from lexitree.views.quotes import SentenceText
from tests.strategies import dependency_trees, trees

STARS = LabelSet(tuple("01234"), dict(zip("01234", SENTIMENTS, strict=True)))
LABEL_SETS = (STARS, LabelSet(("0", "1")), LabelSet(("LOC", "NUM", "HUM")), LabelSet(tuple("123")))
WORDS = ("not", "bad", "film", "but", "although", ",", "!", "the", "a")


class Weigher:
    """Gives the weights that a function says."""

    def __init__(self, weights: Callable[[int], Sequence[float]]) -> None:
        self.weights = weights

    def word_weights(self, node: int) -> tuple[float, ...]:
        return tuple(self.weights(node))


def labelled(
    tree: Tree,
    labels: LabelSet | Sequence[str],
    rows: Sequence[Sequence[float]],
    heads: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
    weigh: Callable[[int], Sequence[float]] | None = None,
) -> LabelledTree:
    """A tree with these probabilities by node, head words and weights."""
    return LabelledTree(
        source=tree,
        label_set=labels if isinstance(labels, LabelSet) else LabelSet(tuple(labels)),
        node_probabilities=np.array(rows, dtype=np.float32),
        head_index=None if heads is None else np.array(heads),
        head_weight=None if weights is None else np.array(weights, dtype=np.float32),
        weigher=None if weigh is None else Weigher(weigh),
    )


def sure(brackets: str, labels: LabelSet | Sequence[str]) -> LabelledTree:
    """A tree in brackets whose own labels have probability 1."""
    tree = tree_from_brackets(brackets)
    label_set = labels if isinstance(labels, LabelSet) else LabelSet(tuple(labels))
    rows = [[float(label == each) for each in label_set.ids] for label in tree.labels]
    return labelled(tree, label_set, rows)


@st.composite
def judged(draw: st.DrawFn) -> LabelledTree:
    """Trees of every shape with random probabilities of several kinds of labels, from sure to undecided."""
    tree = draw(st.one_of(trees(words=WORDS), dependency_trees(words=WORDS)))
    labels = draw(st.sampled_from(LABEL_SETS))
    sureness = draw(st.sampled_from((0.1, 0.5, 3.0)))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = random.dirichlet([sureness] * len(labels), tree.num_nodes)
    return labelled(tree, labels, rows.tolist(), heads=tree.starts.tolist())


def sentence_text(tree: LabelledTree, number: int = 0) -> SentenceText:
    """The tree as a sentence of its words with spaces between them."""
    ends = list(accumulate((len(word) + 1 for word in tree.words), initial=0))
    spans = [(start, end - 1) for start, end in pairwise(ends)]
    return SentenceText(number, " ".join(tree.words), spans, find_evidence(tree))
