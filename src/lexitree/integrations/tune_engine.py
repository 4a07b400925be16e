"""Runs the trials of a sweep on a Ray cluster with Ray Tune, which starts trials again whose machine or process dies.

Which trials there are and which are stopped is decided as everywhere (`lexitree.sweeps`), so the results do not
depend on the engine. The folder of the sweep must be the same on all machines. Ray's own record of the experiment is
written beside the trials and never read: a sweep is resumed by its own files.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from lexitree.errors import LexitreeError, import_extra
from lexitree.integrations.ray_cluster import connected
from lexitree.sweeps.ledger import Sweep
from lexitree.sweeps.local_engine import MORE_TRIES, OnProgress, RunTrial
from lexitree.sweeps.trial import Outcome, TrialJob, run_trial

RAY_FOLDER = "ray"
"""In the folder of the sweep; Ray's record, which is only for people."""
_ENVIRONMENT = {
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
}
"""Keeps Ray from printing tables, from other working folders, and from files that nobody reads."""

_GIVEN_UP = f"Ray gave it up after {MORE_TRIES + 1} tries: its process was killed or failed; see Ray's log"
"""Ray does not tell the searcher which of them it was."""


def run_with_tune(
    sweep: Sweep,
    *,
    address: str | None = None,
    on_progress: OnProgress | None = None,
    run: RunTrial = run_trial,
) -> None:
    """Run a sweep to its end.

    Args:
        sweep: The sweep; it says how many trials run at a time.
        address: The cluster; `auto` finds that of this machine. By default, Ray is started here and ended afterwards.
        on_progress: Is told of every epoch of every trial.
        run: What runs a trial.

    Raises:
        MissingExtraError: Ray Tune is not installed.
        LexitreeError: Ray cannot be started or has stopped, or a machine cannot run a trial; see `run_trial`.
    """
    ray, tune = require_tune()
    folder = sweep.folder / RAY_FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    searcher = _make_searcher(tune, sweep, on_progress)
    num_cpus = sweep.jobs * _resources(sweep.options)["cpu"]
    with connected(ray, address, num_cpus):
        tuner = tune.Tuner(
            tune.with_resources(_trainable(tune, run), _resources(sweep.options)),
            tune_config=tune.TuneConfig(
                search_alg=searcher,
                num_samples=sweep.num_trials - len(sweep.store.trials),
                reuse_actors=True,
                trial_name_creator=_name,
                trial_dirname_creator=_name,
            ),
            run_config=tune.RunConfig(
                name=sweep.folder.resolve().name,
                storage_path=str(folder.resolve()),
                verbose=0,
                failure_config=tune.FailureConfig(max_failures=MORE_TRIES),
            ),
        )
        tuner.fit()
    if searcher.problem is not None:
        raise searcher.problem
    if not sweep.is_done:
        raise LexitreeError("Ray Tune has stopped before the last trial", remedy="Continue it with --resume.")


def require_tune() -> tuple[Any, Any]:
    """Import Ray and Ray Tune; call it early to fail before anything is written.

    Raises:
        MissingExtraError: One of them is not installed.
    """
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    ray = import_extra("ray", extra="ray", purpose="The engine ray")
    return ray, import_extra("ray.tune", extra="ray", purpose="The engine ray", package="ray[tune]")


def _resources(options: Mapping[str, Any]) -> dict[str, int]:
    """What each trial needs."""
    gpus = {"gpu": 1} if str(options.get("device", "")).startswith("cuda") else {}
    return {"cpu": int(options.get("threads", 1)), **gpus}


def _trainable(tune: Any, run: RunTrial) -> Any:
    """The function that Ray runs on some machine: it reports every epoch, and at last how the trial has ended."""
    working_folder = os.getcwd()  # noqa: PTH109

    def train_trial(config: dict[str, Any]) -> None:
        job: TrialJob = config["job"]
        # Paths in the recipe may be relative; on another machine they may all be absolute, and this folder missing.
        with suppress(OSError):
            os.chdir(working_folder)

        def report(seed: int, epoch: int, score: float) -> None:
            tune.report({"seed": seed, "epoch": epoch, "score": score})

        try:
            outcome = run(job, report)
        except LexitreeError as error:
            # Ray would try it again, and wrap it.
            tune.report({"score": math.nan, "problem": [error.message, error.remedy]})
            return
        scores = outcome.scores
        # As text, because Ray would take a table apart.
        tune.report({"score": max(scores) if scores else math.nan, "outcome": json.dumps(outcome.as_dict())})

    return train_trial


def _name(trial: Any) -> str:
    return f"trial-{trial.config['job'].number}"


def _make_searcher(tune: Any, sweep: Sweep, on_progress: OnProgress | None) -> Any:
    """What Ray Tune asks for trials and tells of results: the ledger of the sweep."""

    class LedgerSearcher(tune.search.Searcher):
        def __init__(self) -> None:
            super().__init__(metric="score", mode="max")
            self.numbers: dict[str, int] = {}
            self.problem: LexitreeError | None = None

        def suggest(self, trial_id: str) -> Any:
            if self.problem is not None:
                return tune.search.Searcher.FINISHED
            if len(self.numbers) >= sweep.jobs:
                return None
            job = sweep.next_job()
            if job is None:
                return None
            self.numbers[trial_id] = job.number
            return {"job": job}

        def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
            if on_progress is not None and "epoch" in result:
                on_progress(self.numbers[trial_id], result["seed"], result["epoch"], result["score"])

        def on_trial_complete(
            self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
        ) -> None:
            number = self.numbers.pop(trial_id)
            if result and "problem" in result:
                message, remedy = result["problem"]
                self.problem = LexitreeError(message, remedy=remedy)
            elif error or not result or "outcome" not in result:
                sweep.finish(number, Outcome("failed", {}, 0.0, _GIVEN_UP))
            else:
                sweep.finish(number, Outcome.from_dict(json.loads(result["outcome"])))

        def save(self, checkpoint_path: str) -> None:
            """The ledger saves itself."""

        def restore(self, checkpoint_path: str) -> None:
            raise NotImplementedError

        def __reduce__(self) -> tuple[Any, ...]:
            # Ray keeps a copy of its arguments, which nobody reads; the ledger's open files cannot be copied.
            return (str, ())

    return LedgerSearcher()
