"""Head words of a kind: punctuation, or all but content words, are heads only where there is nothing else."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.errors import ConfigError
from lexitree.models.head_methods import HeadComposer, head_entropy
from lexitree.models.head_words import lean_to_candidates
from lexitree.models.registries import ENCODERS
from lexitree.ops.padding import fill_batch
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import HeadCandidates
from lexitree.text.word_kinds import WordKind, word_kind
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.ops.comparison import assert_agree, make_batch, make_model, run
from tests.ops.test_levelwise import config_of
from tests.strategies import trees
from tests.tiny import tiny_model

WORDS = ("film", "awful", "the", "of", ".", "!!")
SENTENCE = tree_from_brackets("(X (X (X the film) (X , (X of course))) (X . .))")
restricted = pytest.mark.parametrize("candidates", ["words", "content"])


def with_kinds(tree: Tree, seed: int) -> Tree:
    """The tree with words of all kinds."""
    drawn = torch.randint(len(WORDS), (tree.num_words,), generator=torch.Generator().manual_seed(seed))
    return Tree(tree.arity, tree.labels, [WORDS[number] for number in drawn.tolist()])


forests = st.lists(
    st.builds(with_kinds, trees(max_words=9, binary=True), st.integers(0, 99)), min_size=1, max_size=4
)


def rank(word: str, candidates: HeadCandidates) -> int:
    """How late a word is chosen, by the setting."""
    kind = word_kind(word)
    return kind if candidates == "content" else int(kind == WordKind.PUNCTUATION)


@restricted
@given(forest=forests)
@settings(max_examples=20, deadline=None)
def test_a_head_is_of_the_best_kind_in_its_phrase(candidates: HeadCandidates, forest: list[Tree]) -> None:
    batch = TreeBatch.from_trees(forest)
    heads = HeadComposer(4, candidates=candidates).double()
    x = heads(torch.randn(batch.num_leaves, 4, dtype=torch.float64), batch)
    found = heads.find_words(x, batch)
    words = [word for tree in forest for word in tree.words]
    ranks = [rank(word, candidates) for word in words]
    for node, (start, end) in enumerate(zip(batch.span_start.tolist(), batch.span_end.tolist(), strict=True)):
        assert ranks[int(found.leaf[node])] == min(ranks[start:end])
    shares = heads.left_shares(x, batch)
    decided = lean_to_candidates(batch, candidates)
    assert decided is not None
    # Where one part has the better words, all of the head vector is that part's.
    assert torch.equal(shares[decided > 0], torch.ones_like(shares[decided > 0]))
    assert torch.equal(shares[decided < 0], torch.zeros_like(shares[decided < 0]))


@restricted
@pytest.mark.parametrize("name", [name for name, encoder in ENCODERS.items() if encoder.has_heads])
@given(forest=forests)
@settings(max_examples=8, deadline=None)
def test_implementations_agree_on_outputs_and_every_gradient(
    name: str, candidates: HeadCandidates, forest: list[Tree]
) -> None:
    config = dataclasses.replace(config_of(name, "G", True), head_candidates=candidates)
    batch = make_batch(forest)
    model = make_model(config, batch.num_leaves)
    assert_agree(run(model, batch, "levelwise"), run(model, batch, "reference"), 1e-10)


def test_without_a_restriction_nothing_is_decided() -> None:
    batch = TreeBatch.from_trees([SENTENCE])
    assert lean_to_candidates(batch, "all") is None


def test_only_the_gate_can_restrict_its_heads() -> None:
    with pytest.raises(ConfigError, match="the head method A cannot restrict head words"):
        tiny_model(head_method="A", head_candidates="words")


def test_entropy_counts_open_gates_and_leaves_decided_ones_alone() -> None:
    batch = TreeBatch.from_trees([tree_from_brackets("(X film .)"), tree_from_brackets("(X film film)")])
    heads = HeadComposer(3, candidates="words")
    assert heads.gate is not None
    assert heads.bias is not None
    torch.nn.init.zeros_(heads.gate)
    torch.nn.init.zeros_(heads.bias)
    words = torch.randn(4, 3, requires_grad=True)
    x = heads(words, batch)
    entropy = head_entropy(heads, x, batch)
    # Of two phrases, one is decided by its full stop, and the gate of the other is half open.
    assert entropy.item() == pytest.approx(torch.log(torch.tensor(2.0)).item(), abs=1e-4)
    entropy.backward()
    assert all(
        torch.isfinite(weight.grad).all()
        for weight in (heads.gate, heads.bias, words)
        if weight.grad is not None
    )


def test_phrases_that_fill_a_batch_have_no_entropy() -> None:
    batch = TreeBatch.from_trees([SENTENCE])
    filled = fill_batch(batch, batch.num_leaves + 3, batch.num_nodes - batch.num_leaves + 2, 8)
    heads = HeadComposer(3, bias_init="zero")
    words = torch.randn(batch.num_leaves, 3)
    x = heads(words, batch)
    more = x.new_zeros(filled.num_nodes, 3)
    more[: batch.num_leaves], inner = words, x[batch.num_leaves :]
    more[filled.num_leaves : filled.num_leaves + len(inner)] = inner
    torch.testing.assert_close(head_entropy(heads, more, filled), head_entropy(heads, x, batch))


def test_the_loss_has_the_entropy_in_it() -> None:
    model = tiny_model(dropout=0.0)
    batch = TreeBatch.from_trees([tree_from_brackets("(X a b)")])
    plain, with_entropy = model.loss(batch), model.loss(batch, head_entropy=2.0)
    heads = model.encoder.heads
    assert heads is not None
    x = heads(model.lexicon(batch.node_word_index, None, None), batch)
    torch.testing.assert_close(with_entropy, plain + 2 * head_entropy(heads, x, batch))
