"""One update of a sentence model: run directly, or recorded once as a CUDA graph and replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from lexitree.batch.tree_examples import Example
from lexitree.learning.distributed import OneProcess, ProcessGroup
from lexitree.learning.optimizer import LazyAdam
from lexitree.models.classifier import TreeClassifier
from lexitree.models.label_grains import LabelGrains
from lexitree.ops.padding import Sizes
from lexitree.ops.recordings import Recorder
from lexitree.ops.tree_batch import TreeBatch, batch_examples

MAX_RECORDED_LEAVES = 20_000
"""Larger batches are rare, and keep a GPU busy without a recording."""
NUM_SLOTS = 4
"""How many batches the host may be ahead of the GPU."""


class Step(Protocol):
    """One update; losses are added up on the model's device, so that nothing waits for them."""

    losses: Tensor
    """The loss of all steps since it was last set to zero, summed over trees and nodes, in float64."""

    def __call__(self, examples: list[Example]) -> None: ...


def make_step(
    model: TreeClassifier,
    optimizer: LazyAdam,
    *,
    root_weight: float = 1.0,
    label_weights: Tensor | None = None,
    grains: LabelGrains | None = None,
    head_entropy: float = 0.0,
    processes: OneProcess | None = None,
) -> Step:
    """The fastest step that a model can take on its device; see `TreeClassifier.loss` for the weights and grains."""
    plain = PlainStep(model, optimizer, root_weight, label_weights, grains, head_entropy)
    if isinstance(processes, ProcessGroup):
        return SharedStep(plain, processes)
    return RecordedStep(plain) if model.device.type == "cuda" and model.is_recordable else plain


class PlainStep:
    """Forward pass, backward pass and update, one operation after the other."""

    def __init__(
        self,
        model: TreeClassifier,
        optimizer: LazyAdam,
        root_weight: float = 1.0,
        label_weights: Tensor | None = None,
        grains: LabelGrains | None = None,
        head_entropy: float = 0.0,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.root_weight = root_weight
        self.label_weights = None if label_weights is None else label_weights.to(model.device)
        self.grains = None if grains is None else grains.to(model.device)
        self.head_entropy = head_entropy
        self.losses = torch.zeros((), dtype=torch.float64, device=model.device)

    def __call__(self, examples: list[Example]) -> None:
        self.update(batch_examples(examples).to(self.model.device))

    def update(self, batch: TreeBatch) -> None:
        """Update by a batch; a loss that is not finite changes nothing on a CPU (asking a GPU would make it wait)."""
        loss = self.compute_gradients(batch)
        self.losses += loss
        if loss.is_cuda or torch.isfinite(loss):
            self.optimizer.step(batch)

    def compute_gradients(self, batch: TreeBatch, num_trees: int | None = None) -> Tensor:
        """Give the weights the gradients of the mean loss; the batch may be part of one of `num_trees` trees."""
        self.optimizer.zero_grad()
        loss = self.model.loss(
            batch,
            root_weight=self.root_weight,
            label_weights=self.label_weights,
            grains=self.grains,
            head_entropy=self.head_entropy,
        )
        (loss / (num_trees or batch.num_trees)).backward()
        return loss.detach()


class SharedStep:
    """A step of several processes: each computes the gradients of its share of the batch, and all add them up."""

    def __init__(self, plain: PlainStep, processes: ProcessGroup) -> None:
        self.plain = plain
        self.losses = plain.losses
        self.processes = processes

    def __call__(self, examples: list[Example]) -> None:
        plain, optimizer = self.plain, self.plain.optimizer
        batch, num_trees = self.processes.share(examples)
        if batch is None:
            optimizer.zero_grad()
            loss = plain.model.scorer.label_bias.new_zeros(())
        else:
            loss = plain.compute_gradients(batch.to(plain.model.device), num_trees)
        loss = self.processes.sum_gradients(optimizer, loss)
        self.losses += loss
        if loss.is_cuda or torch.isfinite(loss):
            # The rows of all processes are updated, not only those of this one's batch.
            optimizer.update(num_trees)


@dataclass(frozen=True, slots=True)
class _Recording:
    """A recorded step and the buffer that it reads its batch from."""

    graph: torch.cuda.CUDAGraph
    buffer: Tensor


class RecordedStep:
    """A step recorded as a CUDA graph for each size of batch, so that the host only replays it.

    The host prepares the next batches while the GPU works; their copies run on a stream of their own.
    """

    def __init__(self, plain: PlainStep) -> None:
        self.plain = plain
        self.losses = plain.losses
        self.device = plain.model.device
        self.slots = _Slots(self.device)
        self.recorder = Recorder(self.device)
        self.recordings: dict[Sizes, _Recording] = {}

    def __call__(self, examples: list[Example]) -> None:
        batch = batch_examples(examples)
        if batch.num_leaves > MAX_RECORDED_LEAVES:
            self.plain.update(batch.to(self.device))
            return
        sizes = Sizes.around(batch)
        padded = sizes.fill(batch)
        if sizes not in self.recordings:
            self.recordings[sizes] = self._record(padded)
        recording = self.recordings[sizes]
        self.slots.send(padded.buffer, recording.buffer)
        recording.graph.replay()

    def _record(self, batch: TreeBatch) -> _Recording:
        static = batch.to(self.device)
        self._rehearse(static)
        graph, _ = self.recorder.record(lambda: self.plain.update(static))
        return _Recording(graph, static.buffer)

    def _rehearse(self, batch: TreeBatch) -> None:
        """Run a step and undo it: kernels are compiled and libraries set up, which a recording must not do."""
        optimizer, model = self.plain.optimizer, self.plain.model
        kept = [*model.state_dict().values(), *optimizer.state_tensors().values(), self.losses]
        before = [tensor.clone() for tensor in kept]
        random_state = torch.cuda.get_rng_state(self.device)
        aside = torch.cuda.Stream(self.device)
        aside.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(aside):
            self.plain.update(batch)
        torch.cuda.current_stream(self.device).wait_stream(aside)
        torch.cuda.set_rng_state(random_state, self.device)
        for tensor, value in zip(kept, before, strict=True):
            tensor.copy_(value)
        optimizer.zero_grad()


class _Slots:
    """Sends batches ahead, through pinned host memory to buffers on the GPU where they wait for their turn."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.copies = torch.cuda.Stream(device)
        self.host: list[Tensor | None] = [None] * NUM_SLOTS
        self.waiting: list[Tensor | None] = [None] * NUM_SLOTS
        self.is_free = [torch.cuda.Event() for _ in range(NUM_SLOTS)]
        self.number = 0

    def send(self, numbers: Tensor, target: Tensor) -> None:
        """Copy the numbers to `target` before the next work of the current stream."""
        slot = self.number % NUM_SLOTS
        self.number += 1
        self.is_free[slot].synchronize()
        host, waiting = self._slot(slot, len(numbers))
        host.copy_(numbers)
        here = torch.cuda.current_stream(self.device)
        with torch.cuda.stream(self.copies):
            waiting.copy_(host, non_blocking=True)
        here.wait_stream(self.copies)
        target.copy_(waiting)
        self.is_free[slot].record(here)

    def _slot(self, slot: int, size: int) -> tuple[Tensor, Tensor]:
        host, waiting = self.host[slot], self.waiting[slot]
        if host is None or waiting is None or len(host) < size:
            host = torch.empty(size, dtype=torch.int64, pin_memory=True)
            waiting = torch.empty(size, dtype=torch.int64, device=self.device)
            # The buffer is written on one stream and read on another: both must know it before it is used.
            torch.cuda.synchronize(self.device)
            self.host[slot], self.waiting[slot] = host, waiting
        return host[:size], waiting[:size]
