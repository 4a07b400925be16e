"""Work of a GPU that is recorded once for each size of its input and replayed: one call instead of hundreds.

A few sentences keep a GPU busy for less time than the host needs to hand out their work call by call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from threading import Lock
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy.typing as npt
import torch
from torch import Tensor, nn

from lexitree.ops.transfers import leave, send
from lexitree.pending import Pending

RUNS_BEFORE = 2
"""How often work of a size is run as it is before it is recorded, which takes as long as many runs."""

Work = Callable[..., Tensor]
"""Computes a tensor from others, asking the host for nothing but their sizes."""

Result = TypeVar("Result")

_one_recording = Lock()
"""A process makes one recording at a time, whichever module and GPU it is for."""


class Recorder:
    """Records work of a GPU; what it has recorded shares memory, and so is replayed one at a time."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._memory = torch.cuda.graph_pool_handle()
        # Memory is only shared by what was recorded on one stream.
        self._stream = torch.cuda.Stream(device)

    def record(self, work: Callable[[], Result]) -> tuple[torch.cuda.CUDAGraph, Result]:
        """Record some work, which is not run; also returned is what it gave, to be found there after each replay."""
        graph = torch.cuda.CUDAGraph()
        with _one_recording, torch.cuda.device(self._device):
            torch.cuda.current_stream().synchronize()
            recording = torch.cuda.graph(
                graph,
                pool=self._memory,
                stream=self._stream,
                # Other threads may go on with work of their own.
                capture_error_mode="thread_local",
            )
            with recording:
                return graph, work()


class _Recording(NamedTuple):
    graph: torch.cuda.CUDAGraph
    inputs: list[Tensor]
    """What it reads."""
    output: Tensor
    """What it writes."""


class Recordings:
    """Recordings of the work of one module, by what tells them apart. Threads may share them."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._recorder = Recorder(device)
        self._num_runs: Counter[Hashable] = Counter()
        self._recorded: dict[Hashable, _Recording] = {}
        self._is_done = torch.cuda.Event()
        self._lock = Lock()

    def run(self, key: Hashable, work: Work, inputs: Sequence[Tensor]) -> Pending[npt.NDArray[Any]]:
        """Run some work, by its recording if there is one, and let its result leave for the host.

        Args:
            key: All that the work depends on besides the numbers of its inputs: their shapes, settings.
            work: Takes the inputs, on the device.
            inputs: The inputs, wherever they are.
        """
        with self._lock:
            recording = self._recorded.get(key)
            if recording is None:
                on_device = [send(tensor, self._device) for tensor in inputs]
                if self._num_runs[key] < RUNS_BEFORE:
                    self._num_runs[key] += 1
                    return leave(work(*on_device))
                recording = self._recorded[key] = self._record(work, on_device)
            here = torch.cuda.current_stream(self._device)
            # Recordings share memory, so one begins when the one before has ended, on whichever stream.
            here.wait_event(self._is_done)
            for static, tensor in zip(recording.inputs, inputs, strict=True):
                static.copy_(tensor if tensor.is_cuda else tensor.pin_memory(), non_blocking=True)
            recording.graph.replay()
            result = leave(recording.output)
            self._is_done.record(here)
            return result

    def _record(self, work: Work, inputs: Sequence[Tensor]) -> _Recording:
        static = [tensor.clone() for tensor in inputs]
        graph, output = self._recorder.record(lambda: work(*static))
        return _Recording(graph, static, output)


class _Kept:
    """The recordings of a module, which read its weights where they were and have its settings in them."""

    def __init__(self, module: nn.Module, device: torch.device, settings: object) -> None:
        self._settings = settings
        # Where the module looks its weights up, so that new ones are noticed: asking it for all of them takes longer.
        self._places: list[tuple[dict[str, Tensor | None], str]] = [
            (weights, name)
            for part in module.modules()
            for weights in (vars(part)["_parameters"], vars(part)["_buffers"])
            for name in weights
        ]
        self._made_from = self._addresses()
        self.recordings = Recordings(device)

    def _addresses(self) -> list[int]:
        found = (weights.get(name) for weights, name in self._places)
        return [0 if weight is None else weight.data_ptr() for weight in found]

    def is_valid(self, settings: object) -> bool:
        """Whether the weights are where they were, and the settings the same object."""
        return settings is self._settings and self._addresses() == self._made_from


_kept: WeakKeyDictionary[nn.Module, _Kept] = WeakKeyDictionary()


def recordings_of(module: nn.Module, device: torch.device, settings: object = None) -> Recordings:
    """The recordings of a module's work, without any if its weights have moved or its settings were replaced.

    Args:
        module: Whose weights the work reads.
        device: Where it is.
        settings: What else of the module the work depends on: an object that is replaced, not changed.
    """
    kept = _kept.get(module)
    if kept is None or not kept.is_valid(settings):
        kept = _kept[module] = _Kept(module, device, settings)
    return kept.recordings
