"""Learning curves of finished or running trainings: loss and development scores by epoch, over several seeds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lexitree.errors import FileError
from lexitree.files import read_lines
from lexitree.learning.observers import METRICS_FILE, EpochRecord
from lexitree.learning.run_folder import SEED_FOLDERS
from lexitree.learning.seeds import Spread


@dataclass(frozen=True, slots=True)
class EpochSpread:
    """One epoch over all seeds that have reached it."""

    epoch: int
    num_seeds: int
    loss: Spread
    dev_root: Spread
    dev_phrase: Spread | None
    """None where only the sentences carry labels."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """The history of one recipe, with one seed or several."""

    name: str
    runs: dict[str, tuple[EpochRecord, ...]]
    """The epochs of each seed, by the name of its folder."""

    def epochs(self) -> list[EpochSpread]:
        """Mean and deviation of every epoch that at least one seed has finished."""
        by_epoch: dict[int, list[EpochRecord]] = {}
        for records in self.runs.values():
            for record in records:
                by_epoch.setdefault(record.epoch, []).append(record)
        return [_spread_epoch(epoch, by_epoch[epoch]) for epoch in sorted(by_epoch)]

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "seeds": list(self.runs),
            "epochs": [epoch.as_dict() for epoch in self.epochs()],
        }


def read_curve(folder: str | Path, name: str = "") -> LearningCurve:
    """Read the curve of a run, or of several seeds, from its folder.

    Raises:
        FileError: If the folder holds no metrics, or damaged ones.
    """
    folder = Path(folder)
    files = [folder / METRICS_FILE] if (folder / METRICS_FILE).is_file() else _seed_files(folder)
    if not files:
        raise FileError(
            folder,
            f"holds neither {METRICS_FILE} nor runs of several seeds",
            remedy="Give the folder that `lexitree train --output` wrote, once its first epoch is done.",
        )
    return LearningCurve(name or folder.name, {path.parent.name: _read_metrics(path) for path in files})


def _seed_files(folder: Path) -> list[Path]:
    files = folder.glob(f"{SEED_FOLDERS}/{METRICS_FILE}")
    return sorted(files, key=lambda path: (len(path.parent.name), path.parent.name))


def _read_metrics(path: Path) -> tuple[EpochRecord, ...]:
    records: list[EpochRecord] = []
    for number, line in read_lines(path):
        try:
            record = EpochRecord.from_dict(json.loads(line))
            # Curves are of sentence models.
            float(record.scores["dev_root"])
            records.append(record)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise FileError(path, f"line {number} is not the record of an epoch ({error})") from error
    if not records:
        raise FileError(path, "is empty: no epoch is done yet")
    return tuple(records)


def _spread_epoch(epoch: int, records: Sequence[EpochRecord]) -> EpochSpread:
    has_phrases = all(record.scores.get("dev_phrase") is not None for record in records)
    return EpochSpread(
        epoch=epoch,
        num_seeds=len(records),
        loss=Spread.of([record.loss for record in records]),
        dev_root=Spread.of([record.scores["dev_root"] for record in records]),
        dev_phrase=Spread.of([record.scores["dev_phrase"] for record in records]) if has_phrases else None,
    )
