"""A space and a trial function without training, whose scores follow from the settings."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

from lexitree.errors import FileError
from lexitree.sweeps.ledger import Sweep
from lexitree.sweeps.proposals import median_rule
from lexitree.sweeps.search_space import SearchSpace, read_space
from lexitree.sweeps.trial import OnScore, Outcome, TrialJob, step_scores
from lexitree.tasks.classify.recipe import Recipe

SPACE = """
[sweep]
seeds = [1, 2]
random_trials = 4
unstopped_trials = 3

[space]
"training.learning_rate" = { low = 1e-4, high = 1e-1, log = true }
model.dropout = [0.2, 0.3, 0.4]
"""
NUM_EPOCHS = 4


def write_space(folder: Path, text: str = SPACE, **changes: Any) -> SearchSpace:
    path = folder / "space.toml"
    path.write_text(text, encoding="utf-8")
    return read_space(path, Recipe(), changes)


def fake_trial(job: TrialJob, on_score: OnScore | None = None) -> Outcome:
    """The best learning rate is 0.001 and the best dropout 0.3; from 0.02 on, training diverges."""
    rate, dropout = job.settings["training.learning_rate"], job.settings["model.dropout"]
    is_hopeless = median_rule(job.sweep, job.others)
    curves: dict[int, list[float]] = {}
    if rate > 0.02:
        return Outcome("failed", {}, 0.0, "the loss is no longer a number")
    for seed in job.sweep.seeds:
        curves[seed] = []
        for epoch in range(1, NUM_EPOCHS + 1):
            score = 0.9 - abs(math.log10(rate) + 3) / 5 - abs(dropout - 0.3) + 0.01 * seed - 0.4 / epoch
            curves[seed].append(score)
            if on_score is not None:
                on_score(seed, epoch, score)
            if is_hopeless(*step_scores(curves)[-1]):
                return Outcome("pruned", curves, 0.0)
    return Outcome("complete", curves, 0.0)


def slow_at_first(job: TrialJob, on_score: OnScore | None = None) -> Outcome:
    """Even trials end late, so that the others overtake them."""
    time.sleep(0.3 * (job.number % 2 == 0))
    return fake_trial(job, on_score)


def deadly_third(job: TrialJob, on_score: OnScore | None = None) -> Outcome:
    """The process of the third trial is killed."""
    if job.number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return fake_trial(job, on_score)


def dies_once(job: TrialJob, on_score: OnScore | None = None) -> Outcome:
    """The process of each trial is killed once."""
    try:
        (job.folder / "died").touch(exist_ok=False)
    except FileExistsError:
        return fake_trial(job, on_score)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def dies_afterwards(job: TrialJob, on_score: OnScore | None = None) -> Outcome:
    """The process dies between this trial and the next."""
    threading.Timer(0.2, os._exit, [1]).start()
    return fake_trial(job, on_score)


def full_disk(job: TrialJob, on_score: OnScore | None = None) -> Outcome:
    """The second trial finds no space."""
    if job.number == 1:
        raise FileError(job.folder, "cannot be written (No space left on device)", remedy="Make space.")
    return fake_trial(job, on_score)


def note_working_folder(job: TrialJob, on_score: OnScore | None = None) -> Outcome:
    """Write down where the trial runs."""
    (job.folder / "working-folder").write_text(str(Path.cwd()), encoding="utf-8")
    return fake_trial(job, on_score)


def run_all(sweep: Sweep, *, most: int | None = None, newest_first: bool = False) -> None:
    """Run trials in this process, at most so many; with several jobs, the newest may end first."""
    waiting: list[TrialJob] = []
    num_done = 0
    while most is None or num_done < most:
        while len(waiting) < sweep.jobs and (job := sweep.next_job()):
            waiting.append(job)
        if not waiting:
            return
        job = waiting.pop(-1 if newest_first else 0)
        sweep.finish(job.number, fake_trial(job))
        num_done += 1


def results(sweep: Sweep) -> list[tuple[Any, ...]]:
    """Everything about the finished trials but the time."""
    return [
        (trial.number, trial.settings, trial.outcome.state, trial.outcome.curves, trial.outcome.error)
        for trial in sweep.finished()
    ]
