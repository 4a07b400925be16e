"""Head words: the paper's cosine rule, and weights that are exact shares of the head vector."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.models import head_words
from lexitree.models.head_words import find_head_words, left_shares
from lexitree.ops import levelwise
from lexitree.ops.numpy.heads import word_weights
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import HeadMethod, HeadWeights
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.strategies import trees
from tests.tiny import chain

SIZE = 4


def random_heads(batch: TreeBatch, method: HeadMethod) -> tuple[torch.Tensor, HeadWeights, torch.Tensor]:
    torch.manual_seed(0)
    words = torch.randn(batch.num_leaves, SIZE, dtype=torch.float64)
    weights = HeadWeights(
        torch.randn(SIZE, 2 * SIZE, dtype=torch.float64), torch.randn(SIZE, dtype=torch.float64)
    )
    return words, weights, levelwise.levelwise_compose_heads(words, weights, batch, method)


@pytest.mark.parametrize("method", ["G", "L", "R", "A"])
@given(forest=st.lists(trees(max_words=9, binary=True), min_size=1, max_size=3))
@settings(max_examples=25, deadline=None)
def test_a_head_is_a_word_of_its_phrase_by_the_cosine_rule(method: HeadMethod, forest: list[Tree]) -> None:
    batch = TreeBatch.from_trees(forest)
    _, weights, x = random_heads(batch, method)
    heads = find_head_words(x, weights, batch, method)
    assert ((heads.leaf >= batch.span_start) & (heads.leaf < batch.span_end)).all()
    assert ((heads.weight >= 0) & (heads.weight <= 1)).all()
    assert torch.equal(heads.leaf[: batch.num_leaves], torch.arange(batch.num_leaves))
    pairs = batch.children_index.view(-1, 2).tolist()
    for node, (left, right) in enumerate(pairs, start=batch.num_leaves):
        near = [torch.cosine_similarity(x[node], x[child], dim=0).item() for child in (left, right)]
        if abs(near[0] - near[1]) > 1e-9:
            assert heads.leaf[node] == heads.leaf[left if near[0] > near[1] else right]


@given(tree=trees(max_words=7, binary=True))
@settings(max_examples=25, deadline=None)
def test_weights_are_the_words_shares_of_the_head_vector(tree: Tree) -> None:
    """Replacing the head word's vector by another moves the head vector by exactly its share of the change."""
    batch = TreeBatch.from_trees([tree])
    words, weights, x = random_heads(batch, "A")
    heads = find_head_words(x, weights, batch, "A")
    root = int(batch.root_index[0])
    changed = words.clone()
    changed[heads.leaf[root]] += 1
    moved = levelwise.levelwise_compose_heads(changed, weights, batch, "A")[root] - x[root]
    assert torch.allclose(moved.mean(), heads.weight[root], rtol=0, atol=1e-12)


def test_the_side_methods_take_their_side_even_among_equal_words() -> None:
    batch = TreeBatch.from_trees([tree_from_brackets("(X (X a a) a)")])
    words = torch.ones(3, SIZE)
    for method, leaf in (("L", 0), ("R", 2)):
        x = levelwise.levelwise_compose_heads(words, None, batch, method)
        heads = find_head_words(x, None, batch, method)
        assert heads.leaf[-1] == leaf
        assert heads.weight[-1] == 1


def test_weights_add_up_to_one_even_in_half_precision() -> None:
    """oneDNN, which has faster products of this precision, stops with an illegal instruction on some processors."""
    tree = chain(30, "right")
    batch = TreeBatch.from_trees([tree])
    _, weights, x = random_heads(batch, "G")
    half = HeadWeights(weights.gate.bfloat16(), weights.bias.bfloat16())
    with torch.backends.mkldnn.flags(enabled=False):
        found = find_head_words(x.bfloat16(), half, batch, "G")
        shares = left_shares(x.bfloat16(), half, batch, "G")
    by_word = word_weights(tree.arity.tolist(), shares.flip(0).numpy())
    assert sum(by_word) == pytest.approx(1, abs=1e-6)
    assert by_word[int(found.leaf[-1])] == pytest.approx(found.weight[-1].item(), abs=1e-6)


@given(forest=st.lists(trees(max_words=12, binary=True), min_size=1, max_size=3))
@settings(max_examples=25, deadline=None)
def test_heads_are_the_same_by_level_and_by_doubling(forest: list[Tree]) -> None:
    assert_same_heads(TreeBatch.from_trees(forest))


@pytest.mark.parametrize("num_words", [1, 2, 3, 5, 9, 100])
def test_doubling_reaches_the_words_of_deep_trees(num_words: int) -> None:
    assert_same_heads(TreeBatch.from_trees([chain(num_words)]))


def assert_same_heads(batch: TreeBatch) -> None:
    _, _, x = random_heads(batch, "G")
    generator = torch.Generator().manual_seed(1)
    num_phrases = batch.num_nodes - batch.num_leaves
    takes_right = torch.rand(num_phrases, generator=generator) < 0.5
    chosen = batch.children_index.view(-1, 2).gather(1, takes_right.long().unsqueeze(1)).squeeze(1)
    share = torch.rand(num_phrases, SIZE, generator=generator, dtype=x.dtype)
    leaf, shares = head_words._follow_by_doubling(chosen, share, batch)
    leaf_by_level, shares_by_level = head_words._follow_by_level(chosen, share, batch)
    assert torch.equal(leaf, leaf_by_level)
    assert torch.allclose(shares, shares_by_level, rtol=1e-12, atol=0)
