"""Observers of a run: a group passes everything on, and TensorBoard's files hold the scores."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lexitree.errors import FileError
from lexitree.learning.observers import (
    BatchProgress,
    EpochRecord,
    ObserverGroup,
    SilentObserver,
    TensorBoardObserver,
)

PROGRESS = BatchProgress(1, 2, 25, 50, 3.5, 100.0)
RECORD = EpochRecord(1, 3.25, {"dev_root": 0.5, "dev_phrase": None, "dev": {"a": 0.5}}, 1e-3, 2.0, 25.0, True)


class Recorder(SilentObserver):
    def __init__(self) -> None:
        self.heard: list[object] = []

    def on_batch(self, progress: BatchProgress) -> None:
        self.heard.append(progress)

    def on_epoch(self, record: EpochRecord) -> None:
        self.heard.append(record)

    def close(self) -> None:
        self.heard.append("closed")


def test_everyone_in_a_group_hears_everything() -> None:
    listeners = [Recorder(), Recorder()]
    group = ObserverGroup(listeners)
    group.on_batch(PROGRESS)
    group.on_epoch(RECORD)
    group.close()
    assert [listener.heard for listener in listeners] == [[PROGRESS, RECORD, "closed"]] * 2


def test_tensorboard_finds_the_scores(tmp_path: Path) -> None:
    reading = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="needs TensorBoard"
    )
    assert TensorBoardObserver.is_available()
    observer = TensorBoardObserver(tmp_path / "board")
    observer.on_epoch(RECORD)
    observer.on_epoch(replace(RECORD, epoch=RECORD.epoch + 1))
    observer.close()
    events = reading.EventAccumulator(str(tmp_path / "board"))
    events.Reload()
    assert [event.step for event in events.Scalars("loss/train")] == [RECORD.epoch, RECORD.epoch + 1]
    found = {name: events.Scalars(name)[0].value for name in events.Tags()["scalars"]}
    assert found == {
        "loss/train": 3.25,
        "scores/dev root": 0.5,
        "speed/examples per second": 25.0,
    }


def test_a_record_comes_back_from_its_flat_form() -> None:
    values = RECORD.as_dict()
    assert list(values)[:3] == ["epoch", "loss", "dev_root"]
    assert EpochRecord.from_dict(json.loads(json.dumps(values))) == RECORD
    del values["seconds"]
    with pytest.raises(KeyError, match="seconds"):
        EpochRecord.from_dict(values)


def test_a_run_without_an_epoch_leaves_nothing_for_tensorboard(tmp_path: Path) -> None:
    TensorBoardObserver(tmp_path / "board").close()
    assert not (tmp_path / "board").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device that is always full")
def test_a_full_disk_under_tensorboard_is_one_clear_error(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs TensorBoard")
    observer = TensorBoardObserver(tmp_path)
    observer.path.symlink_to("/dev/full")
    with pytest.raises(FileError, match=r"cannot be written \(No space left on device\)") as caught:
        observer.on_epoch(RECORD)
    assert caught.value.path == str(observer.path)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e308, 10**400])
@pytest.mark.parametrize("name", ["seconds", "loss", "dev_root"])
def test_a_number_that_no_run_has_is_refused(name: str, number: float) -> None:
    with pytest.raises(TypeError, match=f"{name} is out of range"):
        EpochRecord.from_dict({**RECORD.as_dict(), name: number})
