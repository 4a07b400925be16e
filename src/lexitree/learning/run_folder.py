"""The folder of a training run: claiming it, what a run leaves there, and finding saved models in it.

A run leaves `checkpoint.safetensors`, `metrics.jsonl` (one line per epoch), `model/` (the best model so far) and,
when it is finished, `result.json`. Runs of several seeds lie in `seed-1`, `seed-2` and so on.
"""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from lexitree.corpora.text_splits import SPLITS_FILE
from lexitree.errors import FileError
from lexitree.files import file_errors, read_lines
from lexitree.learning.checkpoint import CHECKPOINT_FILE
from lexitree.learning.distributed import OneProcess
from lexitree.learning.loop import Task, Trainer, TrainingResult
from lexitree.learning.observers import (
    METRICS_FILE,
    EpochRecord,
    Observer,
    ObserverGroup,
    TensorBoardObserver,
)
from lexitree.ops.threads import num_cores
from lexitree.saving.model_folder import CONFIG_FILE, MODEL_FOLDER
from lexitree.settings import Settings
from lexitree.version import __version__
from lexitree.writing import atomic_write, exclusive_lock, recover_folder

RESULT_FILE = "result.json"
LESSONS_FILE = "lessons.safetensors"
"""What a teacher says about the training trees, where there is one."""
SEED_FOLDERS = "seed-*"
TENSORBOARD_FOLDER = "tensorboard"

ALREADY_THERE = "Continue it with --resume, or choose another directory."


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A finished run; tasks add their test scores."""

    folder: Path
    training: TrainingResult

    @property
    def best(self) -> EpochRecord:
        """The epoch whose weights are kept."""
        return self.training.best

    @property
    def model_folder(self) -> Path:
        """The folder of the trained model, for `lexitree.load`."""
        return self.folder / MODEL_FOLDER

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r}, {self.training.summary()})"


@contextmanager
def claim_folder(folder: str | Path, *, resume: bool) -> Generator[Path]:
    """Make the folder of a run, or take over the one to be resumed, and keep other processes out of it.

    Raises:
        FileError: If the folder holds a run that is not to be resumed, or one that cannot be, if another process is
            training into it, or if it cannot be made.
    """
    folder = Path(folder)
    with exclusive_lock(folder, "trains into it"):
        recover_folder(folder / MODEL_FOLDER)
        if resume and not (folder / CHECKPOINT_FILE).exists() and (folder / RESULT_FILE).exists():
            raise FileError(folder, "has results but no checkpoint to resume from")
        if not resume and any(
            (folder / name).exists() for name in (CHECKPOINT_FILE, RESULT_FILE, MODEL_FOLDER)
        ):
            raise FileError(folder, "already holds a run", remedy=ALREADY_THERE)
        with file_errors(folder, "made"):
            folder.mkdir(parents=True, exist_ok=True)
        if resume:
            _remove_leftovers(folder)
        yield folder


def _remove_leftovers(folder: Path) -> None:
    """Remove what a killed run was just writing: it is never needed again, and can be as large as a checkpoint."""
    for name in (CHECKPOINT_FILE, METRICS_FILE, RESULT_FILE, MODEL_FOLDER, LESSONS_FILE, SPLITS_FILE):
        # Only our own names: the folder may hold other things as well.
        for path in (*folder.glob(f".{name}.*.part"), *folder.glob(f".{name}.*.old")):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def run_in_folder(
    task: Task[Any],
    folder: Path,
    save_best: Callable[[TrainingResult], object],
    *,
    observer: Observer | None,
    minutes: float | None,
    processes: OneProcess | None = None,
) -> TrainingResult:
    """Train a task in its folder; the observer and, where it is installed, TensorBoard are told of the progress."""
    observers = [observer] if observer else []
    if TensorBoardObserver.is_available():
        observers.append(TensorBoardObserver(folder / TENSORBOARD_FOLDER))
    group = ObserverGroup(observers)
    try:
        trainer = Trainer(task, folder=folder, observer=group, save_best=save_best, processes=processes)
        return trainer.run(minutes=minutes)
    finally:
        group.close()


def _describe_environment(device: torch.device) -> dict[str, Any]:
    """The versions and the machine that figures depend on."""
    return {
        "lexitree": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else platform.machine(),
        "threads": num_cores(),
        "precision": "float32" if torch.get_float32_matmul_precision() == "highest" else "tf32",
    }


class RecordedModel(Protocol):
    """A model with what the record of its run says about it."""

    @property
    def config(self) -> Settings: ...

    @property
    def device(self) -> torch.device: ...

    def num_parameters(self) -> int: ...


def write_result(
    run: FinishedRun, recipe: Settings, model: RecordedModel, environment: Mapping[str, Any], **own: Any
) -> None:
    """Write the record of a finished run.

    Args:
        run: The run.
        recipe: What was trained on what.
        model: The trained model.
        environment: What the task adds to the versions and the machine.
        **own: What only this task records.
    """
    record = {
        "recipe": recipe.as_dict(),
        "model": model.config.as_dict(),
        "num_parameters": model.num_parameters(),
        "environment": {**_describe_environment(model.device), **environment},
        "best_epoch": run.best.epoch,
        **own,
        "seconds": run.training.seconds,
        "epochs": [record.as_dict() for record in run.training.history],
    }
    write_json(run.folder / RESULT_FILE, record)


def write_json(path: Path, record: Mapping[str, Any]) -> None:
    with atomic_write(path) as stream:
        json.dump(record, stream, indent=2)
        stream.write("\n")


def read_result(folder: Path) -> dict[str, Any]:
    """The record of a finished run."""
    return json.loads((folder / RESULT_FILE).read_text(encoding="utf-8"))


def read_metrics(path: Path, score: str) -> tuple[EpochRecord, ...]:
    """Read the epochs of a run from its file of metrics.

    Args:
        path: The file.
        score: A score that every epoch must have.

    Raises:
        FileError: The file is empty, or a line of it is damaged.
    """
    records: list[EpochRecord] = []
    for number, line in read_lines(path):
        try:
            record = EpochRecord.from_dict(json.loads(line))
            float(record.scores[score])
            records.append(record)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise FileError(path, f"line {number} is not the record of an epoch ({error})") from error
    if not records:
        raise FileError(path, "is empty: no epoch is done yet")
    return tuple(records)


def seed_folder(folder: Path, seed: int) -> Path:
    """The folder of one seed within that of several."""
    return folder / f"seed-{seed}"


def model_folders(name: str | Path) -> list[str]:
    """The saved models of a system: of each seed in order, of a run, or the one that was named.

    What is neither a run nor a folder of runs is returned as it is: the folder of a model, or a name on the hub.
    """
    folder = Path(name)
    recover_folder(folder / MODEL_FOLDER)
    if (folder / CONFIG_FILE).is_file():
        return [str(name)]
    if (folder / MODEL_FOLDER / CONFIG_FILE).is_file():
        return [str(folder / MODEL_FOLDER)]
    seeds = [path.parent.parent for path in folder.glob(f"{SEED_FOLDERS}/{MODEL_FOLDER}/{CONFIG_FILE}")]
    ordered = sorted(seeds, key=lambda path: (len(path.name), path.name))
    return [str(seed / MODEL_FOLDER) for seed in ordered] or [str(name)]
