"""Checkpoints: exact round trips, and every way in which a file or a disk can fail."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from lexitree.errors import CheckpointError, FileError
from lexitree.learning import checkpoint as module
from lexitree.learning.checkpoint import Checkpoint, compare_fingerprints, load_checkpoint, save_checkpoint
from tests.command import environment

RECORD = {"fingerprint": {"labels": ["0", "1"]}, "history": [{"epoch": 1, "loss": 0.1}]}


def make_checkpoint(value: float = 1.0) -> Checkpoint:
    weights = {"a.b": torch.full((3, 4), value), "c": torch.tensor([float("inf"), -0.0, 1e-40])}
    return Checkpoint(weights, weights, {"num_steps": torch.tensor(7)}, RECORD)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A checkpoint that is there already."""
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, make_checkpoint())
    return path


def assert_untouched(path: Path) -> None:
    assert torch.equal(load_checkpoint(path).weights["a.b"], torch.ones(3, 4))
    assert list(path.parent.iterdir()) == [path]


def test_round_trip_is_exact(path: Path) -> None:
    loaded, saved = load_checkpoint(path), make_checkpoint()
    assert loaded.record == RECORD
    for group in ("weights", "best_weights", "optimizer"):
        tensors = getattr(saved, group)
        assert getattr(loaded, group).keys() == tensors.keys()
        for name, tensor in tensors.items():
            assert getattr(loaded, group)[name].numpy().tobytes() == tensor.numpy().tobytes()
            assert getattr(loaded, group)[name].dtype == tensor.dtype


def test_the_same_state_gives_the_same_bytes(path: Path, tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "again", make_checkpoint())
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_parts_of_tensors_are_saved_as_they_are(tmp_path: Path) -> None:
    weights = {"view": torch.arange(12.0).view(3, 4).t()}
    save_checkpoint(tmp_path / "c", Checkpoint(weights, {}, {}, RECORD))
    assert torch.equal(load_checkpoint(tmp_path / "c").weights["view"], weights["view"])


def test_a_cut_file_is_refused_wherever_it_is_cut(path: Path) -> None:
    content = path.read_bytes()
    for length in {0, 1, 7, 8, 9, len(content) // 4, len(content) // 2, len(content) - 1}:
        path.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match="is damaged or cut off") as caught:
            load_checkpoint(path)
        assert str(path) in str(caught.value)
        assert "start the run again" in caught.value.remedy


def content_of(checkpoint: Checkpoint) -> object:
    """Everything that a checkpoint holds, to be compared."""
    groups = (checkpoint.weights, checkpoint.best_weights, checkpoint.optimizer)
    tensors = [
        {
            name: (str(tensor.dtype), tensor.shape, tensor.reshape(-1).view(torch.uint8).tolist())
            for name, tensor in group.items()
        }
        for group in groups
    ]
    return tensors, checkpoint.record


@pytest.mark.parametrize("bit", [1, 2, 4, 8, 16, 32, 64, 128])
def test_a_wrong_bit_anywhere_is_noticed_or_harmless(path: Path, bit: int) -> None:
    """Names, types, shapes, numbers and the record: not one of them changes unnoticed."""
    content = path.read_bytes()
    before = content_of(load_checkpoint(path))
    num_noticed = 0
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :])
        try:
            assert content_of(load_checkpoint(path)) == before, place
        except CheckpointError:
            num_noticed += 1
    assert num_noticed > 0.8 * len(content)


def test_tensors_that_changed_places_are_noticed(tmp_path: Path) -> None:
    """As they do when two names, or two numbers in the table of contents, are swapped."""
    weights = {"a": torch.zeros(2), "b": torch.ones(2)}
    save_checkpoint(tmp_path / "c", Checkpoint(weights, {}, {}, RECORD))
    content = (tmp_path / "c").read_bytes()
    (tmp_path / "c").write_bytes(
        content.replace(b"weights/a", b"weights/?")
        .replace(b"weights/b", b"weights/a")
        .replace(b"weights/?", b"weights/b")
    )
    with pytest.raises(CheckpointError, match="its checksum is wrong") as caught:
        load_checkpoint(tmp_path / "c")
    assert "start the run again" in caught.value.remedy


def test_a_checkpoint_without_a_checksum_is_refused(tmp_path: Path) -> None:
    save_file({"weights/a": torch.zeros(2)}, tmp_path / "c", metadata={"record": json.dumps(RECORD)})
    with pytest.raises(CheckpointError, match="an older version of lexitree wrote it"):
        load_checkpoint(tmp_path / "c")


def test_garbage_is_refused(path: Path) -> None:
    rng = random.Random(5)
    for _ in range(30):
        path.write_bytes(rng.randbytes(rng.randrange(2000)))
        with pytest.raises(CheckpointError, match="is damaged"):
            load_checkpoint(path)


@pytest.mark.parametrize(
    ("name", "metadata"),
    [
        ("weights/a", None),
        ("weights/a", {"record": "{"}),
        ("weights/a", {"record": "[" * 100_000}),
        ("weights/a", {"record": json.dumps({**RECORD, "checksum": "00000000"})}),
        ("strange/a", {"record": json.dumps(RECORD)}),
        ("a", {"record": json.dumps(RECORD)}),
    ],
)
def test_other_safetensors_are_no_checkpoints(
    tmp_path: Path, name: str, metadata: dict[str, str] | None
) -> None:
    save_file({name: torch.zeros(2)}, tmp_path / "c", metadata=metadata)
    with pytest.raises(CheckpointError):
        load_checkpoint(tmp_path / "c")


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    torch.save({"weights": torch.zeros(2)}, tmp_path / "c")
    with pytest.raises(CheckpointError):
        load_checkpoint(tmp_path / "c")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError):
        load_checkpoint(tmp_path / "none")


def test_full_disk_while_writing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(tensors: object, target: Path, metadata: object) -> None:
        del tensors, metadata
        Path(target).write_bytes(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "save_file", fail)
    with pytest.raises(FileError, match="No space left on device") as caught:
        save_checkpoint(path, make_checkpoint(2.0))
    assert "untouched" in caught.value.remedy
    assert_untouched(path)


def test_full_disk_while_replacing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path, target: Path) -> None:
        del self, target
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(FileError, match="No space left on device"):
        save_checkpoint(path, make_checkpoint(2.0))
    assert_untouched(path)


def test_full_disk_while_syncing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(handle: int) -> None:
        del handle
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(FileError, match="Input/output error"):
        save_checkpoint(path, make_checkpoint(2.0))
    monkeypatch.undo()
    assert_untouched(path)


def test_a_real_limit_on_file_sizes(path: Path) -> None:
    """The same with a write that the system itself cuts short."""
    code = """
import resource, signal, sys, torch
from pathlib import Path
from lexitree.errors import FileError
from lexitree.learning.checkpoint import Checkpoint, save_checkpoint
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    save_checkpoint(Path(sys.argv[1]), Checkpoint({"a": torch.zeros(1_000_000)}, {}, {}, {}))
except FileError as error:
    sys.exit(str(error))
"""
    finished = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert finished.returncode == 1
    assert "cannot be written" in finished.stderr
    assert "Traceback" not in finished.stderr
    assert_untouched(path)


def test_what_differs_between_runs_is_said(tmp_path: Path) -> None:
    saved = {"seed": 1, "labels": ["a", "b"], "training": {"rate": 0.1, "decay": 0}, "gone": None}
    # A tuple is what JSON makes a list of, and what is not there is as good as nothing.
    compare_fingerprints(tmp_path, saved, {**saved, "labels": ("a", "b")})
    with pytest.raises(CheckpointError) as caught:
        compare_fingerprints(tmp_path, saved, {**saved, "seed": 2, "training": {"rate": 0.2, "decay": 0}})
    assert "belongs to another run: seed was 1, is 2; training.rate was 0.1, is 0.2" in str(caught.value)


def test_long_settings_are_cut_off_where_they_differ(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError) as caught:
        compare_fingerprints(tmp_path, {"labels": ["x"] * 500}, {"labels": ["y"] * 500})
    assert len(str(caught.value)) < 500
    assert "['x', 'x'" in str(caught.value)
