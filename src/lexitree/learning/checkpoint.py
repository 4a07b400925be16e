"""Saving the state of a training run to one file, so that the run can be resumed exactly."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file  # pyright: ignore[reportUnknownVariableType]
from torch import Tensor

from lexitree.errors import CheckpointError
from lexitree.fingerprints import describe_changes
from lexitree.writing import atomic_path

CHECKPOINT_FILE = "checkpoint.safetensors"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything needed to resume after an epoch: three groups of tensors and a record."""

    weights: Mapping[str, Tensor]
    best_weights: Mapping[str, Tensor]
    optimizer: Mapping[str, Tensor]
    record: Mapping[str, Any]
    """The fingerprint of the run and the history of its epochs."""


_START_AGAIN = "Delete it and start the run again, or restore a copy."
_CHECKSUM = "checksum"
"""The entry of the record with the checksum of everything else."""
_GROUPS = ("weights", "best_weights", "optimizer")


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; the old one stays until the new one is complete on disk."""
    tensors = {
        f"{group}/{name}": tensor.detach().cpu().contiguous()
        for group in _GROUPS
        for name, tensor in cast(Mapping[str, Tensor], getattr(checkpoint, group)).items()
    }
    record = {**checkpoint.record, _CHECKSUM: _checksum_of_all(tensors, checkpoint.record)}
    # One entry: safetensors writes several in random order.
    metadata = {"record": json.dumps(record)}
    with atomic_path(path, SafetensorError) as temporary:
        save_file(_without_shared_memory(tensors), temporary, metadata=metadata)


def _without_shared_memory(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copy tensors that share memory, which safetensors refuses; only those, since tables are large."""
    seen: set[int] = set()
    separate: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        separate[name] = tensor.clone() if tensor.data_ptr() in seen else tensor
        seen.add(tensor.data_ptr())
    return separate


def _checksum_of_all(tensors: Mapping[str, Tensor], record: Mapping[str, Any]) -> str:
    """A checksum of everything in a checkpoint: the record, and names, types, shapes and numbers of the tensors."""
    value = zlib.crc32(json.dumps(record).encode())
    for name, tensor in sorted(tensors.items()):
        value = zlib.crc32(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(), value)
        value = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().data, value)
    return f"{value:08x}"


def load_checkpoint(path: Path, device: torch.device | str = "cpu") -> Checkpoint:
    """Read a checkpoint.

    Raises:
        CheckpointError: If the file is damaged, or an older version wrote it without a checksum.
    """
    groups: dict[str, dict[str, Tensor]] = {group: {} for group in _GROUPS}
    try:
        opened: Any = safe_open(path, framework="pt", device="cpu")
        with opened as file:
            metadata: dict[str, str] = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
        record: dict[str, Any] = dict(json.loads(metadata["record"]))
        expected = record.pop(_CHECKSUM, None)
        found = _checksum_of_all(tensors, record)
        for name, tensor in tensors.items():
            group, _, rest = name.partition("/")
            groups[group][rest] = tensor.to(device)
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise CheckpointError(path, f"is damaged or cut off ({error})", remedy=_START_AGAIN) from error
    if expected is None:
        problem = "has no checksum: an older version of lexitree wrote it"
        raise CheckpointError(path, problem, remedy=_START_AGAIN)
    if found != expected:
        raise CheckpointError(path, "is damaged: its checksum is wrong", remedy=_START_AGAIN)
    return Checkpoint(groups["weights"], groups["best_weights"], groups["optimizer"], record)


def compare_fingerprints(path: Path, saved: Mapping[str, Any], current: Mapping[str, Any]) -> None:
    """Refuse to resume a run with other settings or data than it was started with.

    Raises:
        CheckpointError: If the fingerprints differ; it names what differs.
    """
    changes = describe_changes(saved, current)
    if changes:
        raise CheckpointError(
            path,
            f"belongs to another run: {changes}",
            remedy="Use the settings it was started with, or another output directory.",
        )


def checksum_arrays(arrays: Iterable[npt.NDArray[Any]]) -> int:
    """A checksum of the numbers of arrays, for fingerprints."""
    total = 0
    for array in arrays:
        total = zlib.crc32(np.ascontiguousarray(array).data, total)
    return total
