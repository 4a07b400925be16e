"""Run recurrences side by side: on two CPU cores, or on two streams of a GPU.

The levels of a tree are too narrow to be split between OpenMP threads: a second one makes them slower, much slower on
a busy machine. So each recurrence runs on one thread, and a second core takes a whole recurrence.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from lexitree.ops.openmp import one_thread, openmp_threads


def _on_two_streams(
    first: Callable[[], Tensor], second: Callable[[], Tensor], inputs: Sequence[Tensor], device: torch.device
) -> tuple[Tensor, Tensor]:
    """Both results; the second runs on a stream of its own, and so will its backward pass.

    Levels have few nodes, so one recurrence leaves most of a GPU idle. `inputs` are the tensors the second reads.
    """
    here, aside = torch.cuda.current_stream(device), _second_stream(device)
    aside.wait_stream(here)
    for tensor in inputs:
        # Its backward pass reads them too: when the host lets them go, their memory is not free yet.
        tensor.record_stream(aside)
    with torch.cuda.stream(aside):
        other = second()
    result = first()
    here.wait_stream(aside)
    return result, other


class _SecondStreams(threading.local):
    """The second stream of each thread, by GPU: one that a thread records on is closed to the work of others."""

    def __init__(self) -> None:
        self.by_device: dict[torch.device, torch.cuda.Stream] = {}


_second_streams = _SecondStreams()


def _second_stream(device: torch.device) -> torch.cuda.Stream:
    streams = _second_streams.by_device
    if device not in streams:
        streams[device] = torch.cuda.Stream(device)
    return streams[device]


Recurrence = Callable[[Tensor], Tensor]
Result = TypeVar("Result")


MIN_ROWS = 200
"""Fewer rows of x than this, a few trees, are computed before a second thread has woken up."""

_num_cores = 1


def num_cores() -> int:
    """The number of cores that recurrences may use, set by `use_cores`."""
    return _num_cores


@contextmanager
def use_cores(number: int, *, wide_products: bool = False) -> Generator[None]:
    """Let whole recurrences run side by side on a number of cores, without OpenMP.

    Idle OpenMP threads spin on the very cores that are needed. With `wide_products`, such as a transformer's, they
    have enough to do, and get as many cores.
    """
    global _num_cores
    before, _num_cores = _num_cores, number
    try:
        with openmp_threads(number if wide_products else 1):
            yield
    finally:
        _num_cores = before


def run_side_by_side(
    first: Recurrence,
    second: Recurrence,
    x: Tensor,
    first_weights: Sequence[Tensor],
    second_weights: Sequence[Tensor],
) -> tuple[Tensor, Tensor]:
    """Compute `first(x), second(x)` in parallel, and their backward passes too.

    On a CPU each gets a core of its own if `use_cores` allows it, on a GPU a stream. The results are bit-identical
    to running one after the other. The weights are those that each recurrence uses.
    """
    if x.is_cuda:
        return _on_two_streams(lambda: first(x), lambda: second(x), [x, *second_weights], x.device)
    if _num_cores == 1 or len(x) < MIN_ROWS or x.device.type != "cpu":
        return first(x), second(x)
    if not torch.is_grad_enabled():
        return _on_two_cores(lambda: first(x), lambda: second(x))
    first_trained, second_trained = (
        [weight for weight in weights if weight.requires_grad] for weights in (first_weights, second_weights)
    )
    weights = (*first_trained, *second_trained)
    return cast(tuple[Tensor, Tensor], _SideBySide.apply(first, second, len(first_trained), x, *weights))


class _SideBySide(torch.autograd.Function):
    """Two graphs from the same x, kept apart so that each thread can walk its own."""

    @staticmethod
    def forward(
        ctx: Any, first: Recurrence, second: Recurrence, num_first: int, x: Tensor, *weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        ctx.inputs = x.detach().requires_grad_(), x.detach().requires_grad_()
        ctx.weights = weights[:num_first], weights[num_first:]
        with torch.enable_grad():
            ctx.outputs = _on_two_cores(lambda: first(ctx.inputs[0]), lambda: second(ctx.inputs[1]))
        return ctx.outputs[0].detach(), ctx.outputs[1].detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        def walk(which: int) -> Any:
            inputs = [ctx.inputs[which], *ctx.weights[which]]
            # The graph stays until the outer one is let go, which may be walked again.
            return torch.autograd.grad(
                ctx.outputs[which], inputs, gradients[which], retain_graph=True, allow_unused=True
            )

        (dx, *dfirst), (dx_too, *dsecond) = _on_two_cores(lambda: walk(0), lambda: walk(1))
        return None, None, None, dx + dx_too, *dfirst, *dsecond


def _on_two_cores(first: Callable[[], Result], second: Callable[[], Result]) -> tuple[Result, Result]:
    """Both results; the second thread takes over the modes of the caller."""
    is_inference, has_grad = torch.is_inference_mode_enabled(), torch.is_grad_enabled()

    def run(work: Callable[[], Result]) -> Result:
        with torch.inference_mode(is_inference), torch.set_grad_enabled(has_grad), one_thread():
            return work()

    later = _second_core().submit(run, second)
    return run(first), later.result()


@cache
def _second_core() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="lexitree")


def _after_fork() -> None:
    """A forked process has the pools, ours and OpenMP's, but not their threads, and would wait for them forever."""
    _second_core.cache_clear()
    torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
