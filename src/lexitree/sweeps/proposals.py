"""What Optuna does for a sweep: proposing settings, stopping hopeless trials, storing finished ones (extra `sweep`).

Every proposal follows from the finished trials, the running ones, the seed and the number of the trial, and from
nothing else: a sampler with a state of its own would propose something else after a sweep is resumed. So for each
question, Optuna gets a fresh study in memory; the one on disk only holds what has finished.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lexitree.errors import FileError, import_extra
from lexitree.sweeps.search_space import Parameter, Range, SearchSpace, SweepSettings

STUDY_NAME = "sweep"
_EXTRA = "sweep"
MAX_EPOCHS = 10**6
"""Steps of a trial are numbered as if every seed had so many epochs, so that all trials count alike."""

Distribution = Any
FrozenTrial = Any
"""A trial of Optuna's, whose package need not be installed to import this module."""


def require_optuna() -> Any:
    """Import Optuna and keep it quiet.

    Raises:
        MissingExtraError: It is not installed.
    """
    optuna: Any = import_extra("optuna", extra=_EXTRA, purpose="A sweep")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def propose(
    space: SearchSpace, number: int, finished: Sequence[FrozenTrial], running: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The parameters of a trial.

    Args:
        space: The search space.
        number: The number of the trial, from 0.
        finished: The trials to learn from.
        running: The parameters of trials that have not finished.
    """
    if space.points is not None:
        return dict(space.points[number])
    optuna = require_optuna()
    settings = space.settings
    seed = int(np.random.SeedSequence([settings.sampler_seed, number]).generate_state(1)[0])
    if settings.sampler == "random":
        sampler = optuna.samplers.RandomSampler(seed=seed)
    else:
        sampler = optuna.samplers.TPESampler(
            seed=seed, n_startup_trials=settings.random_trials, constant_liar=True
        )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.add_trials(
        [_as_seen(each) for each in finished] + [_running_trial(space, each) for each in running]
    )
    drawn = study.ask(_distributions(space)).params
    return {name: _from_optuna(space.parameters[name], value) for name, value in drawn.items()}


def median_rule(
    settings: SweepSettings, others: Sequence[Mapping[int, float]]
) -> Callable[[int, float], bool]:
    """Optuna's median stopping: whether a trial that has this score after this step is worse than most others.

    Args:
        settings: Whether and when trials are stopped.
        others: The scores of complete trials by step.
    """
    if settings.stopping == "none" or len(others) < settings.unstopped_trials:
        return lambda step, score: False
    optuna = require_optuna()
    pruner = optuna.pruners.MedianPruner(
        n_startup_trials=settings.unstopped_trials,
        n_min_trials=settings.unstopped_trials,
    )
    study = optuna.create_study(direction="maximize", pruner=pruner)
    study.add_trials(
        [optuna.trial.create_trial(value=0.0, intermediate_values=dict(each)) for each in others]
    )
    # Optuna goes by the best score over all steps of a trial: a good first seed would shield the others.
    seeds: dict[int, Any] = {}

    def is_hopeless(step: int, score: float) -> bool:
        place, epoch = divmod(step, MAX_EPOCHS)
        if place not in seeds:
            seeds[place] = study.ask()
        seeds[place].report(score, step)
        return epoch > settings.unstopped_epochs and seeds[place].should_prune()

    return is_hopeless


class TrialStore:
    """Finished trials in a file of SQLite that Optuna's own tools read as well; each is added in one transaction.

    Args:
        path: The file.
        space: The search space.

    Raises:
        MissingExtraError: Optuna is not installed.
        FileError: The file is damaged.
    """

    def __init__(self, path: Path, space: SearchSpace) -> None:
        self.optuna = require_optuna()
        self.path = path
        self.space = space
        try:
            storage = self.optuna.storages.RDBStorage(f"sqlite:///{path.resolve()}")
            self.study = self.optuna.create_study(
                storage=storage, study_name=STUDY_NAME, direction="maximize", load_if_exists=True
            )
            self.trials: list[FrozenTrial] = self.study.get_trials(deepcopy=False)
        except Exception as error:
            # SQLAlchemy's, Alembic's and Optuna's errors have no base class in common.
            raise FileError(path, f"is not a file of a sweep's trials ({error})") from error

    def add(
        self,
        parameters: Mapping[str, Any],
        state: str,
        score: float | None,
        steps: Mapping[int, float],
        record: Mapping[str, Any],
    ) -> None:
        """Add the next finished trial.

        Args:
            parameters: Its parameters.
            state: `complete`, `pruned` or `failed`.
            score: Its score if it is complete.
            steps: Its scores by step.
            record: Plain values to be stored with it.
        """
        states = self.optuna.trial.TrialState
        trial = self.optuna.trial.create_trial(
            state={"complete": states.COMPLETE, "pruned": states.PRUNED, "failed": states.FAIL}[state],
            value=score,
            params=_to_optuna(self.space, parameters),
            distributions=_distributions(self.space),
            intermediate_values=dict(steps),
            user_attrs=dict(record),
        )
        self.study.add_trial(trial)
        self.trials.append(self.study.get_trials(deepcopy=False)[-1])

    def records(self) -> list[Mapping[str, Any]]:
        """What was stored with each trial, by number."""
        return [trial.user_attrs for trial in self.trials]

    def complete_steps(self, num_known: int) -> list[dict[int, float]]:
        """The scores by step of the complete ones among the first trials."""
        complete = self.optuna.trial.TrialState.COMPLETE
        return [trial.intermediate_values for trial in self.trials[:num_known] if trial.state == complete]


def _distributions(space: SearchSpace) -> dict[str, Distribution]:
    return {name: _distribution(each) for name, each in space.parameters.items()}


def _distribution(parameter: Parameter) -> Distribution:
    distributions: Any = require_optuna().distributions
    values = parameter.values
    if not isinstance(values, Range):
        return distributions.CategoricalDistribution([_choice(parameter, value) for value in values])
    if parameter.is_whole:
        step = 1 if values.step is None else int(values.step)
        return distributions.IntDistribution(int(values.low), int(values.high), log=values.log, step=step)
    return distributions.FloatDistribution(values.low, values.high, log=values.log, step=values.step)


def _as_seen(trial: FrozenTrial) -> FrozenTrial:
    """A failed trial counts as one that was stopped at once: Optuna ignores failures, and would repeat them."""
    trials: Any = require_optuna().trial
    if trial.state != trials.TrialState.FAIL:
        return trial
    return trials.create_trial(
        state=trials.TrialState.PRUNED, params=trial.params, distributions=trial.distributions
    )


def _running_trial(space: SearchSpace, parameters: Mapping[str, Any]) -> FrozenTrial:
    trials: Any = require_optuna().trial
    return trials.create_trial(
        state=trials.TrialState.RUNNING,
        params=_to_optuna(space, parameters),
        distributions=_distributions(space),
    )


def _to_optuna(space: SearchSpace, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _choice(space.parameters[name], value) for name, value in parameters.items()}


def _choice(parameter: Parameter, value: Any) -> Any:
    """Optuna chooses among numbers and texts only; lists are written out."""
    return json.dumps(value) if _has_lists(parameter) else value


def _from_optuna(parameter: Parameter, value: Any) -> Any:
    return json.loads(value) if _has_lists(parameter) else value


def _has_lists(parameter: Parameter) -> bool:
    return not isinstance(parameter.values, Range) and any(
        isinstance(each, list) for each in parameter.values
    )
