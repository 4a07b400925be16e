"""A model with the examples that it learns from and is scored on: its training, and what the run leaves behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from lexitree.batch.tree_examples import Example
from lexitree.corpora.corpus import Corpus
from lexitree.evaluation.accuracy import Evaluation, evaluate
from lexitree.lazy import cached_property
from lexitree.learning.distributed import OneProcess
from lexitree.learning.loop import TrainingResult
from lexitree.learning.observers import Observer
from lexitree.learning.run_folder import MODEL_FOLDER, FinishedRun, run_in_folder, write_result
from lexitree.models.classifier import TreeClassifier
from lexitree.models.transformer import TransformerLexicon
from lexitree.saving.model_kinds import save_model
from lexitree.tasks.classify.building import choose_vectors
from lexitree.tasks.classify.more_learning import MoreLearning
from lexitree.tasks.classify.recipe import RANDOM_VECTORS, Recipe
from lexitree.tasks.classify.task import SCORES, ClassifyTask
from lexitree.tasks.classify.teaching import Lessons, learn_from


@dataclass(frozen=True, slots=True, repr=False)
class RunResult(FinishedRun):
    """A finished run with the scores of its best model."""

    dev: Evaluation | None
    test: Evaluation | None

    def scores(self) -> dict[str, Any]:
        """Accuracies on the development and test splits; None where there are no labels or no split.

        With further corpora, theirs are beside them: `dev_mean` and, by corpus, `dev_more`.
        """
        others = {name: score for name, score in self.best.scores.items() if name not in SCORES}
        return {
            "dev_root": self.dev.root.accuracy if self.dev else None,
            "dev_phrase": self.dev.phrase.accuracy if self.dev and self.dev.phrase else None,
            "test_root": self.test.root.accuracy if self.test else None,
            "test_phrase": self.test.phrase.accuracy if self.test and self.test.phrase else None,
            **others,
        }


@dataclass
class PreparedRun:
    """A run of which everything has been read, and nothing learned yet."""

    recipe: Recipe
    corpus: Corpus
    model: TreeClassifier
    folder: Path
    """Where the run goes."""
    processes: OneProcess
    """The processes that train together."""
    splits: dict[str, Sequence[Example]]
    """The examples of each split."""
    more: MoreLearning | None = None
    """Further corpora, if any."""
    lessons: Lessons | None = None
    """What a teacher says of the training trees, if there is one."""

    @classmethod
    def prepare(
        cls, recipe: Recipe, corpus: Corpus, model: TreeClassifier, folder: Path, processes: OneProcess
    ) -> Self:
        """Make examples of the trees of a corpus and of those that were added to it."""
        splits: dict[str, Sequence[Example]] = {
            name: model.prepare(trees, training=name == "train") for name, trees in corpus.splits.items()
        }
        more = None
        if corpus.further:
            share = 1 - recipe.training.teacher_weight if recipe.teacher else 1.0
            more = MoreLearning.prepare(model, corpus.further, share)
            splits["train"] = more.label_training(splits["train"])
        return cls(recipe, corpus, model, folder, processes, splits, more)

    def learn_from(self, lessons: Lessons) -> None:
        """Let the training examples have a teacher's probabilities as targets."""
        weight = self.recipe.training.teacher_weight
        self.lessons = lessons
        self.splits["train"] = learn_from(
            lessons, self.splits["train"], weight, mixes_labels=self.more is None
        )

    def train(self, *, observer: Observer | None = None, minutes: float | None = None) -> RunResult:
        """Train the model into the folder and score the best one.

        Args:
            observer: Is told of every batch and epoch.
            minutes: Begin no epoch that would end later.
        """
        texts = self.corpus.texts
        if self.processes.is_first and texts is not None and texts.record is not None:
            texts.record.write(self.folder)
        training = run_in_folder(
            self._task(),
            self.folder,
            lambda training: self._save(training, training.best.scores),
            observer=observer,
            minutes=minutes,
            processes=self.processes,
        )
        return self.processes.from_first(lambda: self._finish(training))

    def _task(self) -> ClassifyTask:
        return ClassifyTask(
            self.model,
            self.splits["train"],
            self.splits.get("dev", []),
            self.recipe.training,
            _settings_beside(self.recipe),
            self.corpus.document_sizes("dev"),
            self.more,
            self.processes,
            augment=self.recipe.augment,
        )

    def _finish(self, training: TrainingResult) -> RunResult:
        result = RunResult(self.folder, training, self._evaluate("dev"), self._evaluate("test"))
        self._save(training, result.scores())
        _write_result(result, self.recipe, self.model, self.corpus, self.processes)
        return result

    def _evaluate(self, split: str) -> Evaluation | None:
        examples = self.splits.get(split)
        if not examples:
            return None
        return evaluate(self.model, examples, document_sizes=self.corpus.document_sizes(split))

    def _save(self, training: TrainingResult, scores: Mapping[str, Any]) -> None:
        settings = self.recipe.training.as_dict()
        record = {**self._about, "best_epoch": training.best.epoch, **scores, **settings}
        save_model(self.model, self.folder / MODEL_FOLDER, training=record)

    @cached_property
    def _about(self) -> dict[str, Any]:
        return _about_training(self.recipe, self.corpus, self.lessons)


def _settings_beside(recipe: Recipe) -> dict[str, Any]:
    """Settings that results depend on, beside those of the model and of training."""
    # The name of the encoder may change: its weights are in the checksum.
    encoder = {name: value for name, value in recipe.encoder.items() if name not in ("name", "revision")}
    return {
        "vector_length": recipe.vector_length,
        "encoder": encoder,
        **({"teacher": recipe.teacher} if recipe.teacher else {}),
        **({"start": recipe.start} if recipe.start else {}),
        **({"more": [plan.as_dict() for plan in recipe.more]} if recipe.more else {}),
        **({"augment": recipe.augment.as_dict()} if recipe.augment.is_on else {}),
    }


def _about_training(recipe: Recipe, corpus: Corpus, lessons: Lessons | None) -> dict[str, Any]:
    """What the card of the model tells about its data."""
    about: dict[str, Any] = {"corpus": corpus.name, "trees": len(corpus.train)}
    if corpus.further:
        about["more"] = ", ".join(each.name for each in corpus.further)
    if recipe.encoder:
        # A folder by its own name; a name on the hub has two parts, which both count.
        name = Path(recipe.encoder["name"])
        about["encoder"] = name.resolve().name if name.is_dir() else str(name)
    if recipe.start:
        about["start"] = Path(recipe.start).name
    elif recipe.vectors or not recipe.encoder:
        vectors = choose_vectors(recipe, corpus)
        about["vectors"] = "none (random)" if vectors == RANDOM_VECTORS else Path(vectors).name
    if lessons:
        others = [Path(path).name for path in recipe.teacher_trees]
        about |= {"teacher": lessons.about, "teacher_trees": ", ".join(["the training trees", *others])}
    return about


def _write_result(
    run: RunResult, recipe: Recipe, model: TreeClassifier, corpus: Corpus, processes: OneProcess
) -> None:
    has_transformer = isinstance(model.lexicon, TransformerLexicon)
    more: dict[str, Any] = {"transformers": version("transformers")} if has_transformer else {}
    if processes.size > 1:
        more["processes"] = processes.size
    write_result(
        run,
        recipe,
        model,
        environment={"backend": model.what_runs, **more},
        corpus={name: len(trees) for name, trees in corpus.splits.items()},
        **run.scores(),
        test_root_answers=run.test.root_answers_text if run.test else None,
        test_root_gold=run.test.root_gold_text if run.test else None,
    )
