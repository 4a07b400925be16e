"""A model in training in, its directory out whenever it is the best so far, with what its card tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lexitree.corpora.corpus import Corpus
from lexitree.learning.observers import EpochRecord, SilentObserver
from lexitree.learning.run_folder import MODEL_FOLDER
from lexitree.models.classifier import TreeClassifier
from lexitree.saving.pretrained import save_pretrained
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.teaching import Lessons


class ModelKeeper(SilentObserver):
    """Saves the model of the run's directory whenever an epoch was the best so far."""

    def __init__(
        self, folder: Path, recipe: Recipe, model: TreeClassifier, corpus: Corpus, lessons: Lessons | None
    ) -> None:
        self.folder = folder
        self.model = model
        self.about: dict[str, Any] = {
            "corpus": corpus.name,
            "trees": len(corpus.train),
            **_about_words(recipe),
            **(_about_teacher(recipe, lessons) if lessons else {}),
        }
        self.settings = recipe.training.as_dict()

    def on_epoch(self, record: EpochRecord) -> None:
        if record.is_best:
            self.save(
                {"best_epoch": record.epoch, "dev_root": record.dev_root, "dev_phrase": record.dev_phrase}
            )

    def save(self, scores: dict[str, Any]) -> None:
        """Save the model with what a reader of its card wants to know."""
        training = {**self.about, **scores, **self.settings}
        save_pretrained(self.model, self.folder / MODEL_FOLDER, training=training)


def _about_words(recipe: Recipe) -> dict[str, str]:
    if not recipe.encoder:
        return {"vectors": Path(recipe.vectors).name if recipe.vectors else "none (random)"}
    beside = {"vectors": Path(recipe.vectors).name} if recipe.vectors else {}
    # A directory by its own name; a name of the hub is two, of which both count.
    name = Path(recipe.encoder["name"])
    return {"encoder": name.resolve().name if name.is_dir() else str(name), **beside}


def _about_teacher(recipe: Recipe, lessons: Lessons) -> dict[str, str]:
    others = [Path(path).name for path in recipe.teacher_trees]
    return {
        "teacher": lessons.about,
        "teacher_trees": ", ".join(["the training trees", *others]),
    }
