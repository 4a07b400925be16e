"""The sums, the best tree and the k best trees of a chart are those of all trees written out."""

from __future__ import annotations

import pytest
import torch

from lexitree.parsers.best_trees import find_best_trees, find_k_best_trees
from lexitree.parsers.chart import log_partition, span_borders, sum_labels
from lexitree.parsers.pointers import ChartOrder
from tests.parsers.enumeration import all_trees, random_scores, score_tree, tree_of_spans

SIZES = [(1, 1), (1, 3), (2, 2), (3, 2), (4, 2), (5, 1), (6, 1)]
each_size = pytest.mark.parametrize(("num_words", "num_labels"), SIZES)


def partition(scores: torch.Tensor, lengths: list[int]) -> torch.Tensor:
    return log_partition(
        *sum_labels(scores, ChartOrder.of_spans(len(scores)).num_words), torch.tensor(lengths)
    )


def test_the_order_of_the_chart_is_by_width_and_start() -> None:
    order = ChartOrder(4)
    starts, ends = span_borders(4)
    assert [order.row(start, end - start) for start, end in zip(starts, ends, strict=True)] == list(range(10))
    assert order.num_spans == 10
    assert order.rows(3) == slice(7, 9)


@each_size
def test_the_sum_over_all_trees(num_words: int, num_labels: int) -> None:
    scores = random_scores(num_words, 1, num_labels)
    all_scores = torch.stack([score_tree(tree, scores) for tree in all_trees(num_words, num_labels)])
    torch.testing.assert_close(partition(scores, [num_words]), all_scores.logsumexp(0, keepdim=True))


@each_size
def test_its_gradient_is_that_of_the_sum_written_out(num_words: int, num_labels: int) -> None:
    scores = random_scores(num_words, 1, num_labels, seed=1).requires_grad_()
    written_out = torch.stack([score_tree(tree, scores) for tree in all_trees(num_words, num_labels)])
    (expected,) = torch.autograd.grad(written_out.logsumexp(0), scores)
    (gradient,) = torch.autograd.grad(partition(scores, [num_words]).sum(), scores)
    torch.testing.assert_close(gradient, expected)


def test_the_gradient_is_right_for_a_batch_with_shorter_sentences() -> None:
    scores = random_scores(5, 3, 2, seed=2).requires_grad_()
    assert torch.autograd.gradcheck(lambda scores: partition(scores, [5, 1, 3]), scores)


def test_the_probabilities_of_spans_sum_up() -> None:
    scores = random_scores(7, 4, 3, seed=3).requires_grad_()
    lengths = [7, 4, 1, 6]
    (probabilities,) = torch.autograd.grad(partition(scores, lengths).sum(), scores)
    assert (probabilities > -1e-12).all()
    spans = probabilities.sum((0, 2))
    # A binary tree over n words has 2n - 1 spans, each with one label or none.
    torch.testing.assert_close(spans, torch.tensor([2.0 * length - 1 for length in lengths]).double())
    for column, length in enumerate(lengths):
        words = probabilities[:length, column].sum(1)
        torch.testing.assert_close(words, torch.ones(length).double())
        assert probabilities[length:7, column].abs().sum() == 0


@each_size
def test_the_best_tree(num_words: int, num_labels: int) -> None:
    scores = random_scores(num_words, 1, num_labels, seed=4)
    best = max(all_trees(num_words, num_labels), key=lambda tree: float(score_tree(tree, scores)))
    found = find_best_trees(scores, torch.tensor([num_words]))
    assert tree_of_spans(found.spans(0, num_words), num_words) == best
    torch.testing.assert_close(found.scores[0], score_tree(best, scores))


@each_size
@pytest.mark.parametrize("k", [1, 2, 7, 20])
def test_the_k_best_trees(num_words: int, num_labels: int, k: int) -> None:
    scores = random_scores(num_words, 1, num_labels, seed=5)
    trees = sorted(all_trees(num_words, num_labels), key=lambda tree: -float(score_tree(tree, scores)))[:k]
    found = find_k_best_trees(scores, torch.tensor([num_words]), k)
    assert found.num_trees(0) == len(trees)
    assert [tree_of_spans(found.spans(0, num_words, rank), num_words) for rank in range(len(trees))] == trees
    expected = torch.stack([score_tree(tree, scores) for tree in trees])
    torch.testing.assert_close(found.scores[0, : len(trees)], expected)


def test_a_batch_gives_what_its_sentences_give_alone() -> None:
    lengths = [6, 2, 5, 1]
    scores = random_scores(6, 4, 3, seed=6)
    best = find_best_trees(scores, torch.tensor(lengths))
    several = find_k_best_trees(scores, torch.tensor(lengths), 5)
    sums = partition(scores, lengths)
    for column, length in enumerate(lengths):
        _, ends = span_borders(6)
        alone = scores[ends <= length, column : column + 1]
        only = torch.tensor([length])
        assert best.spans(column, length) == find_best_trees(alone, only).spans(0, length)
        assert several.spans(column, length, 3) == find_k_best_trees(alone, only, 5).spans(0, length, 3)
        torch.testing.assert_close(sums[column : column + 1], partition(alone, [length]))


def test_the_best_of_the_k_best_is_the_best_of_long_sentences_too() -> None:
    scores = random_scores(30, 2, 4, seed=7)
    lengths = torch.tensor([30, 24])
    best, several = find_best_trees(scores, lengths), find_k_best_trees(scores, lengths, 8)
    for column, length in enumerate(lengths.tolist()):
        assert several.spans(column, length, 0) == best.spans(column, length)
        trees = {tuple(several.spans(column, length, rank)) for rank in range(8)}
        assert len(trees) == 8
        assert (several.scores[column].diff() <= 0).all()


def test_single_precision_is_enough_for_long_sentences() -> None:
    scores = (8 * random_scores(150, 2, 3, seed=8)).float().requires_grad_()
    lengths = [150, 90]
    totals = partition(scores, lengths)
    torch.testing.assert_close(totals, partition(scores.double(), lengths).float())
    (probabilities,) = torch.autograd.grad(totals.sum(), scores)
    spans = probabilities.sum((0, 2))
    torch.testing.assert_close(spans, torch.tensor([299.0, 179.0]), rtol=1e-3, atol=0)
