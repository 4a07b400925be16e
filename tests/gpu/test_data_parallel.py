"""Data-parallel training on a GPU: one process with NCCL learns as one does on the CPU."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from lexitree.learning.distributed import join_processes, own_device
from lexitree.learning.launching import launch_processes
from lexitree.learning.run_folder import read_result
from tests.command import assert_one_clear_error, run_command, set_options
from tests.tiny import write_treebank

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

SETTINGS = {
    "model.hidden": 24,
    "model.output": 16,
    "training.batch_size": 8,
    "training.averaging": 0.9,
    "training.epochs": 3,
}


def say_who_sums(path: Path) -> None:
    """Sum a tensor over the processes, and write down which library has done it."""
    with join_processes():
        numbers = torch.ones(3, device=own_device("cuda"))
        dist.all_reduce(numbers)
        path.write_text(f"{dist.get_backend_config()} {numbers.tolist()}")


def test_nccl_sums(tmp_path: Path) -> None:
    launch_processes(1, partial(say_who_sums, tmp_path / "said"))
    said = (tmp_path / "said").read_text()
    assert "nccl" in said
    assert "[1.0, 1.0, 1.0]" in said


@pytest.mark.parametrize("encoder", ["", "bert"])
def test_a_gpu_learns_as_a_cpu_does(encoder: str, tmp_path: Path, encoders: dict[str, Path]) -> None:
    treebank = write_treebank(tmp_path / "treebank")
    # Dropout is drawn by example, and so is the same on all devices.
    more = ["--encoder", str(encoders[encoder])] if encoder else []
    settings = {**SETTINGS, **({"encoder.half_precision": "false"} if encoder else {"model.word_size": 24})}
    losses: dict[str, list[float]] = {}
    for device in ("cpu", "cuda"):
        folder = tmp_path / device
        arguments = ["--device", device, "--processes", 1, *more, *set_options(settings)]
        finished = run_command("train", treebank, "-o", folder, *arguments, timeout=300)
        assert finished.returncode == 0, finished.stderr
        losses[device] = [record["loss"] for record in read_result(folder)["epochs"]]
    assert losses["cuda"] == pytest.approx(losses["cpu"], abs=1e-3)


def test_more_processes_than_gpus(tmp_path: Path) -> None:
    number = torch.cuda.device_count() + 1
    refused = run_command(
        "train", "mini-reviews", "-o", tmp_path, "--device", "cuda", "--processes", number, timeout=300
    )
    assert_one_clear_error(refused, f"{number} processes need as many GPUs")
