"""Who listens to a run: everyone in a group hears everything, and TensorBoard's files hold the scores."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.learning.observers import (
    BatchProgress,
    EpochRecord,
    ObserverGroup,
    SilentObserver,
    TensorBoardObserver,
)

PROGRESS = BatchProgress(1, 2, 25, 50, 3.5, 100.0)
RECORD = EpochRecord(1, 3.25, 0.5, 0.75, 2.0, 25.0, True)


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
    observer.close()
    events = reading.EventAccumulator(str(tmp_path / "board"))
    events.Reload()
    found = {name: events.Scalars(name)[0].value for name in events.Tags()["scalars"]}
    assert found == {
        "loss/train": 3.25,
        "accuracy/dev root": 0.5,
        "accuracy/dev phrase": 0.75,
        "speed/trees per second": 25.0,
    }


def test_a_run_without_an_epoch_leaves_nothing_for_tensorboard(tmp_path: Path) -> None:
    TensorBoardObserver(tmp_path / "board").close()
    assert not (tmp_path / "board").exists()
