"""Calls every kernel with arrays of the right sizes, and then with wrong ones; run as a program, with a library.

    python -m tests.kernels.every_kernel LIBRARY

With a library that was compiled for AddressSanitizer, it ends at the first number that is read or written outside of
an array.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn as torch_nn

from lexitree import nn
from lexitree.batch.tree_layout import TreeLayout
from lexitree.errors import SizeError
from lexitree.kernels import compiling, library
from lexitree.kernels.signatures import SIGNATURES, Signature
from lexitree.ops import weights
from lexitree.ops.numpy import native
from lexitree.ops.numpy.spans import SpanSchedule
from lexitree.ops.registry import get_backend
from lexitree.parsers import array_layers, native_network
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree

WORD, HIDDEN = 7, 5
TREES = [
    Tree.leaf("a"),
    tree_from_brackets("(X (X a b) (X (X c d) (X e f)))"),
    tree_from_brackets("(X a (X b (X c (X d e))))"),
]
LENGTHS = np.array([5, 3, 1])


def all_calls(dtype: str) -> Iterator[Callable[[], object]]:
    """Calls of all kernels, those of the parser in 32 bits only."""
    yield from tensor_calls(getattr(torch, dtype))
    yield from array_calls(dtype)
    if dtype == "float32":
        yield from parser_calls()


def tensor_calls(dtype: torch.dtype) -> Iterator[Callable[[], object]]:
    """The modules of lexitree.nn, forwards and backwards."""
    batch = nn.TreeBatch.from_trees(TREES)
    schedule = nn.SequenceSchedule.from_spans(batch.span_start.numpy(), batch.span_end.numpy())
    leaves, nodes = batch.num_leaves, batch.num_nodes
    cases: list[tuple[torch_nn.Module, int, Any]] = [(nn.HeadComposer(WORD), leaves, batch)]
    for peepholes in (False, True):
        cases.append((nn.BottomUpLSTM(WORD, HIDDEN, peepholes=peepholes), leaves, batch))
        cases.append((nn.BottomUpLSTM(WORD, HIDDEN, lexical=True, peepholes=peepholes), nodes, batch))
        cases.append((nn.TopDownLSTM(WORD, HIDDEN, share_inputs=peepholes), nodes, batch))
        cases.append((nn.SequenceLSTM(WORD, HIDDEN, peepholes=peepholes), leaves, schedule))
    for module, rows, trees in cases:
        yield lambda module=module, rows=rows, trees=trees: learn(module.to(dtype), rows, trees)


def learn(module: torch_nn.Module, rows: int, trees: Any) -> None:
    dtype = next(module.parameters()).dtype
    x = torch.randn(rows, WORD, dtype=dtype, requires_grad=True)
    module(x, trees, get_backend("native", dtype=dtype)).square().sum().backward()


def array_calls(dtype: str) -> Iterator[Callable[[], object]]:
    """The packed forms of the same, and what is read off them."""
    layout = TreeLayout.from_trees(TREES)
    schedule = SpanSchedule.from_spans(layout.span_start, layout.span_end)

    def draw(*shape: int) -> Any:
        return np.random.default_rng(0).normal(size=shape).astype(dtype)

    phrases = layout.num_nodes - layout.num_leaves
    heads = weights.HeadWeights(draw(WORD, 2 * WORD), draw(WORD))
    lean = np.zeros(phrases)
    yield lambda: native.native_array_heads(draw(layout.num_leaves, WORD), heads, layout, "G", lean)
    for peepholes in (False, True):
        for gates, rows in ((3, layout.num_leaves), (4, layout.num_nodes)):
            cell = weights.BottomUpWeights(
                draw(gates * HIDDEN, WORD),
                draw(5 * HIDDEN, 2 * HIDDEN),
                draw(3 * HIDDEN, 2 * HIDDEN) if peepholes else None,
                draw(HIDDEN, HIDDEN) if peepholes else None,
                draw(5 * HIDDEN),
            )
            yield lambda cell=cell, rows=rows: native.native_array_bottom_up(draw(rows, WORD), cell, layout)
        sequence = weights.SequenceWeights(
            draw(4 * HIDDEN, WORD),
            draw(4 * HIDDEN, HIDDEN),
            draw(2 * HIDDEN, HIDDEN) if peepholes else None,
            draw(HIDDEN, HIDDEN) if peepholes else None,
            draw(4 * HIDDEN),
        )
        yield lambda sequence=sequence: native.native_array_sequences(
            draw(layout.num_leaves, WORD), sequence, schedule
        )
    for sides in (1, 2):
        down = weights.TopDownWeights(
            draw(sides, 4 * HIDDEN, WORD),
            draw(2, 4 * HIDDEN, HIDDEN),
            draw(2, 2 * HIDDEN, HIDDEN),
            draw(2, HIDDEN, HIDDEN),
            draw(sides, 4 * HIDDEN),
        )
        yield lambda down=down: native.native_array_top_down(draw(layout.num_nodes, WORD), down, layout)
    dense = weights.DenseWeights(draw(HIDDEN, WORD), draw(HIDDEN))
    yield lambda: native.native_array_dense(draw(3, WORD), dense, True)
    shares = draw(phrases, WORD)
    yield lambda: native.native_array_find_heads(
        draw(layout.num_nodes, WORD), None, layout, "G", lean, shares
    )
    for up in (None, draw(layout.num_nodes, HIDDEN)):
        yield lambda up=up: native.native_array_features(draw(layout.num_nodes, HIDDEN), up, layout, None)


def parser_calls() -> Iterator[Callable[[], object]]:
    """The layers of the parser and its search, with tensors and with arrays."""
    places, trees = int(LENGTHS.max()), len(LENGTHS)
    spans = places * (places + 1) // 2
    layer = torch_nn.LSTM(WORD, HIDDEN, bidirectional=True).requires_grad_(False)
    norm, labels = torch_nn.LayerNorm(HIDDEN), torch_nn.Linear(HIDDEN, 3)
    x, ends = torch.randn(places, trees, WORD), torch.randn(places + 1, trees, HIDDEN)
    parts = [each.numpy() for each in layer.parameters()]
    directions = array_layers.DirectionWeights(*parts[:4]), array_layers.DirectionWeights(*parts[4:])
    num_reaching = (np.arange(places)[:, None] < LENGTHS).sum(1)
    scores = torch.randn(spans, trees, 3)
    with torch.no_grad():
        yield lambda: native_network.run_layer(layer, x, torch.from_numpy(LENGTHS))
        yield lambda: native_network.score_spans(ends, torch.randn(HIDDEN), norm, labels)
    yield lambda: native_network.search_trees(scores, torch.from_numpy(LENGTHS), places)
    yield lambda: array_layers.BidirectionalLstm(directions).run(x.numpy(), num_reaching)
    yield lambda: array_layers.find_pointers(scores.numpy(), LENGTHS)
    scorer = (torch.randn(HIDDEN), norm.weight, norm.bias, labels.weight, labels.bias)
    found = array_layers.SpanWeights(*(each.detach().numpy() for each in scorer))
    yield lambda: array_layers.score_spans(ends.numpy(), found)


class Recorder:
    """Remembers the calls of kernels with their arguments."""

    def __init__(self) -> None:
        self.calls: list[tuple[Callable[..., None], Signature, tuple[Any, ...]]] = []
        self.names: set[str] = set()

    def checked_kernel(self, function: Any, name: str, signature: Signature, precision: str) -> Any:
        run = _checked_kernel(function, name, signature, precision)

        def record(*given: Any) -> None:
            self.names.add(name)
            self.calls.append((run, signature, given))
            run(*given)

        return record


_checked_kernel = library.checked_kernel


def wrong_calls(signature: Signature, given: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The arguments of a call with one of them wrong, and which: each array of each wrong kind."""
    for number, (argument, value) in enumerate(zip(signature.arguments.split(), given, strict=True)):
        if argument[0] in "#~" or value is None:
            continue
        tensor = torch.as_tensor(value).detach()
        shapes = [tensor[:-1], tensor[..., None], tensor[..., :-1], torch.cat([tensor] * 2)]
        wrong = [each for each in shapes if each.shape != tensor.shape]
        wrong += [tensor.to(torch.float16), torch.empty(tensor.shape, device="meta", dtype=tensor.dtype)]
        if tensor.ndim == 2 and min(tensor.shape) > 1:
            # The same numbers in the same shape, but not row by row.
            wrong.append(tensor.T.contiguous().T)
        if argument[-1] == ":" and len(tensor):
            for change in (-1000, 1000):
                wrong.append(tensor.clone())
                wrong[-1][-1] += change
        for each in wrong:
            yield argument, (*given[:number], each, *given[number + 1 :])


def main() -> None:
    compiling.LIBRARY = Path(sys.argv[1])
    if reason := library.why_absent():
        sys.exit(reason)
    for target in library.supported_targets():
        library._supported = lambda _, target=target: (target,)
        library.find_kernels.cache_clear()
        recorder, num_wrong = Recorder(), 0
        library.checked_kernel = recorder.checked_kernel
        for dtype in ("float32", "float64"):
            for call in all_calls(dtype):
                call()
        assert recorder.names == set(SIGNATURES), set(SIGNATURES) - recorder.names
        for run, signature, given in recorder.calls:
            for argument, changed in wrong_calls(signature, given):
                try:
                    run(*changed)
                except SizeError:
                    num_wrong += 1
                else:
                    sys.exit(f"{signature.arguments}: a wrong {argument} was accepted")
        print(f"{target}: {len(recorder.calls)} calls, {num_wrong} refused")


if __name__ == "__main__":
    main()
