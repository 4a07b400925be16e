"""One trial of a sweep: a recipe with other settings, trained with every seed and scored on development data only."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from lexitree.corpora.corpus import Corpus
from lexitree.errors import (
    ConfigError,
    CorpusNotFoundError,
    DownloadError,
    FileError,
    LexitreeError,
    MissingExtraError,
    find_memory_error,
)
from lexitree.learning.observers import METRICS_FILE, EpochRecord, SilentObserver
from lexitree.learning.run_folder import RESULT_FILE, read_metrics, read_result, seed_folder
from lexitree.learning.seeds import Spread
from lexitree.sweeps.proposals import MAX_EPOCHS, median_rule
from lexitree.sweeps.search_space import SweepSettings
from lexitree.tasks.classify.building import corpus_settings, load_recipe_corpus
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.run import make_lessons, train
from lexitree.tasks.classify.task import score_name
from lexitree.tasks.classify.teaching import trees_checksum
from lexitree.writing import exclusive_lock

State = Literal["complete", "pruned", "failed"]
OnScore = Callable[[int, int, float], None]
"""Called with a seed, an epoch and the development score after it."""


@dataclass(frozen=True, slots=True)
class TrialJob:
    """Everything that a process needs to run a trial."""

    number: int
    recipe: Recipe
    """The recipe of the sweep."""
    settings: Mapping[str, Any]
    """What this trial changes, by dotted name."""
    sweep: SweepSettings
    folder: Path
    """Where the runs of the seeds go; an interrupted trial continues from there."""
    lessons: Path
    """A folder for what teachers say about training trees, once for all trials."""
    others: Sequence[Mapping[int, float]]
    """The scores by step of the finished trials that it is compared with."""
    options: Mapping[str, Any]
    """Options of `train`, such as the device."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended."""

    state: State
    curves: Mapping[int, Sequence[float]]
    """The development score after each epoch, by seed."""
    seconds: float
    error: str = ""
    """Why it failed."""

    @property
    def scores(self) -> list[float]:
        """The score of each seed's best epoch."""
        return [max(curve) for curve in self.curves.values() if curve]

    @property
    def spread(self) -> Spread | None:
        """Mean and deviation of the score over seeds; None unless the trial is complete."""
        return Spread.of(self.scores) if self.state == "complete" else None

    @property
    def steps(self) -> dict[int, float]:
        """What the trial is compared with others by: see `step_scores`."""
        return dict(step_scores(self.curves))

    def as_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        curves = {str(seed): list(curve) for seed, curve in self.curves.items()}
        return {"state": self.state, "curves": curves, "seconds": self.seconds, "error": self.error}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Outcome:
        """The inverse of `as_dict`."""
        curves = {int(seed): curve for seed, curve in values["curves"].items()}
        return cls(values["state"], curves, values["seconds"], values["error"])


def step_scores(curves: Mapping[int, Sequence[float]]) -> list[tuple[int, float]]:
    """Number the epochs of all seeds of a trial, one seed after the other, and score each.

    The score of an epoch is the mean over the seeds so far after as many epochs: other trials have the same seeds in
    the same order, so like is compared with like. A seed that has stopped early keeps its last score.
    """
    seen = list(curves.values())
    return [
        (place * MAX_EPOCHS + epoch, fmean(curve[min(epoch, len(curve)) - 1] for curve in seen[: place + 1]))
        for place, last in enumerate(seen)
        for epoch in range(1, len(last) + 1)
    ]


_MAX_SECONDS_OF_AN_END = 120.0
"""How long the end of a process may take on a busy machine."""


_MACHINE_ERRORS = (FileError, CorpusNotFoundError, DownloadError, MissingExtraError)
"""What can be mended on the machine, and says nothing about the settings of a trial."""
_CONTINUE = "Then continue the sweep with --resume."


class _HopelessError(Exception):
    """The trial is worse than most others."""


def run_trial(job: TrialJob, on_score: OnScore | None = None) -> Outcome:
    """Train a trial with all of its seeds, or continue an interrupted one.

    What goes wrong with its settings is its outcome, also a lack of memory: a sweep could not get past it otherwise.

    Args:
        job: The trial.
        on_score: Is told of every epoch.

    Raises:
        LexitreeError: The machine lacks a file or a package, or its disk is full: the trial has not ended.
    """
    start = time.perf_counter()
    progress = _Progress(job, on_score)

    def end(state: State, error: str = "") -> Outcome:
        return Outcome(state, progress.curves, round(time.perf_counter() - start, 3), error)

    try:
        # A process of a sweep that was killed may still be ending.
        with exclusive_lock(job.folder, "runs this trial", wait=_MAX_SECONDS_OF_AN_END):
            _train_seeds(job, progress)
    except _HopelessError:
        return end("pruned")
    except _MACHINE_ERRORS as error:
        error.remedy = f"{error.remedy}\n{_CONTINUE}".lstrip()
        raise
    except OSError as error:
        path = error.filename or job.folder
        raise FileError(path, f"cannot be used ({error.strerror or error})", remedy=_CONTINUE) from error
    except LexitreeError as error:
        return end("failed", error.message)
    except Exception as error:
        shortage = find_memory_error(error)
        return end("failed", shortage.message if shortage else f"{type(error).__name__}: {error}")
    return end("complete")


def _train_seeds(job: TrialJob, progress: _Progress) -> None:
    recipe = job.recipe.with_values(job.settings)
    corpus = read_trial_corpus(recipe)
    options = dict(job.options)
    if recipe.teacher:
        options["lessons"] = _common_lessons(job, recipe, corpus)
    score = score_name(recipe.training)
    for seed in job.sweep.seeds:
        folder = seed_folder(job.folder, seed)
        if (folder / RESULT_FILE).exists():
            progress.follow(seed, [epoch[score] for epoch in read_result(folder)["epochs"]])
            continue
        follower = _Follower(seed, folder, progress, score)
        run = train(recipe.with_seed(seed), folder, corpus=corpus, resume=True, observer=follower, **options)
        progress.follow(seed, [record.scores[score] for record in run.training.history])


def read_trial_corpus(recipe: Recipe) -> Corpus:
    """The corpus of a recipe without its test split, which a sweep must not use.

    Raises:
        ConfigError: The corpus has no development data.
    """
    corpus = _read_corpus(json.dumps(corpus_settings(recipe).as_dict()))
    if not corpus.dev:
        raise ConfigError(f"the corpus {corpus.name} has no development data, by which trials are compared")
    return corpus


@lru_cache(maxsize=1)
def _read_corpus(recipe: str) -> Corpus:
    corpus = load_recipe_corpus(Recipe.from_dict(json.loads(recipe)))
    splits = {name: trees for name, trees in corpus.splits.items() if name != "test"}
    return dataclasses.replace(corpus, splits=splits)


def _common_lessons(job: TrialJob, recipe: Recipe, corpus: Corpus) -> Path:
    """What the teacher says about the trees, for all trials with this teacher and these trees."""
    path = job.lessons / f"{Path(recipe.teacher).name}-{trees_checksum(corpus.train)}.safetensors"
    where = {name: job.options[name] for name in ("device", "backend") if name in job.options}
    with exclusive_lock(path, "asks the teacher", wait=_MAX_SECONDS_OF_LESSONS):
        if not path.exists():
            make_lessons(recipe, corpus, path, **where)
    return path


_MAX_SECONDS_OF_LESSONS = 24 * 3600.0
"""How long a trial waits for another one whose teacher is labelling the same trees."""


@dataclass(slots=True)
class _Progress:
    """The scores of a trial so far, and whether it has become hopeless."""

    job: TrialJob
    on_score: OnScore | None
    curves: dict[int, list[float]] = field(default_factory=dict[int, list[float]])
    is_hopeless: Callable[[int, float], bool] = field(init=False)

    def __post_init__(self) -> None:
        self.is_hopeless = median_rule(self.job.sweep, self.job.others)

    def follow(self, seed: int, scores: Sequence[float]) -> None:
        """Take note of the scores of all epochs of a seed so far; those known already are not looked at again.

        Raises:
            _HopelessError: The score of an epoch is worse than most others; later epochs are not taken note of.
        """
        curve = self.curves.setdefault(seed, [])
        for score in scores[len(curve) :]:
            curve.append(score)
            if self.on_score is not None:
                self.on_score(seed, len(curve), score)
            if self.is_hopeless(*step_scores(self.curves)[-1]) and not self._is_over(seed):
                raise _HopelessError

    def _is_over(self, seed: int) -> bool:
        """Whether this was the last epoch of the last seed, after which there is nothing to save by stopping."""
        num_epochs = self.job.settings.get("training.epochs", self.job.recipe.training.epochs)
        return seed == self.job.sweep.seeds[-1] and len(self.curves[seed]) >= num_epochs


class _Follower(SilentObserver):
    """Reads the scores from the run's own file: a resumed run does not report the epochs before."""

    def __init__(self, seed: int, folder: Path, progress: _Progress, score: str) -> None:
        self.seed = seed
        self.folder = folder
        self.progress = progress
        self.score = score

    def on_epoch(self, record: EpochRecord) -> None:
        records = read_metrics(self.folder / METRICS_FILE, self.score)
        self.progress.follow(self.seed, [each.scores[self.score] for each in records])
