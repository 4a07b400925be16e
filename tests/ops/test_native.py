"""The native implementation against the reference: same inputs, outputs and every gradient, on every processor kind."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lexitree.kernels import library
from lexitree.ops import reference
from lexitree.ops.native import (
    calls,
    native_compose_heads,
    native_run_bottom_up,
    native_run_sequences,
    native_run_top_down,
)
from lexitree.ops.operations import BOTTOM_UP, COMPOSE_HEADS, SEQUENCES, TOP_DOWN
from lexitree.ops.registry import get_backend
from lexitree.ops.spans import SequenceSchedule
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import BottomUpWeights, HeadWeights, SequenceWeights, TopDownWeights
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.ops.comparison import assert_agree, make_batch, make_model, run
from tests.ops.test_levelwise import chain, config_of, fill_fresh_buffers_with_nan, random_weights
from tests.strategies import trees

pytestmark = pytest.mark.skipif(library.why_absent() is not None, reason=str(library.why_absent()))

variants = [
    ("contree", "G", True),
    ("contree-nary", "G", True),
    ("contree-lex", "G", True),
    ("topdown", "G", True),
    ("topdown", "G", False),
    ("bicontree", "G", True),
    ("bicontree", "G", False),
    *(("contree-lex", method, True) for method in "LRA"),
    ("bilstm", "G", True),
    ("bilstm-plain", "G", True),
]

FOREST = [
    Tree.leaf("a"),
    tree_from_brackets("(X a b)"),
    chain(9, left=True),
    chain(9, left=False),
    tree_from_brackets("(X (X a b) (X (X c d) (X e f)))"),
    Tree.leaf("z"),
]


@pytest.fixture(params=library.supported_targets() or ["none"])
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The kernels for each kind of processor that this one can stand in for."""
    monkeypatch.setattr(
        calls, "find_kernels", lambda precision: library.find_kernels(precision, request.param)
    )
    return request.param


@pytest.mark.parametrize(("name", "method", "share"), variants)
@given(forest=st.lists(trees(max_words=8, binary=True), min_size=1, max_size=4), seed=st.integers(0, 99))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_agrees_with_the_reference(
    name: str, method: str, share: bool, forest: list[Tree], seed: int
) -> None:
    batch = make_batch(forest)
    model = make_model(config_of(name, method, share), batch.num_leaves, seed)
    assert_agree(run(model, batch, "native"), run(model, batch, "reference"), 1e-10)


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize(("name", "method", "share"), variants)
@pytest.mark.parametrize("hidden", [1, 3, 37])
def test_agrees_on_every_shape_at_odd_sizes(name: str, method: str, share: bool, hidden: int) -> None:
    """37 numbers are more than one vector of any processor, and no whole number of them."""
    batch = make_batch(FOREST)
    model = make_model(config_of(name, method, share, hidden, word_size=2 * hidden + 1), batch.num_leaves)
    expected = run(model, batch, "reference")
    assert_agree(run(model, batch, "native"), expected, 1e-10)
    scale = {key: max(1.0, value.abs().max().item()) for key, value in expected.items()}
    found = run(model.float(), batch, "native")
    assert_agree(
        {key: value.double() / scale[key] for key, value in found.items()},
        {key: value / scale[key] for key, value in expected.items()},
        1e-5,
    )


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize(("name", "method", "share"), variants)
def test_no_result_depends_on_uninitialized_memory(
    name: str, method: str, share: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = make_batch([chain(5, left=True), Tree.leaf("a"), chain(4, left=False)])
    model = make_model(config_of(name, method, share), batch.num_leaves)
    expected = run(model, batch, "native")
    fill_fresh_buffers_with_nan(monkeypatch)
    assert_agree(run(model, batch, "native"), expected, 0.0)


@pytest.mark.parametrize("name", ["contree", "contree-nary", "contree-lex", "topdown", "bicontree", "bilstm"])
def test_a_tree_scores_the_same_alone_and_in_company(name: str) -> None:
    model = make_model(config_of(name, "G", True, hidden=37), sum(tree.num_words for tree in FOREST)).float()
    model.backend_name = "native"
    words = [torch.arange(tree.num_words).numpy() for tree in FOREST]
    together = TreeBatch.from_trees(FOREST, words)
    h = model.encoder(model._input_vectors(together), together, None, model.backend)
    for tree, word, found in zip(FOREST, words, together.split(h), strict=True):
        single = TreeBatch.from_trees([tree], [word])
        alone = model.encoder(model._input_vectors(single), single, None, model.backend)
        assert_agree({"h": found}, {"h": single.split(alone)[0]}, 1e-6)


@pytest.mark.parametrize("name", ["bicontree", "bilstm"])
def test_an_empty_batch_gives_no_scores(name: str) -> None:
    model = make_model(config_of(name, "G", True), 1)
    assert run(model, TreeBatch.from_trees([]), "native")["scores"].shape == (0, 3)


def test_many_levels_and_wide_ones() -> None:
    """More nodes than are packed at once, and a tree as deep as it has words."""
    batch = make_batch([chain(300, left=True), *[tree_from_brackets("(X (X a b) (X c d))")] * 200])
    model = make_model(config_of("bicontree", "G", True, hidden=3), batch.num_leaves)
    assert_agree(run(model, batch, "native"), run(model, batch, "levelwise"), 1e-10)


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("name", ["bilstm", "bilstm-plain"])
def test_long_spans_and_wide_steps(name: str) -> None:
    """More rows at a step than are computed at once, more places than a gradient sums up at once."""
    batch = make_batch([chain(60, left=True), *[tree_from_brackets("(X (X a b) (X c d))")] * 110])
    model = make_model(config_of(name, "G", True, hidden=3), batch.num_leaves)
    assert_agree(run(model, batch, "native"), run(model, batch, "levelwise"), 1e-10)


def test_extreme_numbers_saturate_and_nan_stays() -> None:
    batch = TreeBatch.from_trees([tree_from_brackets("(X (X a b) c)")])
    D, H = 3, 2
    shapes = ((3 * H, D), (5 * H, 2 * H), (3 * H, 2 * H), (H, H), (5 * H,))
    weights = BottomUpWeights(*random_weights(*shapes))
    for scale in (1e4, 1e300):
        x = scale * torch.randn(batch.num_leaves, D, dtype=torch.float64)
        expected = reference.reference_run_bottom_up(x, weights, batch)
        torch.testing.assert_close(native_run_bottom_up(x, weights, batch), expected, rtol=0, atol=1e-12)
    x = torch.zeros(batch.num_leaves, D, dtype=torch.float64)
    x[0, 1] = float("nan")
    assert native_run_bottom_up(x, weights, batch)[[0, -1]].isnan().all()


class TestGradcheck:
    """The kernels' gradients against finite differences."""

    D, H = 3, 2

    def setup_method(self) -> None:
        torch.manual_seed(0)
        self.batch = TreeBatch.from_trees(
            [chain(4, left=True), Tree.leaf("a"), tree_from_brackets("(X a (X b c))")]
        )

    def check(self, function: object, *inputs: torch.Tensor) -> None:
        assert torch.autograd.gradcheck(function, inputs, atol=1e-6)  # pyright: ignore

    @pytest.mark.parametrize("leans", [False, True])
    def test_heads(self, leans: bool) -> None:
        words, gate, bias = random_weights((self.batch.num_leaves, self.D), (self.D, 2 * self.D), (self.D,))
        lean = torch.randn(self.batch.num_nodes - self.batch.num_leaves) if leans else None
        self.check(
            lambda x, g, b: native_compose_heads(x, HeadWeights(g, b), self.batch, "G", lean),
            words,
            gate,
            bias,
        )
        expected = reference.reference_compose_heads(words, HeadWeights(gate, bias), self.batch, "G", lean)
        found = native_compose_heads(words, HeadWeights(gate, bias), self.batch, "G", lean)
        torch.testing.assert_close(found, expected)

    @pytest.mark.parametrize("lexical", [True, False])
    @pytest.mark.parametrize("peepholes", [True, False])
    def test_bottom_up(self, lexical: bool, peepholes: bool) -> None:
        D, H = self.D, self.H
        num_inputs = self.batch.num_nodes if lexical else self.batch.num_leaves
        shapes = [((4 if lexical else 3) * H, D), (5 * H, 2 * H), (5 * H,)]
        cells = [(3 * H, 2 * H), (H, H)] if peepholes else []
        x, *inputs = random_weights((num_inputs, D), *shapes, *cells)

        def run_up(x: torch.Tensor, *inputs: torch.Tensor) -> torch.Tensor:
            w, h, b, *cells = inputs
            c, peephole = cells or (None, None)
            return native_run_bottom_up(x, BottomUpWeights(w, h, c, peephole, b), self.batch)

        self.check(run_up, x, *inputs)

    @pytest.mark.parametrize("sides", [1, 2])
    def test_top_down_where_nodes_share_rows(self, sides: int) -> None:
        D, H = self.D, self.H
        shapes = ((sides, 4 * H, D), (2, 4 * H, H), (2, 2 * H, H), (2, H, H), (sides, 4 * H))
        x, *weights = random_weights((3, D), *shapes)
        source = torch.randint(3, (self.batch.num_nodes,))
        self.check(lambda x, *w: native_run_top_down(x, TopDownWeights(*w), self.batch, source), x, *weights)
        expected = reference.reference_run_top_down(x, TopDownWeights(*weights), self.batch, source)
        found = native_run_top_down(x, TopDownWeights(*weights), self.batch, source)
        torch.testing.assert_close(found, expected)

    @pytest.mark.parametrize("backwards", [True, False])
    @pytest.mark.parametrize("peepholes", [True, False])
    def test_sequences_where_spans_come_twice(self, backwards: bool, peepholes: bool) -> None:
        D, H = self.D, self.H
        start, end = (each.repeat(2).numpy() for each in (self.batch.span_start, self.batch.span_end))
        schedule = SequenceSchedule.from_spans(start, end, backwards=backwards)
        cells = [(2 * H, H), (H, H)] if peepholes else []
        # The last word is in no span.
        x, *inputs = random_weights((self.batch.num_leaves + 1, D), (4 * H, D), (4 * H, H), (4 * H,), *cells)

        def weights(*inputs: torch.Tensor) -> SequenceWeights:
            w, h, b, *cells = inputs
            c, peephole = cells or (None, None)
            return SequenceWeights(w, h, c, peephole, b)

        self.check(lambda x, *w: native_run_sequences(x, weights(*w), schedule), x, *inputs)
        expected = reference.reference_run_sequences(x, weights(*inputs), schedule)
        torch.testing.assert_close(native_run_sequences(x, weights(*inputs), schedule), expected)


def test_sequences_of_no_spans_or_words_without_gradient() -> None:
    shapes = ((8, 3), (8, 2), (4, 2), (2, 2), (8,))
    x, *weights = random_weights((4, 3), *shapes)
    none = SequenceSchedule.from_spans(*(torch.zeros(0, dtype=torch.int64).numpy() for _ in range(2)))
    h = native_run_sequences(x, SequenceWeights(*weights), none)
    assert h.shape == (0, 2)
    assert not any(each.any() for each in torch.autograd.grad(h.sum(), [x, *weights]))
    some = SequenceSchedule.from_spans(torch.tensor([0, 1]).numpy(), torch.tensor([3, 2]).numpy())
    found, expected = (
        torch.autograd.grad(function(x.detach(), SequenceWeights(*weights), some).square().sum(), weights)
        for function in (native_run_sequences, reference.reference_run_sequences)
    )
    torch.testing.assert_close(found, expected)


def test_words_without_gradient_cost_none() -> None:
    batch = make_batch(FOREST)
    model = make_model(config_of("bicontree", "G", True), batch.num_leaves)
    model.encoder.heads = None
    x = torch.randn(batch.num_nodes, 7, dtype=torch.float64)
    gradients: dict[str, list[torch.Tensor]] = {}
    for backend in ("native", "reference"):
        model.zero_grad()
        model.encoder(x, batch, None, get_backend(backend, dtype=torch.float64)).square().sum().backward()
        gradients[backend] = [each.grad for each in model.encoder.parameters() if each.grad is not None]
    for found, expected in zip(gradients["native"], gradients["reference"], strict=True):
        torch.testing.assert_close(found, expected)


def test_what_runs_is_reported() -> None:
    assert get_backend("auto").report([COMPOSE_HEADS, BOTTOM_UP, TOP_DOWN, SEQUENCES]) == {
        "compose_heads": "native",
        "bottom_up": "native",
        "top_down": "native",
        "sequences": "native",
    }
