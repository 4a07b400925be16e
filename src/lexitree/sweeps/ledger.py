"""The ledger of a sweep: which trial comes next, which have finished, and how an interrupted sweep goes on.

Trials are entered in the order of their numbers, whichever ends first, and each is proposed by a fixed number of
those before it. So a sweep proposes and stops the same trials whenever it is run with as many jobs, and after any
interruption. The price: with several jobs, a proposal does not know the newest few scores.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexitree.errors import FileError, LexitreeError
from lexitree.files import file_errors
from lexitree.fingerprints import describe_changes
from lexitree.learning.checkpoint import CHECKPOINT_FILE
from lexitree.learning.run_folder import ALREADY_THERE, SEED_FOLDERS, write_json
from lexitree.saving.model_folder import MODEL_FOLDER
from lexitree.sweeps.proposals import TrialStore, propose
from lexitree.sweeps.search_space import SearchSpace
from lexitree.sweeps.trial import Outcome, TrialJob
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.task import score_name
from lexitree.writing import exclusive_lock

SWEEP_FILE = "sweep.json"
STORE_FILE = "trials.db"
TRIALS_FOLDER = "trials"
TRIAL_FILE = "trial.json"
LESSONS_FOLDER = "lessons"


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial that was proposed."""

    number: int
    parameters: Mapping[str, Any]
    """What was drawn for it."""
    num_known: int
    """How many trials had been entered when it was proposed: it is compared with those."""


@dataclass(frozen=True, slots=True)
class FinishedTrial:
    """A trial that was entered."""

    number: int
    parameters: Mapping[str, Any]
    settings: Mapping[str, Any]
    """What it changed in the recipe, by dotted name."""
    outcome: Outcome


OnTrial = Callable[[FinishedTrial], None]


class Sweep:
    """A sweep in its folder; see `open_sweep`.

    Args:
        folder: The folder.
        recipe: What is varied.
        space: How it is varied.
        jobs: How many trials run at a time.
        options: Options of `train` for all runs.
        on_trial: Is told of each trial that is entered.
    """

    def __init__(
        self,
        folder: Path,
        recipe: Recipe,
        space: SearchSpace,
        *,
        jobs: int = 1,
        options: Mapping[str, Any] | None = None,
        on_trial: OnTrial | None = None,
    ) -> None:
        self.folder = folder
        self.recipe = recipe
        self.space = space
        self.jobs = jobs
        self.options = dict(options or {})
        self.on_trial = on_trial
        self.store = TrialStore(folder / STORE_FILE, space)
        self.num_trials = max(space.num_trials, len(self.store.trials))
        self._ended: dict[int, Outcome] = {}
        # Proposed, but not entered; those that this process has not handed out were interrupted.
        self._open = {trial.number: trial for trial in self._read_open()}
        self._handed_out: set[int] = set()
        for number in range(len(self.store.trials)):
            self._discard_weights(number)

    @property
    def score(self) -> str:
        """What trials are compared by, in words: `dev root` or, over several corpora, `dev mean`."""
        return score_name(self.recipe.training).replace("_", " ")

    @property
    def is_done(self) -> bool:
        """Whether all trials are entered."""
        return len(self.store.trials) >= self.num_trials

    def next_job(self) -> TrialJob | None:
        """The next trial to run, interrupted ones first; None if there is none, or if earlier ones must end first."""
        trial = next((each for number, each in self._open.items() if number not in self._handed_out), None)
        if trial is None:
            trial = self._propose()
        if trial is None:
            return None
        self._handed_out.add(trial.number)
        return TrialJob(
            trial.number,
            self.recipe,
            self.space.settings_of(trial.parameters),
            self.space.settings,
            # Engines may run it in another working folder.
            self._trial_folder(trial.number).resolve(),
            (self.folder / LESSONS_FOLDER).resolve(),
            self.store.complete_steps(trial.num_known),
            self.options,
        )

    def _propose(self) -> Trial | None:
        number = len(self.store.trials) + len(self._open)
        # With several jobs, as many again may wait for an earlier one to end, so that no process stands idle.
        window = 1 if self.jobs == 1 else 2 * self.jobs
        num_known = max(0, number + 1 - window)
        if number >= self.num_trials or num_known > len(self.store.trials):
            return None
        # What ended sooner than expected counts as running: proposals must not depend on the speed of processes.
        entered = [record["parameters"] for record in self.store.records()[num_known:]]
        running = [*entered, *(each.parameters for each in self._open.values())]
        parameters = propose(self.space, number, self.store.trials[:num_known], running)
        trial = Trial(number, parameters, num_known)
        self._open[number] = trial
        folder = self._trial_folder(number)
        with file_errors(folder, "made"):
            folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / TRIAL_FILE, {"parameters": dict(trial.parameters), "num_known": trial.num_known})
        return trial

    def finish(self, number: int, outcome: Outcome) -> None:
        """Take note of how a trial has ended, and enter all whose turn it is."""
        self._ended[number] = outcome
        while (first := len(self.store.trials)) in self._ended:
            self._enter(self._open.pop(first), self._ended.pop(first))

    def _enter(self, trial: Trial, outcome: Outcome) -> None:
        settings = self.space.settings_of(trial.parameters)
        self.store.add(
            trial.parameters,
            outcome.state,
            outcome.spread.mean if outcome.spread else None,
            outcome.steps,
            {"parameters": dict(trial.parameters), "settings": settings, **outcome.as_dict()},
        )
        self._discard_weights(trial.number)
        if self.on_trial is not None:
            self.on_trial(FinishedTrial(trial.number, trial.parameters, settings, outcome))

    def finished(self) -> list[FinishedTrial]:
        """All trials that were entered, by number."""
        return [
            FinishedTrial(number, record["parameters"], record["settings"], Outcome.from_dict(record))
            for number, record in enumerate(self.store.records())
        ]

    def _trial_folder(self, number: int) -> Path:
        return self.folder / TRIALS_FOLDER / f"{number:04}"

    def _read_open(self) -> list[Trial]:
        """The trials that were proposed and not entered, by number."""
        trials: list[Trial] = []
        for number in itertools.count(len(self.store.trials)):
            path = self._trial_folder(number) / TRIAL_FILE
            if not path.exists():
                break
            try:
                record = json.loads(path.read_text(encoding="utf-8"))
                trials.append(Trial(number, record["parameters"], record["num_known"]))
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise FileError(path, f"is not the record of a trial ({error})") from error
        return trials

    def _discard_weights(self, number: int) -> None:
        """Remove what an entered trial no longer needs; its metrics and results stay."""
        for seed in self._trial_folder(number).glob(SEED_FOLDERS):
            (seed / CHECKPOINT_FILE).unlink(missing_ok=True)
            shutil.rmtree(seed / MODEL_FOLDER, ignore_errors=True)


@contextmanager
def open_sweep(
    folder: str | Path, recipe: Recipe, space: SearchSpace, *, resume: bool = False, **options: Any
) -> Generator[Sweep]:
    """Begin a sweep in a folder, or resume the one that is there, and keep other processes out of it.

    Args:
        folder: The folder.
        recipe: What is varied.
        space: How it is varied.
        resume: Whether the folder may hold the same sweep already.
        options: Further arguments of `Sweep`.

    Raises:
        FileError: The folder holds a sweep that is not to be resumed, or another sweep.
        MissingExtraError: Optuna is not installed.
    """
    folder = Path(folder)
    with exclusive_lock(folder, "runs this sweep"):
        path = folder / SWEEP_FILE
        if path.exists() and not resume:
            raise FileError(folder, "already holds a sweep", remedy=ALREADY_THERE)
        with file_errors(folder, "made"):
            folder.mkdir(parents=True, exist_ok=True)
        definition = {"recipe": recipe.as_dict(), **space.as_dict()}
        if path.exists():
            _check_same(path, definition)
        sweep = Sweep(folder, recipe, space, **options)
        if not path.exists():
            write_json(path, definition)
        yield sweep


def _check_same(path: Path, definition: Mapping[str, Any]) -> None:
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
        changes = describe_changes(before, definition)
    except (OSError, ValueError, AttributeError) as error:
        raise FileError(path, f"is not the record of a sweep ({error})") from error
    if changes:
        raise FileError(
            path.parent, f"holds another sweep: {changes}", remedy="Choose another directory for this one."
        )


def best_trial(trials: Sequence[FinishedTrial]) -> FinishedTrial:
    """The complete trial with the highest development score; the first of equals.

    Raises:
        LexitreeError: No trial is complete.
    """
    complete = [trial for trial in trials if trial.outcome.spread]
    if not complete:
        errors = dict.fromkeys(trial.outcome.error for trial in trials if trial.outcome.error)
        raise LexitreeError(f"no trial is complete: {'; '.join(errors) or 'all were stopped early'}")
    return max(complete, key=lambda trial: trial.outcome.spread.mean if trial.outcome.spread else 0.0)
