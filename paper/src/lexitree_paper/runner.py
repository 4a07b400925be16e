"""Plans and trains one run of an experiment, and tells whether a record already covers it."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexitree.corpora.named import EMBEDDED, find_corpus, find_entry
from lexitree.errors import ConfigError
from lexitree.learning.seeds import OnEvent, SeedSummary
from lexitree.models.catalog import encoder_class
from lexitree.models.encoder_files import encoder_weights
from lexitree.models.model_config import DEFAULT_MODEL
from lexitree.tasks.classify.recipe import Recipe, TrainingConfig
from lexitree.tasks.classify.run import train_seeds
from lexitree.tasks.parse.data import find_data_file
from lexitree_paper.experiments import Experiment, PlannedRun

_SMOKE_CORPORA = {
    "sst-fine": "mini-reviews",
    "sst-binary": "mini-reviews-binary",
    "sst-polarity": "mini-reviews-polarity",
    "sst-dependencies": "mini-dependencies",
    "sst-dependencies-binary": "mini-dependencies",
    "trec": "mini-questions",
    "trec-subtypes": "mini-questions-subtypes",
}
SMOKE_MODEL = {"hidden": 12, "word_size": 12}
"""Both sizes are equal, because the word vectors of RNTN are its states."""
SMOKE_EPOCHS = 1
_SMOKE_FOLDER = "smoke"
_RESULTS_OF_CLONE, _PICTURES_OF_CLONE = Path("paper/results"), Path("paper/docs/images")
_CORPUS_FILES = (".txt", ".label", ".parses")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How experiments are run: where, with which vectors, how many seeds and epochs."""

    folder: Path
    """Folder of runs: checkpoints and models."""
    results: Path
    """Folder of records."""
    vectors: str | None = None
    data: str | None = None
    seeds: Sequence[int] | None = None
    """None: those of the experiment."""
    epochs: int | None = None
    jobs: int | None = None
    minutes: float | None = None
    """Start nothing that would end later; only for experiments of many short runs."""
    device: str = "cpu"
    precision: str = "float32"
    smoke: bool = False
    """Smoke test: embedded corpora, tiny models, one epoch."""
    again: bool = False
    """Also run what is already recorded."""
    sentences: Sequence[str] = ()
    """Trees in brackets to draw besides the paper's."""
    pictures: Path | None = None
    """Folder of pictures; None: paper/docs/images in a clone; otherwise, and in a smoke test, beside the records."""

    @property
    def records_folder(self) -> Path:
        return self.results / _SMOKE_FOLDER if self.smoke else self.results

    @property
    def runs_folder(self) -> Path:
        return self.folder / _SMOKE_FOLDER if self.smoke else self.folder

    @property
    def pictures_folder(self) -> Path:
        in_clone = _PICTURES_OF_CLONE.is_dir() and not self.smoke
        return self.pictures or (_PICTURES_OF_CLONE if in_clone else self.records_folder)


Watch = Callable[[PlannedRun, Recipe], AbstractContextManager[OnEvent | None]]
"""Opened around every run that is trained; returns the observer of its progress."""


def default_results() -> Path:
    """Return the folder of records that is used if none is given."""
    return _RESULTS_OF_CLONE if _RESULTS_OF_CLONE.is_dir() else Path("results")


def watch_nothing(_run: PlannedRun, _recipe: Recipe) -> AbstractContextManager[OnEvent | None]:
    return nullcontext()


def chosen_seeds(experiment: Experiment, settings: Settings) -> list[int]:
    """Return the seeds to train: those of the settings or of the experiment; one in a smoke test."""
    seeds = list(settings.seeds or range(1, experiment.num_seeds + 1))
    return seeds[:1] if settings.smoke else seeds


def plan(run: PlannedRun, settings: Settings) -> Recipe:
    """Return the recipe of a run as it will be trained."""
    recipe = run.read()
    if recipe.teacher:
        # A teacher is another run of the same experiment.
        teacher = settings.runs_folder / Path(recipe.teacher).name
        recipe = dataclasses.replace(recipe, teacher=str(teacher))
    if settings.smoke:
        return _make_small(recipe)
    training = recipe.training
    if settings.epochs is not None:
        training = dataclasses.replace(training, epochs=settings.epochs)
    vectors = settings.vectors or recipe.vectors if _takes_vectors(recipe) else None
    return dataclasses.replace(recipe, data=settings.data, vectors=vectors, training=training)


def _takes_vectors(recipe: Recipe) -> bool:
    """Models whose word vectors are their states learn their own; with a transformer, the recipe decides."""
    if recipe.encoder:
        return recipe.vectors is not None
    return not encoder_class(recipe.model.get("model", DEFAULT_MODEL)).words_are_states


def _make_small(recipe: Recipe) -> Recipe:
    """Return a small recipe of the same kind without files; trained vectors replace a transformer."""
    entry = find_entry(recipe.corpus)
    corpus = _SMOKE_CORPORA.get(entry.name if entry else recipe.corpus)
    if corpus is None:
        raise ConfigError(f"no embedded corpus can replace {recipe.corpus}")
    reads_phrases = encoder_class(recipe.model.get("model", DEFAULT_MODEL)).reads == "phrase"
    stand_in = {"model": "bilstm-plain"} if reads_phrases else {}
    return dataclasses.replace(
        recipe,
        corpus=corpus,
        vectors=None,
        vector_length=0.0,
        encoder={},
        teacher_trees=(),
        model={**recipe.model, **SMOKE_MODEL, **stand_in},
        training=dataclasses.replace(recipe.training, epochs=SMOKE_EPOCHS),
    )


def covers(record: Mapping[str, Any], recipe: Recipe, seeds: Sequence[int]) -> bool:
    """Return whether a record has the same recipe and all of the seeds."""
    return is_same_recipe(record["recipe"], recipe) and set(seeds) <= set(record["seeds"])


def is_same_recipe(done: Mapping[str, Any], recipe: Recipe) -> bool:
    """Return whether a recipe is the same, apart from the seed and the folders of the machine."""
    # A setting that did not exist yet had, in effect, its default.
    trained = {**TrainingConfig().as_dict(), **done["training"]}
    same_training = all(
        trained[name] == value for name, value in recipe.training.as_dict().items() if name != "seed"
    )
    same_words = done.get("vector_length", 0.0) == recipe.vector_length and _has_vectors_of(done, recipe)
    same_model = dict(done["model"]) == dict(recipe.model) and done.get("encoder", {}) == dict(recipe.encoder)
    same_lessons = _lessons_of(done) == _lessons_of(recipe.as_dict())
    return done["corpus"] == recipe.corpus and same_model and same_words and same_lessons and same_training


def _lessons_of(recipe: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the names of a recipe's teacher and of the files of its trees; older records have neither.

    Files include their folder, since a parser's trees may have the same name as those of the treebank.
    """
    trees = ["/".join(Path(path).parts[-2:]) for path in recipe.get("teacher_trees", ())]
    return Path(recipe.get("teacher", "")).name, trees


def _has_vectors_of(done: Mapping[str, Any], recipe: Recipe) -> bool:
    """Return whether the vector file has the same name; any will do if none is given."""
    if recipe.vectors is None:
        return True
    return bool(done["vectors"]) and Path(done["vectors"]).name == Path(recipe.vectors).name


def train_run(
    run: PlannedRun,
    recipe: Recipe,
    seeds: Sequence[int],
    experiment: Experiment,
    settings: Settings,
    on_event: OnEvent | None,
) -> SeedSummary:
    """Train a run in its folder, resuming an interrupted one."""
    folder = run_folder(run, settings)
    return train_seeds(
        recipe,
        seeds,
        folder,
        jobs=settings.jobs,
        device=experiment.device or settings.device,
        precision=settings.precision,
        # The checkpoint refuses other settings.
        resume=folder.exists(),
        on_event=on_event,
    )


def run_folder(run: PlannedRun, settings: Settings) -> Path:
    """Return the folder of a run, with a subfolder per seed."""
    return settings.runs_folder / run.name


def command_of(experiment: Experiment, settings: Settings, *, only: PlannedRun | None = None) -> str:
    """Return the command that repeats a record."""
    words = ["lexitree", "reproduce", experiment.name]
    if only is not None:
        words += ["--only", only.name]
    if settings.smoke:
        words.append("--smoke")
    if settings.vectors:
        words += ["--vectors", Path(settings.vectors).name]
    if settings.epochs is not None:
        words += ["--epochs", str(settings.epochs)]
    if settings.seeds:
        words += ["--seeds", ",".join(map(str, settings.seeds))]
    if settings.device != "cpu" and experiment.device is None:
        words += ["--device", settings.device]
    if settings.precision != "float32":
        words += ["--precision", settings.precision]
    for sentence in settings.sentences:
        words += ["--sentence", sentence]
    return shlex.join(words)


def data_files(recipe: Recipe) -> list[Path]:
    """Return the files that a run reads; none for an embedded corpus without vectors."""
    files = [Path(recipe.vectors)] if recipe.vectors else []
    files += encoder_weights(recipe.encoder["name"]) if recipe.encoder else []
    files += [find_data_file(path, recipe.data) for path in recipe.teacher_trees]
    kind, _, name = recipe.parser.partition(":")
    files += [Path(name)] if kind == "brackets" else []
    entry = find_entry(recipe.corpus)
    if entry is None or entry.package == EMBEDDED:
        return files
    folder = find_corpus(recipe.corpus, recipe.data)
    return [*sorted(path for path in folder.iterdir() if path.suffix in _CORPUS_FILES), *files]
