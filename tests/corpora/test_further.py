from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lexitree.corpora.further import FurtherCorpus, Grain, GrainedTrees, epoch_order
from tests.tiny import tiny_trees

GROUPS = {"bad": (0, 1), "odd": (), "good": (3, 4)}


def further(numbers: list[int], *, first_tree: int = 0, **settings: Any) -> FurtherCorpus:
    trees = tiny_trees(len(numbers))
    train = GrainedTrees(trees, [np.array([number]) for number in numbers], [1] * len(trees))
    return FurtherCorpus("x", train, GrainedTrees(), GROUPS, 5, first_tree, **settings)


def test_labels_are_numbered_for_sentences_and_then_for_spans() -> None:
    corpus = further([], weight=2.0, span_weight=3.0)
    numbers = [corpus.grain_of(label, is_span=is_span) for is_span in (False, True) for label in GROUPS]
    assert numbers == [5, -1, 6, 7, -1, 8]
    bad, good = ((0, 1), (0, 1, 3, 4)), ((3, 4), (0, 1, 3, 4))
    assert corpus.grains == (Grain(*bad, 2.0), Grain(*good, 2.0), Grain(*bad, 3.0), Grain(*good, 3.0))


def test_balanced_labels_count_alike() -> None:
    corpus = further([5, 5, 5, 6], weight=2.0, is_balanced=True)
    bad, good, *_ = [grain.weight for grain in corpus.grains]
    assert 3 * bad == pytest.approx(good)
    assert 3 * bad + good == pytest.approx(2.0 * 4)


def test_an_epoch_takes_other_trees_of_a_large_corpus_each_time() -> None:
    corpora = [further([5] * 30, first_tree=10, per_epoch=6), further([6] * 5, first_tree=40)]
    rng = np.random.default_rng(1)
    orders = [epoch_order(48, corpora, rng).tolist() for _ in range(2)]
    for order in orders:
        assert len(set(order)) == len(order) == 10 + 6 + 5 + 3
        assert {*range(10), *range(40, 48)} < set(order)
        assert order != sorted(order)
    assert set(orders[0]) != set(orders[1])


def test_without_limits_the_order_is_that_of_all_trees() -> None:
    first, second = (np.random.default_rng(3) for _ in range(2))
    assert epoch_order(20, [further([5] * 4)], first).tolist() == second.permutation(20).tolist()
