"""Scores of candidates: those of the paper's equations, whatever the order of lists and batches."""

from __future__ import annotations

import importlib.util
import itertools
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import trees
from torch import Tensor

from lexitree.errors import ConfigError
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.word_table import WordTable
from lexitree.ops.tree_batch import TreeBatch
from lexitree.trees.tree import Tree
from lexitree_paper.rerank.batches import ListBatch, batch_lists
from lexitree_paper.rerank.examples import BinaryList, make_list_example
from lexitree_paper.rerank.lists import CandidateList, ScoredTree
from lexitree_paper.rerank.model import RerankerModel
from lexitree_paper.rerank.recipe import RERANKERS, RerankerConfig
from lexitree_paper.rerank.scoring import score_lists
from lexitree_paper.rerank.task import margin_loss
from tiny_lists import make_lists, prepared, tiny_model

TOLERANCE = 1e-9
LISTS = prepared(make_lists(6, num_wrong=4))
ONE_WORD = CandidateList((ScoredTree(Tree.leaf("yes", "UH"), 0.0),))

each_model = pytest.mark.parametrize("name", RERANKERS)


def make_batch(model: RerankerModel, lists: Sequence[BinaryList], *, shares: bool | None = None) -> ListBatch:
    examples = [make_list_example(each, model.lexicon, model.config.labels) for each in lists]
    shared = model.shares_subtrees if shares is None else shares
    return batch_lists(examples, model.device, goes_down=model.goes_down, shares=shared)


def scores_of(model: RerankerModel, lists: Sequence[BinaryList]) -> list[np.ndarray]:
    examples = [make_list_example(each, model.lexicon, model.config.labels) for each in lists]
    return [scored.tree_scores for scored in score_lists(model, examples)]


def reordered(candidates: CandidateList, order: Sequence[int]) -> CandidateList:
    return CandidateList(tuple(candidates.candidates[place] for place in order), candidates.gold)


@each_model
@given(seed=st.integers(0, 99))
@settings(max_examples=10)
def test_neither_the_order_of_a_list_nor_its_company_matters(name: str, seed: int) -> None:
    model = tiny_model(name, LISTS)
    expected = scores_of(model, LISTS)
    rng = random.Random(seed)
    orders = [rng.sample(range(len(each.trees)), len(each.trees)) for each in LISTS]
    shuffled = prepared([reordered(each.source, order) for each, order in zip(LISTS, orders, strict=True)])
    places = rng.sample(range(len(LISTS)), len(LISTS))
    found = scores_of(model, [shuffled[place] for place in places])
    for place, scores in zip(places, found, strict=True):
        np.testing.assert_allclose(scores, expected[place][orders[place]], atol=TOLERANCE)
        np.testing.assert_allclose(scores_of(model, [LISTS[place]])[0], expected[place], atol=TOLERANCE)


def gradients(model: RerankerModel, batch: ListBatch) -> dict[str, Tensor]:
    model.zero_grad()
    scores = model(batch)
    weight = torch.randn(scores.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    (scores * weight.to(scores)).sum().backward()
    found = {name: weight.grad for name, weight in model.named_parameters()}
    return {
        "scores": scores.detach(),
        **{name: grad.to_dense().clone() for name, grad in found.items() if grad is not None},
    }


@each_model
@pytest.mark.parametrize("score_words", [True, False])
def test_scores_and_gradients_are_those_of_the_reference(name: str, score_words: bool) -> None:
    reference = tiny_model(name, LISTS, backend="reference", score_words=score_words)
    expected = gradients(reference, make_batch(reference, LISTS))
    for backend, shares in itertools.product(("levelwise", "auto"), (True, False)):
        model = tiny_model(name, LISTS, backend=backend, score_words=score_words)
        found = gradients(model, make_batch(model, LISTS, shares=shares))
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            torch.testing.assert_close(found[key], value, rtol=0, atol=TOLERANCE, msg=key)


@st.composite
def candidate_lists(draw: st.DrawFn) -> CandidateList:
    """Trees of every shape over the same words: unary chains, flat and deep phrases, one word, the same tree twice."""
    first = draw(trees(max_words=8, labels=LABELS))
    found = [first]
    for _ in range(draw(st.integers(0, 3))):
        other = draw(trees(min_words=first.num_words, max_words=first.num_words, labels=LABELS))
        found.append(Tree(other.arity, other.labels, first.words))
    # Some differ in nothing but their labels, or not at all.
    found += [Tree(tree.arity, tree.labels[::-1], first.words) for tree in found if draw(st.booleans())]
    scores = draw(st.lists(st.floats(-50, 0), min_size=len(found), max_size=len(found)))
    return CandidateList(tuple(map(ScoredTree, found, scores)), first)


LABELS = ("S", "NP", "VP", "NN", ",")


@each_model
@given(lists=st.lists(candidate_lists(), min_size=1, max_size=3))
@settings(max_examples=15)
def test_trees_of_every_shape_have_the_scores_of_the_reference(name: str, lists: list[CandidateList]) -> None:
    binary = prepared(lists)
    found, fastest, expected = (
        scores_of(tiny_model(name, binary, backend=backend), binary)
        for backend in ("levelwise", "auto", "reference")
    )
    for one, other, wanted in zip(found, fastest, expected, strict=True):
        np.testing.assert_allclose(one, wanted, atol=TOLERANCE)
        np.testing.assert_allclose(other, wanted, atol=TOLERANCE)


@each_model
@given(lists=st.lists(candidate_lists(), min_size=1, max_size=4), rng=st.randoms(use_true_random=False))
@settings(max_examples=15)
def test_scores_of_every_shape_do_not_depend_on_order(
    name: str, lists: list[CandidateList], rng: random.Random
) -> None:
    binary = prepared(lists)
    model = tiny_model(name, binary)
    alone = [scores_of(model, [each])[0] for each in binary]
    orders = [rng.sample(range(len(each.candidates)), len(each.candidates)) for each in lists]
    places = rng.sample(range(len(lists)), len(lists))
    found = scores_of(model, prepared([reordered(lists[place], orders[place]) for place in places]))
    for place, scores in zip(places, found, strict=True):
        np.testing.assert_allclose(scores, alone[place][orders[place]], atol=TOLERANCE)


def deep_tree(num_words: int, *, left: bool, chain: int) -> Tree:
    """Brackets that all begin, or all end, at the same word, each below a chain of unary phrases."""
    unary = [1] * chain
    step = [2, *unary] if left else [2, 0, *unary]
    arity = unary + step * (num_words - 1) + [0] * (num_words if left else 1)
    labels = [LABELS[number % 3] if children else "NN" for number, children in enumerate(arity)]
    return Tree(arity, labels, [f"word{number % 7}" for number in range(num_words)])


@each_model
def test_deep_trees_have_the_scores_of_the_reference(name: str) -> None:
    deep = [deep_tree(70, left=left, chain=chain) for left in (True, False) for chain in (0, 2)]
    binary = prepared([CandidateList(tuple(ScoredTree(tree, 0.0) for tree in deep), deep[0])])
    (found,), (expected,) = (
        scores_of(tiny_model(name, binary, backend=backend), binary) for backend in ("levelwise", "reference")
    )
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)


def test_trees_that_differ_in_labels_only_go_down_once() -> None:
    first = LISTS[0].source.candidates[0]
    renamed = Tree(
        first.tree.arity, ["X" if label == "NP" else label for label in first.tree.labels], first.tree.words
    )
    others = LISTS[0].source.candidates[1:]
    binary = prepared([CandidateList((first, *others, ScoredTree(renamed, -9.0))), LISTS[1].source])
    model = tiny_model("bicontree", binary)
    batch = make_batch(model, binary)
    assert batch.down is not None
    shapes = [{tuple(tree.arity.tolist()) for tree in each.trees} for each in binary]
    assert batch.down.num_trees == sum(map(len, shapes)) < batch.num_candidates
    assert batch.num_candidates == sum(len(each.trees) for each in binary)


def test_the_papers_equation() -> None:
    """One tree by hand: the sum over its phrases of log softmax(relu(W_L N_B + W_R N_C + W_H H_A + b))[label]."""
    model = tiny_model("contree-lex", LISTS, backend="reference", score_words=False)
    (first, *_), scorer = LISTS, model.scorer
    tree = first.trees[0]
    batch = TreeBatch.from_trees([tree], [model.lexicon.index(tree.words)])
    assert model.encoder.heads is not None
    x = model.encoder.heads(model.lexicon(batch.word_index), batch, model.backend)
    h = model.encoder(x, batch, None, model.backend)
    by_node = dict(zip(range(tree.num_nodes), batch.preorder_index.tolist(), strict=True))
    width = h.shape[1]
    assert scorer.head_weight is not None
    total = 0.0
    for node, parts in enumerate(tree.children):
        if not parts:
            continue
        left, right = (h[by_node[part]] for part in parts)
        W_L, W_R = scorer.weight[:, :width], scorer.weight[:, width:]
        O = torch.relu(W_L @ left + W_R @ right + scorer.head_weight @ x[by_node[node]] + scorer.bias)  # noqa: E741
        total += math.log(O.softmax(0)[model.config.labels.index(tree.labels[node])].item())
    assert scores_of(model, [first])[0][0] == pytest.approx(total, abs=1e-9)


@each_model
def test_trees_of_a_list_share_their_dropped_words(name: str) -> None:
    """The same tree twice has the same score, also in training: nothing of its words is drawn twice."""
    source = LISTS[0].source
    (twice,) = prepared([CandidateList((source.candidates[0], *source.candidates))])
    model = tiny_model(name, LISTS, dropout=0.5).train()
    for shares in (True, False):
        torch.manual_seed(4)
        scores = model(make_batch(model, [twice], shares=shares))
        assert scores[0].item() == pytest.approx(scores[1].item(), abs=TOLERANCE)
    torch.manual_seed(5)
    assert model(make_batch(model, [twice]))[0].item() != pytest.approx(scores[0].item())


def random_binary(num_words: int, rng: random.Random) -> list[int]:
    """The numbers of children of a random binary tree in pre-order."""
    if num_words == 1:
        return [0]
    left = rng.randint(1, num_words - 1)
    return [2, *random_binary(left, rng), *random_binary(num_words - left, rng)]


@each_model
def test_a_list_of_hundreds_and_one_of_one_word(name: str) -> None:
    """All are scored, as each would be by itself."""
    rng = random.Random(3)
    words = [f"word{number}" for number in range(12)]
    shapes = [random_binary(len(words), rng) for _ in range(400)]
    found = [Tree(arity, ["NP" if children else "NN" for children in arity], words) for arity in shapes]
    many = CandidateList(tuple(ScoredTree(tree, 0.0) for tree in found))
    binary = prepared([many, ONE_WORD])
    model = tiny_model(name, binary)
    long, short = scores_of(model, binary)
    assert len(long) == 400
    few = prepared([CandidateList((many.candidates[place],)) for place in (0, 7, 399)])
    np.testing.assert_allclose(long[[0, 7, 399]], np.concatenate(scores_of(model, few)), atol=TOLERANCE)
    assert short[0] <= 0


def test_words_without_a_score_add_nothing() -> None:
    (single,) = prepared([ONE_WORD])
    assert scores_of(tiny_model("contree", [single], score_words=False), [single])[0].tolist() == [0.0]


def test_other_models_and_sizes_are_refused() -> None:
    with pytest.raises(ConfigError, match="model must be one of"):
        RerankerConfig(model="bilstm", labels=("?",))
    config = RerankerConfig(labels=("?",), word_size=5)
    table = WordTable(Vocabulary(["a"]), torch.zeros(2, 4))
    with pytest.raises(ConfigError, match="4 dimensions"):
        RerankerModel(config, table)


class TestMarginLoss:
    def test_by_hand(self) -> None:
        scores = torch.tensor([[1.0, 0.0, 9.0], [5.0, 0.0, 0.0]])
        wrong = torch.tensor([[0.0, 2.0, 0.0], [0.0, 3.0, 1.0]])
        is_there = torch.tensor([[True, True, False], [True, True, True]])
        # 0 + 2 is one more than 1; 5 is more than 0 + 3 and than 0 + 1.
        assert margin_loss(scores, wrong, is_there, 1.0).tolist() == [1.0, 0.0]
        assert margin_loss(scores, wrong, is_there, 0.25).tolist() == [0.0, 0.0]

    @given(st.data())
    @settings(max_examples=50)
    def test_against_every_candidate_in_turn(self, data: st.DataObject) -> None:
        num = data.draw(st.integers(1, 5))
        scores = data.draw(st.lists(st.integers(-5, 5), min_size=num, max_size=num))
        wrong = data.draw(st.lists(st.integers(0, 5), min_size=num, max_size=num))
        fewest = min(wrong)
        best = max(score for score, count in zip(scores, wrong, strict=True) if count == fewest)
        shortfalls = [score + count - fewest - best for score, count in zip(scores, wrong, strict=True)]
        loss = margin_loss(
            torch.tensor([scores]).double(), torch.tensor([wrong]).double(), torch.ones(1, num).bool(), 1.0
        )
        assert loss.item() == max(0, *shortfalls)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton")
@each_model
def test_the_kernels_have_the_scores_and_gradients_of_the_reference(name: str) -> None:
    """Interpreted where there is no GPU; they read single trees, whose words are still looked up once a list."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lists = LISTS[:2]
    reference = tiny_model(name, lists, backend="reference")
    expected = gradients(reference, make_batch(reference, lists))
    fused = tiny_model(name, lists, backend="fused").float().to(device)
    assert not fused.shares_subtrees
    found = gradients(fused, make_batch(fused, lists))
    for key, value in expected.items():
        torch.testing.assert_close(found[key].cpu().double(), value, rtol=1e-3, atol=1e-4, msg=key)
