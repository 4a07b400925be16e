"""Sentences that no model has labelled."""

from __future__ import annotations

from collections.abc import Iterable

from lexitree.results.labelled_batch import LabelledBatch
from lexitree.results.labelled_tree import LabelledTree
from lexitree.results.sentence import Sentence
from lexitree.text.tokens import Token, Tokens
from lexitree.trees.flat_parses import FlatParses
from lexitree.trees.flat_trees import FlatTrees
from lexitree.trees.tree import Tree


def placed(labelled: LabelledTree, parse: Tree, text: str, tokens: Iterable[Token]) -> Sentence:
    """A labelled binary tree, put in its place in a text."""
    batch = LabelledBatch(
        labelled.label_set,
        FlatParses.of([parse]),
        FlatTrees.of([labelled.source]),
        labelled.node_probabilities,
        labelled.head_index,
        labelled.head_weight,
        None,
    )
    return batch.sentence(0, text, Tokens.of(tokens))
