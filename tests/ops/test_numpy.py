"""The NumPy implementations and the kernels on arrays against the reference, in both precisions, without torch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lexitree.arrays import RealArray
from lexitree.batch.tree_layout import TreeLayout
from lexitree.errors import ConfigError
from lexitree.kernels import library
from lexitree.models import head_words
from lexitree.ops import reference, spans
from lexitree.ops import weights as kinds
from lexitree.ops.numpy import (
    functions,
    heads,
    native,
    numpy_compose_heads,
    numpy_heads_and_shares,
    numpy_run_bottom_up,
    numpy_run_child_sum,
    numpy_run_dense,
    numpy_run_gated_children,
    numpy_run_sequences,
    numpy_run_tensor_network,
    numpy_run_top_down,
)
from lexitree.ops.numpy.spans import SpanSchedule, numpy_gather_features, span_means
from lexitree.ops.operations import BOTTOM_UP, COMPOSE_HEADS, DENSE, HEADS_AND_SHARES, TOP_DOWN
from lexitree.ops.registry import get_backend
from lexitree.ops.tree_batch import TreeBatch
from lexitree.ops.weights import HeadCandidates, HeadMethod, HeadWeights
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.ops.test_levelwise import chain
from tests.strategies import trees

TOLERANCE = {"float64": 1e-10, "float32": 1e-5}
CANDIDATES: tuple[HeadCandidates, ...] = ("all", "words", "content")
WORDS = ("film", "awful", "the", "of", ".", "!!")

FOREST = [
    Tree.leaf("film"),
    tree_from_brackets("(X the film)"),
    chain(9, left=True),
    chain(9, left=False),
    tree_from_brackets("(X (X of !!) (X (X . the) (X awful film)))"),
    Tree.leaf("."),
]
WIDE = [chain(120, left=True), *[tree_from_brackets("(X (X a b) (X c d))")] * 110]
"""More nodes at a level than the kernels compute at once, and a tree as deep as it has words."""

needs_kernels = pytest.mark.skipif(library.why_absent() is not None, reason=str(library.why_absent()))
forests = st.lists(trees(max_words=8, binary=True, words=WORDS), min_size=1, max_size=4)
few_examples = settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])


def bottom_up_shapes(word: int, hidden: int, lexical: bool, peepholes: bool) -> list[tuple[int, ...] | None]:
    D, H = word, hidden
    cells: list[tuple[int, ...] | None] = [(3 * H, 2 * H), (H, H)] if peepholes else [None, None]
    return [((4 if lexical else 3) * H, D), (5 * H, 2 * H), *cells, (5 * H,)]


def top_down_shapes(word: int, hidden: int, sides: int) -> list[tuple[int, ...] | None]:
    D, H = word, hidden
    return [(sides, 4 * H, D), (2, 4 * H, H), (2, 2 * H, H), (2, H, H), (sides, 4 * H)]


def draw(kind: type, shapes: list[tuple[int, ...] | None], seed: int) -> Any:
    """Weights in float64, as tensors."""
    generator = torch.Generator().manual_seed(seed)
    return kind(
        *(
            None if shape is None else 0.5 * torch.randn(shape, generator=generator, dtype=torch.float64)
            for shape in shapes
        )
    )


def vectors(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1000 + seed), dtype=torch.float64)


def as_arrays(weights: Any, dtype: str) -> Any:
    return type(weights)(*(None if each is None else each.numpy().astype(dtype) for each in weights))


def lay_out(forest: list[Tree]) -> tuple[TreeLayout, TreeBatch]:
    layout = TreeLayout.from_trees(forest)
    return layout, TreeBatch.from_layout(layout)


def assert_close(found: RealArray, expected: torch.Tensor, dtype: str) -> None:
    assert found.dtype == dtype
    assert found.shape == tuple(expected.shape)
    error = np.abs(found - expected.numpy()).max(initial=0)
    assert error <= TOLERANCE[dtype], f"differs by {error:.2e}"


Run = Callable[..., RealArray]

PLAIN: dict[str, Run] = {
    "heads": numpy_compose_heads,
    "bottom_up": numpy_run_bottom_up,
    "top_down": numpy_run_top_down,
    "sequences": numpy_run_sequences,
    "dense": numpy_run_dense,
}


def packing(pack: Callable[[Any], Any], run: Run) -> Run:
    return lambda x, weights, *rest: run(x, None if weights is None else pack(weights), *rest)


UNPACKED: dict[str, Run] = {
    "heads": native.native_array_heads,
    "bottom_up": native.native_array_bottom_up,
    "top_down": native.native_array_top_down,
    "sequences": native.native_array_sequences,
    "dense": native.native_array_dense,
}
PACKED: dict[str, Run] = {
    "heads": packing(native.pack_heads, native.native_array_heads),
    "bottom_up": packing(native.pack_bottom_up, native.native_array_bottom_up),
    "top_down": packing(native.pack_top_down, native.native_array_top_down),
    "sequences": packing(native.pack_sequences, native.native_array_sequences),
    "dense": packing(native.pack_dense, native.native_array_dense),
}


@pytest.fixture(params=["plain", "unpacked", *library.supported_targets()])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Run]:
    """The operations in NumPy, by the kernels, and by those for each kind of processor with packed weights."""
    if request.param == "plain":
        return PLAIN
    if library.why_absent() is not None:
        pytest.skip(str(library.why_absent()))
    if request.param == "unpacked":
        return UNPACKED
    use_target(monkeypatch, request.param)
    return PACKED


def use_target(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    """Let the kernels for a kind of processor run."""
    monkeypatch.setattr(native, "find_kernels", lambda precision: library.find_kernels(precision, target))


@pytest.fixture
def with_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh buffers are filled with NaN: whatever is read before it is written shows."""

    def filled(shape: Any, dtype: Any = np.float64) -> Any:
        is_floating = np.issubdtype(dtype, np.floating)
        return np.full(shape, np.nan, dtype) if is_floating else np.zeros(shape, dtype)

    monkeypatch.setattr(np, "empty", filled)


both = pytest.mark.parametrize("dtype", ["float32", "float64"])


def check_heads(
    run: Run, forest: list[Tree], method: HeadMethod, candidates: HeadCandidates, dtype: str
) -> None:
    layout, batch = lay_out(forest)
    weights = draw(HeadWeights, [(7, 14), (7,)], seed=len(forest)) if method == "G" else None
    lean, leans = (
        find(trees, candidates)
        for find, trees in ((heads.lean_to_candidates, layout), (head_words.lean_to_candidates, batch))
    )
    words = vectors(batch.num_leaves, 7)
    expected = reference.reference_compose_heads(words, weights, batch, method, leans)
    given_weights = None if weights is None else as_arrays(weights, dtype)
    found = run(words.numpy().astype(dtype), given_weights, layout, method, lean)
    assert_close(found, expected, dtype)


@both
@pytest.mark.parametrize("method", ["G", "L", "R", "A"])
@given(forest=forests)
@few_examples
def test_heads(run: dict[str, Run], dtype: str, method: HeadMethod, forest: list[Tree]) -> None:
    check_heads(run["heads"], forest, method, "all", dtype)


@both
@pytest.mark.parametrize("candidates", CANDIDATES)
@pytest.mark.usefixtures("with_nan")
def test_heads_of_a_kind(run: dict[str, Run], dtype: str, candidates: HeadCandidates) -> None:
    for forest in (FOREST, [Tree.leaf("a")], [], WIDE):
        check_heads(run["heads"], forest, "G", candidates, dtype)


def check_bottom_up(
    run: Run, forest: list[Tree], sizes: tuple[int, int], lexical: bool, peepholes: bool, dtype: str
) -> None:
    layout, batch = lay_out(forest)
    D, H = sizes
    weights = draw(kinds.BottomUpWeights, bottom_up_shapes(D, H, lexical, peepholes), seed=len(forest))
    x = vectors(batch.num_nodes if lexical else batch.num_leaves, D)
    expected = reference.reference_run_bottom_up(x, weights, batch)
    assert_close(run(x.numpy().astype(dtype), as_arrays(weights, dtype), layout), expected, dtype)


@both
@pytest.mark.parametrize("lexical", [True, False])
@pytest.mark.parametrize("peepholes", [True, False])
@given(forest=forests)
@few_examples
def test_bottom_up(
    run: dict[str, Run], dtype: str, lexical: bool, peepholes: bool, forest: list[Tree]
) -> None:
    check_bottom_up(run["bottom_up"], forest, (7, 5), lexical, peepholes, dtype)


@both
@pytest.mark.parametrize("lexical", [True, False])
@pytest.mark.parametrize("peepholes", [True, False])
@pytest.mark.parametrize("sizes", [(1, 1), (3, 1), (75, 37)])
@pytest.mark.usefixtures("with_nan")
def test_bottom_up_at_odd_sizes(
    run: dict[str, Run], dtype: str, lexical: bool, peepholes: bool, sizes: tuple[int, int]
) -> None:
    """37 numbers are more than one vector of any processor, and no whole number of them."""
    for forest in (FOREST, [Tree.leaf("a")], []):
        check_bottom_up(run["bottom_up"], forest, sizes, lexical, peepholes, dtype)


@both
@pytest.mark.parametrize("lexical", [True, False])
def test_bottom_up_of_many_nodes(run: dict[str, Run], dtype: str, lexical: bool) -> None:
    check_bottom_up(run["bottom_up"], WIDE, (4, 3), lexical, True, dtype)


def check_top_down(
    run: Run, forest: list[Tree], sizes: tuple[int, int], sides: int, shares: bool, dtype: str
) -> None:
    layout, batch = lay_out(forest)
    D, H = sizes
    weights = draw(kinds.TopDownWeights, top_down_shapes(D, H, sides), seed=len(forest))
    x = vectors(3 if shares else batch.num_nodes, D)
    source = torch.arange(batch.num_nodes) * 7 % 3 if shares else None
    expected = reference.reference_run_top_down(x, weights, batch, source)
    rows = None if source is None else source.numpy()
    assert_close(run(x.numpy().astype(dtype), as_arrays(weights, dtype), layout, rows), expected, dtype)


@both
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("shares", [True, False])
@given(forest=forests)
@few_examples
def test_top_down(run: dict[str, Run], dtype: str, sides: int, shares: bool, forest: list[Tree]) -> None:
    check_top_down(run["top_down"], forest, (7, 5), sides, shares, dtype)


@both
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("sizes", [(1, 1), (3, 1), (75, 37)])
@pytest.mark.usefixtures("with_nan")
def test_top_down_at_odd_sizes(run: dict[str, Run], dtype: str, sides: int, sizes: tuple[int, int]) -> None:
    for forest in (FOREST, [Tree.leaf("a")], []):
        check_top_down(run["top_down"], forest, sizes, sides, False, dtype)


@both
@pytest.mark.parametrize("sides", [1, 2])
def test_top_down_of_many_nodes(run: dict[str, Run], dtype: str, sides: int) -> None:
    check_top_down(run["top_down"], WIDE, (4, 3), sides, False, dtype)


@both
@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("sizes", [(0, 3, 2), (1, 1, 1), (5, 7, 3), (100, 37, 75), (3, 450, 5)])
@pytest.mark.usefixtures("with_nan")
def test_dense(run: dict[str, Run], dtype: str, relu: bool, sizes: tuple[int, int, int]) -> None:
    rows, size, columns = sizes
    weights = draw(kinds.DenseWeights, [(columns, size), (columns,)], seed=1)
    x = vectors(rows, size) / size**0.5
    expected = torch.nn.functional.linear(x, weights.weight, weights.bias)
    found = run["dense"](x.numpy().astype(dtype), as_arrays(weights, dtype), relu)
    assert_close(found, expected.relu() if relu else expected, dtype)
    assert not relu or (found >= 0).all()


@both
@pytest.mark.usefixtures("with_nan")
@given(forest=st.lists(trees(max_words=8), max_size=4))
@few_examples
def test_child_sum(dtype: str, forest: list[Tree]) -> None:
    layout, batch = lay_out(forest)
    D, H = 7, 5
    weights = draw(kinds.ChildSumWeights, [(4 * H, D), (4 * H, H), (4 * H,)], seed=1)
    x = vectors(batch.num_nodes, D)
    expected = reference.reference_run_child_sum(x, weights, batch)
    found = numpy_run_child_sum(x.numpy().astype(dtype), as_arrays(weights, dtype), layout)
    assert_close(found, expected, dtype)


@both
@pytest.mark.usefixtures("with_nan")
@given(forest=forests)
@few_examples
def test_gated_children(dtype: str, forest: list[Tree]) -> None:
    D, H = 7, 5
    of_words, of_phrases = [(2 * H, D), (2 * H, D), (2, H, D), (2, H, D)], [(2 * H, H)] * 4
    shapes = [(H, D), (H,), *of_words, *of_phrases, (2, H, H), (H, 2 * H), (H, H), (4 * H,)]
    weights = draw(kinds.GatedChildrenWeights, shapes, seed=1)
    for trees_now in (forest, FOREST, []):
        layout, batch = lay_out(trees_now)
        x = vectors(batch.num_leaves, D)
        expected = reference.reference_run_gated_children(x, weights, batch)
        found = numpy_run_gated_children(x.numpy().astype(dtype), as_arrays(weights, dtype), layout)
        assert_close(found, expected, dtype)


@both
@pytest.mark.usefixtures("with_nan")
@given(forest=forests)
@few_examples
def test_tensor_network(dtype: str, forest: list[Tree]) -> None:
    H = 5
    weights = draw(kinds.TensorWeights, [(H, 2 * H, 2 * H), (H, 2 * H), (H,)], seed=1)
    weights = weights._replace(slices=weights.slices / 8)
    for trees_now in (forest, FOREST, []):
        layout, batch = lay_out(trees_now)
        x = vectors(batch.num_leaves, H)
        expected = reference.reference_run_tensor_network(x, weights, batch)
        found = numpy_run_tensor_network(x.numpy().astype(dtype), as_arrays(weights, dtype), layout)
        assert_close(found, expected, dtype)


@both
@pytest.mark.parametrize("backwards", [True, False])
@pytest.mark.parametrize("peepholes", [True, False])
@pytest.mark.usefixtures("with_nan")
@given(forest=forests)
@few_examples
def test_sequences(
    dtype: str, backwards: bool, peepholes: bool, forest: list[Tree], run: dict[str, Run]
) -> None:
    D, H = 19, 21
    cells: list[tuple[int, ...] | None] = [(2 * H, H), (H, H)] if peepholes else [None, None]
    weights = draw(kinds.SequenceWeights, [(4 * H, D), (4 * H, H), *cells, (4 * H,)], seed=1)
    for trees_now in (forest, FOREST, WIDE[-100:], []):
        layout, batch = lay_out(trees_now)
        all_spans = layout.span_start, layout.span_end
        x = vectors(batch.num_leaves, D)
        schedule = spans.SequenceSchedule.from_spans(*all_spans, backwards=backwards)
        expected = reference.reference_run_sequences(x, weights, schedule)
        in_numpy = SpanSchedule.from_spans(*all_spans, backwards=backwards)
        assert in_numpy.num_places == schedule.num_places
        found = run["sequences"](x.numpy().astype(dtype), as_arrays(weights, dtype), in_numpy)
        assert_close(found, expected, dtype)


@both
@given(forest=forests)
@few_examples
def test_span_means(dtype: str, forest: list[Tree]) -> None:
    layout, batch = lay_out(forest)
    leaves = vectors(batch.num_leaves, 3)
    expected = spans.span_means(leaves, batch.span_start, batch.span_end)
    found = span_means(leaves.numpy().astype(dtype), layout.span_start, layout.span_end)
    assert_close(found, expected, dtype)


@both
@pytest.mark.parametrize("asked", ["all", "roots", "some"])
@pytest.mark.parametrize("has_up", [False, True])
def test_features(dtype: str, asked: str, has_up: bool) -> None:
    for forest in (FOREST, [Tree.leaf("a")], FOREST * 9):
        layout, batch = lay_out(forest)
        down, up = (vectors(batch.num_nodes, 13, seed=seed).to(getattr(torch, dtype)) for seed in (1, 2))
        nodes = {
            "all": None,
            "roots": layout.root_index,
            "some": np.arange(layout.num_nodes)[::-2],
        }[asked]
        rows = torch.arange(batch.num_nodes) if nodes is None else torch.from_numpy(nodes.copy())
        means = spans.span_means(down[: batch.num_leaves], batch.span_start[rows], batch.span_end[rows])
        expected = torch.cat([*([up[rows]] if has_up else []), down[rows], means], 1)
        given_up = up.numpy() if has_up else None
        assert_close(numpy_gather_features(down.numpy(), given_up, layout, nodes), expected, dtype)
        for target in library.supported_targets():
            with pytest.MonkeyPatch.context() as patch:
                use_target(patch, target)
                found = native.native_array_features(down.numpy(), given_up, layout, nodes)
            assert_close(found, expected, dtype)


class TestHeadWords:
    """Head words and shares are those of `lexitree.models.head_words`."""

    SIZE = 4

    def compare(self, forest: list[Tree], method: HeadMethod, candidates: HeadCandidates, dtype: str) -> None:
        layout, batch = lay_out(forest)
        precision = getattr(torch, dtype)
        of_gate = HeadWeights(
            *(each.to(precision) for each in draw(HeadWeights, [(4, 8), (4,)], seed=len(forest)))
        )
        weights = of_gate if method == "G" else None
        leans = head_words.lean_to_candidates(batch, candidates)
        lean = heads.lean_to_candidates(layout, candidates)
        assert (lean is None) == (leans is None)
        if lean is not None and leans is not None:
            assert lean.dtype == np.float32
            assert lean.tolist() == leans.tolist()
        words = vectors(batch.num_leaves, self.SIZE).to(precision)
        x = reference.reference_compose_heads(words, weights, batch, method, leans)
        arrays = None if weights is None else as_arrays(weights, dtype)
        given_x = x.numpy()
        shares = heads.left_shares(given_x, arrays, layout, method, lean)
        expected_shares = head_words.left_shares(x, weights, batch, method, leans)
        assert_close(shares, expected_shares, dtype)
        for known in (None, shares):
            expected = head_words.find_head_words(x, weights, batch, method, leans)
            found = heads.numpy_find_heads(given_x, arrays, layout, method, lean, known)
            assert found.leaf.tolist() == expected.leaf.tolist()
            assert_close(found.weight, expected.weight, dtype)
            for target in library.supported_targets():
                with pytest.MonkeyPatch.context() as patch:
                    use_target(patch, target)
                    again = native.native_array_find_heads(given_x, None, layout, method, lean, shares)
                assert again.leaf.tolist() == expected.leaf.tolist()
                assert_close(again.weight, expected.weight, dtype)

    @both
    @pytest.mark.parametrize("candidates", CANDIDATES)
    @given(forest=forests)
    @few_examples
    def test_of_the_gate(self, dtype: str, candidates: HeadCandidates, forest: list[Tree]) -> None:
        self.compare(forest, "G", candidates, dtype)

    @both
    @pytest.mark.parametrize("method", ["L", "R", "A"])
    def test_of_other_methods(self, dtype: str, method: HeadMethod) -> None:
        for forest in (FOREST, [Tree.leaf("a")], []):
            self.compare(forest, method, "all", dtype)

    @pytest.mark.parametrize(("method", "leaf"), [("L", 0), ("R", 2), ("A", 0)])
    def test_a_tie_goes_to_the_left(self, method: HeadMethod, leaf: int) -> None:
        layout = TreeLayout.from_trees([tree_from_brackets("(X (X a a) a)")])
        x = numpy_compose_heads(np.ones((3, self.SIZE), np.float32), None, layout, method)
        found = heads.numpy_find_heads(x, None, layout, method)
        assert found.leaf[-1] == leaf
        assert found.weight[-1] == (1 if method != "A" else 0.25)

    @both
    def test_rounding_decides_no_tie(self, dtype: str) -> None:
        """The head vector of equal words is theirs but for rounding, so all of them are equally near."""
        layout, batch = lay_out([tree_from_brackets("(X (X ha ha) (X ha (X ha ha)))")])
        weights = draw(HeadWeights, [(4, 8), (4,)], seed=1)
        for seed in range(50):
            words = vectors(1, self.SIZE, seed=seed).expand(5, -1).contiguous().to(getattr(torch, dtype))
            gate = HeadWeights(*(each.to(words.dtype) for each in weights))
            x = reference.reference_compose_heads(words, gate, batch, "G", None)
            assert head_words.find_head_words(x, gate, batch, "G").leaf[-1] == 0
            shares = heads.left_shares(x.numpy(), as_arrays(gate, dtype), layout, "G")
            assert heads.numpy_find_heads(x.numpy(), None, layout, "G", None, shares).leaf[-1] == 0
            if library.why_absent() is None:
                found = native.native_array_find_heads(x.numpy(), None, layout, "G", None, shares)
                assert found.leaf[-1] == 0

    @both
    @pytest.mark.parametrize("candidates", CANDIDATES)
    def test_shares_come_with_the_head_vectors(self, dtype: str, candidates: HeadCandidates) -> None:
        layout, batch = lay_out(FOREST)
        weights = draw(HeadWeights, [(4, 8), (4,)], seed=1)
        lean = heads.lean_to_candidates(layout, candidates)
        leans = head_words.lean_to_candidates(batch, candidates)
        words = vectors(batch.num_leaves, self.SIZE)
        x = reference.reference_compose_heads(words, weights, batch, "G", leans)
        shares = head_words.left_shares(x, weights, batch, "G", leans)
        arrays = as_arrays(weights, dtype)
        backend = get_backend("auto", dtype=dtype, library="numpy")
        functions = [
            (numpy_heads_and_shares, arrays),
            (backend.on_arrays(HEADS_AND_SHARES), backend.prepare(HEADS_AND_SHARES, arrays)),
        ]
        for function, prepared in functions:
            found_x, found_shares = function(words.numpy().astype(dtype), prepared, layout, lean)
            assert_close(found_x, x, dtype)
            assert_close(found_shares, shares, dtype)


@both
def test_sigmoid_and_softmax(dtype: str) -> None:
    x = torch.tensor([[-1e4, -80.0, -3.0, 0.0, 0.5, 30.0, 1e4]], dtype=torch.float64)
    array = x.numpy().astype(dtype)
    assert_close(functions.sigmoid(array), x.sigmoid(), dtype)
    assert (array == x.numpy()).all(), "the argument was changed"
    assert functions.sigmoid(array)[0, [0, -1]].tolist() == [0, 1]
    scores = x / 1e3
    few = scores.numpy().astype(dtype)
    assert_close(functions.softmax(few), scores.softmax(1), dtype)
    assert_close(functions.log_softmax(few), scores.log_softmax(1), dtype)
    assert functions.softmax(array)[0, -1] == 1
    assert functions.softmax(few[:0]).shape == functions.log_softmax(few[:0]).shape == (0, 7)


@needs_kernels
class TestPackedWeights:
    def weights(self, dtype: str) -> dict[str, Any]:
        D, H = 20, 11
        drawn = {
            "heads": draw(HeadWeights, [(D, 2 * D), (D,)], 1),
            "bottom_up": draw(kinds.BottomUpWeights, bottom_up_shapes(D, H, True, True), 2),
            "top_down": draw(kinds.TopDownWeights, top_down_shapes(D, H, 2), 3),
        }
        return {name: as_arrays(each, dtype) for name, each in drawn.items()}

    @both
    def test_packed_once_they_serve_many_batches_and_threads(self, dtype: str) -> None:
        backend = get_backend("native", dtype=dtype, library="numpy")
        weights = self.weights(dtype)
        operations = {"heads": COMPOSE_HEADS, "bottom_up": BOTTOM_UP, "top_down": TOP_DOWN}
        packed = {name: backend.prepare(operation, weights[name]) for name, operation in operations.items()}
        before = {name: each.numbers.copy() for name, each in packed.items()}

        def encode(used: dict[str, Any], forest: list[Tree]) -> list[RealArray]:
            layout = TreeLayout.from_trees(forest)
            words = vectors(layout.num_leaves, 20).numpy().astype(dtype)
            x = backend.on_arrays(COMPOSE_HEADS)(words, used["heads"], layout, "G", None)
            return [
                x,
                *(
                    backend.on_arrays(operations[name])(x, used[name], layout)
                    for name in ("bottom_up", "top_down")
                ),
            ]

        batches = [FOREST, FOREST[2:4], FOREST[:1], WIDE[:20]] * 5
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda forest: encode(packed, forest), batches))
        for forest, results in zip(batches, found, strict=True):
            for result, expected in zip(results, encode(weights, forest), strict=True):
                assert (result == expected).all()
        assert all((before[name] == each.numbers).all() for name, each in packed.items())

    def test_weights_and_vectors_need_not_lie_in_rows(self) -> None:
        weights = self.weights("float64")
        layout = TreeLayout.from_trees(FOREST)
        x = vectors(layout.num_nodes, 20).numpy()
        for name, run_native in (("bottom_up", UNPACKED["bottom_up"]), ("top_down", UNPACKED["top_down"])):
            turned = type(weights[name])(*(np.asfortranarray(each) for each in weights[name]))
            expected = PLAIN[name](x, weights[name], layout)
            assert np.abs(run_native(np.asfortranarray(x), turned, layout) - expected).max() <= 1e-12

    def test_vectors_are_computed_in_the_precision_of_the_weights(self) -> None:
        weights = self.weights("float32")
        layout = TreeLayout.from_trees(FOREST)
        x = vectors(layout.num_nodes, 20).numpy()
        for functions_of in (PLAIN, UNPACKED):
            for name in ("bottom_up", "top_down"):
                assert functions_of[name](x, weights[name], layout).dtype == np.float32

    def test_packed_weights_start_a_cache_line(self) -> None:
        for name, pack in (("heads", native.pack_heads), ("bottom_up", native.pack_bottom_up)):
            for dtype in ("float32", "float64"):
                assert pack(self.weights(dtype)[name]).numbers.ctypes.data % 64 == 0


@needs_kernels
def test_extreme_numbers_saturate_and_nan_stays(run: dict[str, Run]) -> None:
    layout, batch = lay_out([tree_from_brackets("(X (X a b) c)")])
    weights = draw(kinds.BottomUpWeights, bottom_up_shapes(3, 2, False, True), 1)
    for scale in (1e4, 1e300):
        x = scale * vectors(batch.num_leaves, 3)
        expected = reference.reference_run_bottom_up(x, weights, batch)
        assert_close(run["bottom_up"](x.numpy(), as_arrays(weights, "float64"), layout), expected, "float64")
    x = np.zeros((batch.num_leaves, 3))
    x[0, 1] = np.nan
    found = run["bottom_up"](x, as_arrays(weights, "float64"), layout)
    assert np.isnan(found[[0, -1]]).all()


def test_an_unknown_head_method_is_an_error(run: dict[str, Run]) -> None:
    layout = TreeLayout.from_trees(FOREST)
    words = np.zeros((layout.num_leaves, 3))
    with pytest.raises(ConfigError, match="unknown head method 'X'"):
        run["heads"](words, None, layout, "X")
    with pytest.raises(ConfigError, match="needs the weights of its gate"):
        run["heads"](words, None, layout, "G")


def test_dense_layers_are_in_the_registry() -> None:
    weights = as_arrays(draw(kinds.DenseWeights, [(3, 4), (3,)], 1), "float32")
    backend = get_backend("auto", library="numpy")
    x = vectors(2, 4).numpy().astype(np.float32)
    found = backend.on_arrays(DENSE)(x, backend.prepare(DENSE, weights), True)
    assert np.abs(found - numpy_run_dense(x, weights, True)).max() <= 1e-6


def test_nothing_needs_torch() -> None:
    """Where torch cannot be imported, the registry and all functions in NumPy can, and a recurrence runs."""
    program = """
import sys
sys.modules["torch"] = None
import numpy as np
import lexitree.ops.weights
import lexitree.ops.numpy.native
from lexitree.batch.tree_layout import TreeLayout
from lexitree.ops.numpy.spans import SpanSchedule
from lexitree.ops.operations import BOTTOM_UP, CHILD_SUM
from lexitree.ops.registry import get_backend
from lexitree.ops.weights import BottomUpWeights
from lexitree.trees.brackets import tree_from_brackets

layout = TreeLayout.from_trees([tree_from_brackets("(X a (X b c))")])
weights = BottomUpWeights(np.ones((4, 2)), np.ones((5, 2)), None, None, np.ones(5))
for name in ("auto", "numpy"):
    backend = get_backend(name, dtype="float64", library="numpy")
    prepared = backend.prepare(BOTTOM_UP, weights)
    assert backend.on_arrays(BOTTOM_UP)(np.ones((5, 2)), prepared, layout).shape == (5, 1)
    assert backend.on_arrays(CHILD_SUM).__name__ == "numpy_run_child_sum"
print("done")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
