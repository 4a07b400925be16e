"""The level-wise implementation against the reference: same inputs, outputs and every gradient to 1e-10."""

from __future__ import annotations

import functools
import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.models.model_config import ModelConfig
from lexitree.models.registries import ENCODERS
from lexitree.ops import levelwise, reference
from lexitree.ops.spans import SequenceSchedule
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import (
    BottomUpWeights,
    ChildSumWeights,
    GatedChildrenWeights,
    HeadWeights,
    SequenceWeights,
    TensorWeights,
    TopDownWeights,
)
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.ops.comparison import NUM_LABELS, assert_agree, make_batch, make_model, run
from tests.strategies import trees
from tests.tiny import CONSTITUENCY_MODELS

TOLERANCE = 1e-10

with_heads = [name for name, encoder in ENCODERS.items() if encoder.has_heads]
variants = [
    *((name, "G", True) for name in CONSTITUENCY_MODELS),
    *((name, method, True) for name in with_heads for method in "LRA"),
    ("topdown", "G", False),
    ("bicontree", "G", False),
]


def test_every_model_is_compared() -> None:
    assert {name for name, _, _ in variants} == set(CONSTITUENCY_MODELS)


def config_of(name: str, method: str, share: bool, hidden: int = 5, word_size: int = 7) -> ModelConfig:
    return ModelConfig.from_dict(
        {
            "model": name,
            "labels": [str(label) for label in range(NUM_LABELS)],
            "head_method": method,
            "share_topdown_inputs": share,
            "hidden": hidden,
            "word_size": hidden if ENCODERS[name].words_are_states else word_size,
            # Wide enough that some unit is not cut off by the ReLU: otherwise no gradient would come through.
            "output": 16,
            "dropout": 0.0,
        }
    )


@pytest.mark.parametrize(("name", "method", "share"), variants)
@given(forest=st.lists(trees(max_words=8, binary=True), min_size=1, max_size=4), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_agrees_with_the_reference(
    name: str, method: str, share: bool, forest: list[Tree], seed: int
) -> None:
    batch = make_batch(forest)
    model = make_model(config_of(name, method, share), batch.num_leaves, seed)
    assert_agree(run(model, batch, "levelwise"), run(model, batch, "reference"), TOLERANCE)


@pytest.mark.parametrize(("name", "method", "share"), variants)
@pytest.mark.parametrize("hidden", [1, 3])
def test_agrees_on_every_shape_at_odd_sizes(name: str, method: str, share: bool, hidden: int) -> None:
    forest = [
        Tree.leaf("a"),
        tree_from_brackets("(X a b)"),
        chain(9, left=True),
        chain(9, left=False),
        tree_from_brackets("(X (X a b) (X (X c d) (X e f)))"),
        Tree.leaf("z"),
    ]
    batch = make_batch(forest)
    model = make_model(config_of(name, method, share, hidden, word_size=2 * hidden + 1), batch.num_leaves)
    assert_agree(run(model, batch, "levelwise"), run(model, batch, "reference"), TOLERANCE)


@pytest.mark.parametrize("levels_at_once", [1, 3, 8, 9])
def test_agrees_however_many_levels_are_cut_at_once(
    levels_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lexitree.ops.levelwise.levels.LEVELS_AT_ONCE", levels_at_once)
    batch = make_batch([chain(9, left=True), Tree.leaf("a"), chain(7, left=False)])
    model = make_model(config_of("bicontree", "G", True), batch.num_leaves)
    assert_agree(run(model, batch, "levelwise"), run(model, batch, "reference"), TOLERANCE)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("name", "method", "share"), variants)
def test_agrees_with_the_reference_on_a_gpu(name: str, method: str, share: bool) -> None:
    batch = make_batch(
        [Tree.leaf("a"), chain(9, left=True), chain(7, left=False), tree_from_brackets("(X a b)")]
    )
    model = make_model(config_of(name, method, share), batch.num_leaves)
    expected = run(model, batch, "reference")
    assert_agree(run(model.to("cuda"), batch, "levelwise"), expected, TOLERANCE)


def chain(num_words: int, *, left: bool) -> Tree:
    arity = [2] * (num_words - 1) + [0] * num_words if left else [2, 0] * (num_words - 1) + [0]
    return Tree(arity, ["X"] * len(arity), ["w"] * num_words)


@pytest.mark.parametrize(("name", "method", "share"), variants)
def test_no_result_depends_on_uninitialized_memory(
    name: str, method: str, share: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fresh buffers are filled with NaN: whatever is read before it is written shows."""
    batch = make_batch([chain(5, left=True), Tree.leaf("a"), chain(4, left=False)])
    model = make_model(config_of(name, method, share), batch.num_leaves)
    expected = run(model, batch, "levelwise")
    fill_fresh_buffers_with_nan(monkeypatch)
    assert_agree(run(model, batch, "levelwise"), expected, 0.0)


def fill_fresh_buffers_with_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    new_empty, empty_like = torch.Tensor.new_empty, torch.empty_like

    def new_nan(self: torch.Tensor, *size: int) -> torch.Tensor:
        made = new_empty(self, *size)
        return made.fill_(float("nan")) if made.is_floating_point() else made

    def nan_like(tensor: torch.Tensor) -> torch.Tensor:
        made = empty_like(tensor)
        return made.fill_(float("nan")) if made.is_floating_point() else made

    monkeypatch.setattr(torch.Tensor, "new_empty", new_nan)
    monkeypatch.setattr(torch, "empty_like", nan_like)


@pytest.mark.parametrize("name", CONSTITUENCY_MODELS)
def test_a_tree_scores_the_same_alone_and_in_any_company(name: str) -> None:
    forest = [chain(6, left=True), tree_from_brackets("(X (X a b) c)"), Tree.leaf("a"), chain(3, left=False)]
    model = make_model(config_of(name, "G", True), sum(tree.num_words for tree in forest))
    words = [torch.arange(tree.num_words).numpy() for tree in forest]
    alone = [model(TreeBatch.from_trees([tree], [word])) for tree, word in zip(forest, words, strict=True)]
    for order in itertools.permutations(range(len(forest))):
        batch = TreeBatch.from_trees([forest[k] for k in order], [words[k] for k in order])
        for k, scores in zip(order, batch.split(model(batch)), strict=True):
            single = TreeBatch.from_trees([forest[k]], [words[k]])
            assert torch.allclose(scores, single.split(alone[k])[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", CONSTITUENCY_MODELS)
def test_an_empty_batch_gives_no_scores(name: str) -> None:
    batch = TreeBatch.from_trees([])
    model = make_model(config_of(name, "G", True), 1)
    for backend in ("levelwise", "reference"):
        results = run(model, batch, backend)
        assert results["scores"].shape == (0, NUM_LABELS)


def random_weights(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    return [torch.randn(*shape, dtype=torch.float64).requires_grad_() for shape in shapes]


class TestGradcheck:
    """The hand-written backward passes against finite differences."""

    D, H = 3, 2

    def setup_method(self) -> None:
        torch.manual_seed(0)
        self.batch = TreeBatch.from_trees(
            [chain(4, left=True), Tree.leaf("a"), tree_from_brackets("(X a (X b c))")]
        )

    def check(self, function: object, *inputs: torch.Tensor) -> None:
        assert torch.autograd.gradcheck(function, inputs, atol=1e-6)  # pyright: ignore

    @pytest.mark.parametrize("method", "GLRA")
    def test_heads(self, method: str) -> None:
        words, gate, bias = random_weights((self.batch.num_leaves, self.D), (self.D, 2 * self.D), (self.D,))
        self.check(
            lambda x, g, b: (
                levelwise.levelwise_compose_heads(x, HeadWeights(g, b), self.batch, method)
                + 0 * (g.sum() + b.sum())
            ),
            words,
            gate,
            bias,
        )

    @pytest.mark.parametrize("lexical", [True, False])
    def test_bottom_up(self, lexical: bool) -> None:
        D, H = self.D, self.H
        num_inputs = self.batch.num_nodes if lexical else self.batch.num_leaves
        x, *weights = random_weights(
            (num_inputs, D), ((4 if lexical else 3) * H, D), (5 * H, 2 * H), (3 * H, 2 * H), (H, H), (5 * H,)
        )
        self.check(
            lambda x, *w: levelwise.levelwise_run_bottom_up(x, BottomUpWeights(*w), self.batch), x, *weights
        )

    @pytest.mark.parametrize("lexical", [True, False])
    def test_bottom_up_without_peepholes(self, lexical: bool) -> None:
        D, H = self.D, self.H
        num_inputs = self.batch.num_nodes if lexical else self.batch.num_leaves
        x, *weights = random_weights(
            (num_inputs, D), ((4 if lexical else 3) * H, D), (5 * H, 2 * H), (5 * H,)
        )
        self.check(
            lambda x, w, h, b: levelwise.levelwise_run_bottom_up(
                x, BottomUpWeights(w, h, None, None, b), self.batch
            ),
            x,
            *weights,
        )

    def test_child_sum(self) -> None:
        D, H = self.D, self.H
        batch = TreeBatch.from_trees([tree_from_brackets("(X (X a b c) (X d) e)"), Tree.leaf("a")])
        x, *weights = random_weights((batch.num_nodes, D), (4 * H, D), (4 * H, H), (4 * H,))
        self.check(
            lambda x, *w: levelwise.levelwise_run_child_sum(x, ChildSumWeights(*w), batch), x, *weights
        )

    @pytest.mark.parametrize("sides", [1, 2])
    def test_top_down(self, sides: int) -> None:
        D, H = self.D, self.H
        x, *weights = random_weights(
            (self.batch.num_nodes, D),
            (sides, 4 * H, D),
            (2, 4 * H, H),
            (2, 2 * H, H),
            (2, H, H),
            (sides, 4 * H),
        )
        self.check(
            lambda x, *w: levelwise.levelwise_run_top_down(x, TopDownWeights(*w), self.batch), x, *weights
        )
        # Nodes that have their rows of x in common.
        source = torch.randint(3, (self.batch.num_nodes,))
        run_down = functools.partial(levelwise.levelwise_run_top_down, batch=self.batch, source=source)
        self.check(lambda x, *w: run_down(x, TopDownWeights(*w)), x, *weights)
        expected = reference.reference_run_top_down(x, TopDownWeights(*weights), self.batch, source)
        torch.testing.assert_close(run_down(x, TopDownWeights(*weights)), expected)

    @pytest.mark.parametrize("backwards", [True, False])
    def test_sequences(self, backwards: bool) -> None:
        D, H = self.D, self.H
        spans = self.batch.span_start.numpy(), self.batch.span_end.numpy()
        schedule = SequenceSchedule.from_spans(*spans, backwards=backwards)
        x, *weights = random_weights(
            (self.batch.num_leaves, D), (4 * H, D), (4 * H, H), (2 * H, H), (H, H), (4 * H,)
        )
        self.check(
            lambda x, *w: levelwise.levelwise_run_sequences(x, SequenceWeights(*w), schedule), x, *weights
        )

    def test_sequences_without_peepholes(self) -> None:
        D, H = self.D, self.H
        spans = self.batch.span_start.numpy(), self.batch.span_end.numpy()
        schedule = SequenceSchedule.from_spans(*spans)
        x, *weights = random_weights((self.batch.num_leaves, D), (4 * H, D), (4 * H, H), (4 * H,))
        self.check(
            lambda x, w, h, b: levelwise.levelwise_run_sequences(
                x, SequenceWeights(w, h, None, None, b), schedule
            ),
            x,
            *weights,
        )

    def test_gated_children(self) -> None:
        D, H = self.D, self.H
        of_words, of_phrases = [(2 * H, D), (2 * H, D), (2, H, D), (2, H, D)], [(2 * H, H)] * 4
        x, *weights = random_weights(
            *((self.batch.num_leaves, D), (H, D), (H,), *of_words, *of_phrases),
            *((2, H, H), (H, 2 * H), (H, H), (4 * H,)),
        )
        self.check(
            lambda x, *w: levelwise.levelwise_run_gated_children(x, GatedChildrenWeights(*w), self.batch),
            x,
            *weights,
        )

    def test_tensor_network(self) -> None:
        H = self.H
        x, *weights = random_weights((self.batch.num_leaves, H), (H, 2 * H, 2 * H), (H, 2 * H), (H,))
        self.check(
            lambda x, *w: levelwise.levelwise_run_tensor_network(x, TensorWeights(*w), self.batch),
            x,
            *weights,
        )
