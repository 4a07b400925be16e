"""Data-parallel training: several processes compute the gradients of one batch, on one machine or several.

Every process runs the same loop with the same seed, so all of them have the same batches in the same order. Of each
batch a process takes its share, and the gradients are summed over the processes by PyTorch's collective operations:
those of dense weights in one buffer, those of word vectors by the rows that occur. All processes then make the same
update. Dropout is drawn by the number of the example (`lexitree.models.dropout`), so the number of processes changes
results by rounding only. The first process alone reads and writes files; the others get what it has read.

torchrun starts the processes and tells each its number, or `lexitree.learning.launching` does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn

from lexitree.batch.tree_examples import Example
from lexitree.errors import ConfigError, LostProcessError
from lexitree.learning.optimizer import LazyAdam
from lexitree.models.dropout import derive_keys, with_keys
from lexitree.ops.devices import choose_device
from lexitree.ops.tree_batch import TreeBatch, batch_examples

UPDATE_SECONDS = 600.0
"""How long a process waits for the gradients of the others before it gives up."""

_FILE_SECONDS = 7 * 24 * 3600.0
"""How long the others wait for the first process, which may be reading a corpus or scoring a model."""

Result = TypeVar("Result")


class OneProcess:
    """An ordinary run: there is nobody else."""

    rank = 0
    """The number of this process, from 0."""
    size = 1
    """The number of processes."""

    @property
    def is_first(self) -> bool:
        """Whether this is the process that reads, writes and reports."""
        return self.rank == 0

    def from_first(self, work: Callable[[], Result]) -> Result:
        """Do something in the first process; all processes wait for it and get the result."""
        return work()

    @property
    def fingerprint(self) -> dict[str, str]:
        """What must be the same for a run to be resumed; the number of processes may change."""
        return {}

    def begin_epoch(self, seed: int) -> None:
        """Let everything random in the following updates depend on the seed of their epoch."""
        del seed

    def check_same(self, value: object, what: str) -> None:
        """Check that all processes have the same value."""
        del value, what


class Share(NamedTuple):
    """What a process does of an update."""

    batch: TreeBatch | None
    """Its examples, on the host; None if there are fewer examples than processes."""
    num_examples: int
    """The number of examples of all processes."""


class ProcessGroup(OneProcess):
    """One of the processes of a data-parallel run, which may have a single one."""

    def __init__(self, files: Any) -> None:
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()
        self.files = files
        """The same processes, with more patience, over the network of the CPUs."""
        self.seed = 0
        self.num_updates = 0
        self.num_seen = 0

    def from_first(self, work: Callable[[], Result]) -> Result:
        """See `OneProcess.from_first`; the result must be picklable.

        Raises:
            LostProcessError: In all other processes, if the first one fails.
        """
        if not self.is_first:
            is_done, result = self._send_from_first(None)
            if not is_done:
                raise LostProcessError("the first process has failed; see its error")
            return cast(Result, result)
        try:
            result = work()
        except Exception:
            with suppress(LostProcessError):
                self._send_from_first((False, None))
            raise
        self._send_from_first((True, result))
        return result

    def _send_from_first(self, message: tuple[bool, Any] | None) -> tuple[bool, Any]:
        box: list[Any] = [message]
        with _together():
            dist.broadcast_object_list(box, src=0, group=self.files, device=torch.device("cpu"))
        return box[0]

    def check_same(self, value: object, what: str) -> None:
        """See `OneProcess.check_same`.

        Raises:
            ConfigError: In all processes, if one has another value.
        """
        values: list[Any] = [None] * self.size
        with _together():
            dist.all_gather_object(values, value, group=self.files)
        others = [rank for rank, other in enumerate(values) if other != values[0]]
        if others:
            raise ConfigError(
                f"the processes of this run have different {what}: process 0 and process {others[0]}",
                remedy="Use the same versions of lexitree and torch on all machines, and equal GPUs.",
            )

    @property
    def fingerprint(self) -> dict[str, str]:
        return {"dropout is drawn by": "example"}

    def begin_epoch(self, seed: int) -> None:
        self.seed, self.num_updates, self.num_seen = seed, 0, 0

    def share(self, examples: Sequence[Example]) -> Share:
        """This process's part of the next batch: every `size`-th example."""
        self.num_updates += 1
        # What is random about weights is drawn alike in all processes, also in those without an example.
        torch.manual_seed(int(derive_keys(torch.tensor(self.seed), -self.num_updates)))
        own = examples[self.rank :: self.size]
        numbers = range(self.num_seen + 1 + self.rank, self.num_seen + 1 + len(examples), self.size)
        self.num_seen += len(examples)
        if not own:
            return Share(None, len(examples))
        return Share(with_keys(batch_examples(own), self.seed, self.num_updates, numbers), len(examples))

    @torch.no_grad()
    def sum_gradients(self, optimizer: LazyAdam, loss: Tensor) -> Tensor:
        """Give all weights the sums of their gradients over the processes, and return the sum of the losses."""
        weights = list(optimizer.dense.values())
        are_there = [weight.grad is not None for weight in weights]
        parts = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights]
        flags = loss.new_tensor(are_there, dtype=loss.dtype)
        buffer = torch.cat([*(part.reshape(-1) for part in parts), flags, loss.reshape(1)])
        with _together():
            dist.all_reduce(buffer)
        sizes = [*(weight.numel() for weight in weights), len(weights), 1]
        *sums, flags, loss = torch.split(buffer, sizes)
        if not all(are_there):
            # A weight that no process has used is not updated. Asking for that makes a GPU wait, so seldom.
            are_there = cast(list[bool], flags.bool().tolist())
        for weight, total, is_there in zip(weights, sums, are_there, strict=True):
            weight.grad = total.view_as(weight).to(weight.dtype) if is_there else None
        if optimizer.table is not None:
            optimizer.table.grad = self._sum_rows(optimizer.table)
        return loss.squeeze(0)

    def _sum_rows(self, table: nn.Parameter) -> Tensor | None:
        """The sparse gradient of a table, gathered from all processes, in the order of the processes."""
        rows, values = table.new_zeros(0, dtype=torch.int64), table.new_zeros(0, table.shape[1])
        if table.grad is not None:
            gradient = table.grad.coalesce()
            rows, values = gradient.indices()[0], gradient.values()
        counts = [int(count) for count in self._gather(torch.tensor(len(rows), device=table.device))]
        most = max(counts)
        if not most:
            return None
        missing = most - len(rows)
        all_rows = self._gather(nn.functional.pad(rows, (0, missing)))
        all_values = self._gather(nn.functional.pad(values, (0, 0, 0, missing)))
        index = torch.cat([each[:count] for each, count in zip(all_rows, counts, strict=True)])
        content = torch.cat([each[:count] for each, count in zip(all_values, counts, strict=True)])
        return torch.sparse_coo_tensor(index.unsqueeze(0), content, table.shape, check_invariants=False)

    def _gather(self, tensor: Tensor) -> list[Tensor]:
        """The tensors of all processes, which have one shape, in the order of the processes."""
        gathered = [torch.empty_like(tensor) for _ in range(self.size)]
        with _together():
            dist.all_gather(gathered, tensor)
        return gathered


_current: OneProcess | None = None
"""What this process has joined: torch has one group per process as well."""


@contextmanager
def join_processes(*, update_seconds: float = UPDATE_SECONDS) -> Generator[OneProcess]:
    """Join the other processes that torchrun has started; without it, this process is alone.

    Inside of another `with` block of this function, the processes are those of that block.

    Args:
        update_seconds: How long to wait for the gradients of the other processes.

    Raises:
        LostProcessError: If another process does not come, or is lost later.
    """
    global _current
    if _current is not None:
        yield _current
        return
    if not is_data_parallel():
        yield OneProcess()
        return
    with _together():
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and dist.is_nccl_available() else "gloo"
        dist.init_process_group(backend, timeout=timedelta(seconds=update_seconds))
        files = dist.new_group(backend="gloo", timeout=timedelta(seconds=_FILE_SECONDS))
    _current = ProcessGroup(files)
    try:
        yield _current
    finally:
        _current = None
        dist.destroy_process_group()


def is_data_parallel() -> bool:
    """Whether torchrun, or something like it, has started this process as one of several."""
    return dist.is_available() and dist.is_torchelastic_launched()


def refuse_several_processes(what: str) -> None:
    """Refuse to train something in several processes that can be trained in one only.

    Raises:
        ConfigError: If torchrun has started several.
    """
    if is_data_parallel() and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ConfigError(
            f"{what} are trained in one process", remedy="Start it without torchrun: lexitree ..."
        )


def own_device(device: str) -> str:
    """The device of this process: with several processes on a machine, each has a GPU of its own.

    Raises:
        ConfigError: If there are fewer GPUs than processes on this machine, or a GPU is named for all of them.
    """
    may_be_gpu = device == "auto" or device.startswith("cuda")
    if not (is_data_parallel() and may_be_gpu and torch.cuda.is_available()):
        return choose_device(device)
    local_rank, num_local = (int(os.environ[name]) for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"))
    own = f"cuda:{local_rank}"
    if num_local > 1 and device not in ("auto", "cuda", own):
        raise ConfigError(
            f"{num_local} processes cannot share the device {device}: each needs a GPU of its own",
            remedy="Use --device cuda. The variable CUDA_VISIBLE_DEVICES chooses among the GPUs of a machine.",
        )
    if num_local > torch.cuda.device_count():
        raise ConfigError(
            f"{num_local} processes need as many GPUs, and this machine has {torch.cuda.device_count()}",
            remedy="Start fewer processes per machine, or train on the CPU: --device cpu.",
        )
    if device in ("auto", "cuda"):
        device = own
    # Before anything is put on a GPU: by default, every process would occupy memory of the first one.
    torch.cuda.set_device(device)
    return choose_device(device)


@contextmanager
def _together() -> Generator[None]:
    """Do something that all processes do; if another one is gone, it fails in PyTorch's words."""
    try:
        yield
    except RuntimeError as error:
        raise LostProcessError(
            f"another process of this run has ended or does not answer ({_first_line(error)})",
            remedy="See the errors of the other processes; --resume continues the run from its last epoch.",
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
