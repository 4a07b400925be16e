"""A teacher's probabilities become the targets of its student, in one run, a resumed one and in several seeds."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lexitree.arrays import NO_INDEX
from lexitree.batch.tree_examples import Example
from lexitree.corpora.named import load_corpus
from lexitree.errors import CheckpointError, ConfigError, FileError, ModelFileError
from lexitree.learning.observers import BatchProgress, EpochRecord, SilentObserver
from lexitree.learning.run_folder import LESSONS_FILE, seed_folder
from lexitree.models.classifier import TreeClassifier
from lexitree.models.inference import run_examples
from lexitree.models.model_config import ModelConfig
from lexitree.ops.tree_batch import batch_examples
from lexitree.saving.model_kinds import save_model
from lexitree.saving.pretrained import from_pretrained
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.run import make_lessons, train, train_seeds
from lexitree.tasks.classify.teaching import (
    Lessons,
    give_lessons,
    learn_from,
    read_lessons,
    save_lessons,
    trees_checksum,
)
from lexitree.trees.brackets import tree_from_brackets, tree_to_brackets
from lexitree.trees.tree import Tree
from tests.strategies import trees
from tests.tiny import FINER_LABELS, LABELS, SIZES, tiny_model, tiny_polarity, tiny_recipe, tiny_trees

STUDENT = ModelConfig(labels=LABELS, **SIZES)


def saved(folder: Path, name: str = "bicontree", **settings: Any) -> str:
    """The folder of a model with random weights."""
    return str(save_model(tiny_model(name, **settings), folder, training={"corpus": "tiny"}))


def taught(recipe: Recipe, teacher: object, *paths: object) -> Recipe:
    return dataclasses.replace(recipe, teacher=str(teacher), teacher_trees=tuple(map(str, paths)))


def weights_of(folder: Path) -> bytes:
    return (folder / "model" / "model.safetensors").read_bytes()


def said_of(model: TreeClassifier, tree: Tree) -> np.ndarray:
    (output,) = run_examples(model, model.prepare([tree], labelled=False))
    return output.probabilities


# What the teacher says.


@given(st.lists(trees(max_words=7, labels=("0", "1", ""), words=("good", "film", "odd")), max_size=5))
def test_the_teacher_says_of_each_node_what_it_would_answer(teacher_folder: str, forest: list[Tree]) -> None:
    """Of one word, chains and wide phrases too; in the order of the trees, however they were batched."""
    lessons = give_lessons(teacher_folder, STUDENT, forest)
    teacher = from_pretrained(teacher_folder)
    examples = tiny_model().prepare(forest)
    assert len(lessons.probabilities) == sum(example.num_nodes for example in examples)
    learnt = learn_from(lessons, examples, 1.0)
    for tree, example in zip(forest, learnt, strict=True):
        assert example.targets is not None
        # By node of the tree as given: those that were put in by splitting are the teacher's alone to know.
        np.testing.assert_allclose(
            example.targets[example.binary.node_of], said_of(teacher, tree), rtol=1e-4, atol=1e-6
        )
        np.testing.assert_allclose(example.targets.sum(1), 1, rtol=1e-5)


@pytest.fixture(scope="module")
def teacher_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tmp_path_factory.mktemp("teacher") / "model", hidden=5, seed=7)


def test_the_student_decides_how_trees_are_split(teacher_folder: str) -> None:
    """Wide phrases are nodes of the student's, whatever the teacher would make of them."""
    (tree,) = forest = [tree_from_brackets("(1 (_ the) (1 good) (_ film))")]
    for direction in ("left", "right"):
        student = dataclasses.replace(STUDENT, binarization=direction)
        lessons = give_lessons(teacher_folder, student, forest)
        (example,) = learn_from(lessons, tiny_model(binarization=direction).prepare(forest), 1.0)
        assert example.targets is not None
        expected = said_of(from_pretrained(teacher_folder), example.binary.tree)
        np.testing.assert_allclose(example.targets, expected, rtol=1e-5)
    with pytest.raises(ConfigError, match="has read other trees"):
        learn_from(lessons, tiny_model(binarization="left").prepare([tree]), 1.0)


def test_several_seeds_teach_by_their_mean(tmp_path: Path) -> None:
    forest = tiny_trees(5)
    folders = [saved(seed_folder(tmp_path / "runs", seed) / "model", seed=seed) for seed in (1, 2, 10)]
    together = give_lessons(str(tmp_path / "runs"), STUDENT, forest)
    each = [give_lessons(folder, STUDENT, forest).probabilities for folder in folders]
    np.testing.assert_allclose(together.probabilities, np.mean(each, axis=0), rtol=1e-5)
    assert together.about == "BiConTree on tiny (3 models, the mean of their answers)"


def test_finer_labels_are_taught_not_the_answers_made_of_them(tmp_path: Path) -> None:
    corpus = tiny_polarity()
    teacher = tiny_model(finer_labels=FINER_LABELS, seed=3)
    save_model(teacher, tmp_path / "model")
    student = dataclasses.replace(STUDENT, finer_labels=FINER_LABELS)
    lessons = give_lessons(str(tmp_path / "model"), student, corpus.train)
    assert lessons.probabilities.shape[1] == len(FINER_LABELS)
    with torch.no_grad():
        batch = batch_examples(teacher.prepare(corpus.train[:1], training=True))
        (scores,) = batch.split(teacher(batch))
    np.testing.assert_allclose(lessons.probabilities[: len(scores)], scores.softmax(1), rtol=1e-5)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"labels": ("0", "1", "2")}, "was trained with the labels 0, 1, 2, and its student learns 0, 1"),
        ({"labels": ("1", "0")}, "was trained with the labels 1, 0, and"),
        ({"finer_labels": FINER_LABELS}, "was trained with the labels --, -, o"),
        ({"supervision": "root"}, "has learnt to label whole sentences"),
        ({"name": "deptree"}, "reads dependency trees"),
    ],
)
def test_a_teacher_of_other_things_is_refused(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        give_lessons(saved(tmp_path / "model", **settings), STUDENT, tiny_trees(1))


def test_a_teacher_of_phrases_teaches_whole_sentences_as_well(teacher_folder: str) -> None:
    student = dataclasses.replace(STUDENT, supervision="root")
    assert len(give_lessons(teacher_folder, student, tiny_trees(2)).probabilities)


def test_a_teacher_that_is_nowhere(treebank: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError):
        train(taught(tiny_recipe(treebank), tmp_path / "none"), tmp_path / "run")


# What the student learns.


def lessons_for(examples: list[Example], rng: np.random.Generator) -> Lessons:
    num_nodes = sum(example.num_nodes for example in examples)
    checksum = trees_checksum(example.binary.tree for example in examples)
    return Lessons("t", "", checksum, rng.dirichlet(np.ones(2), num_nodes).astype(np.float32))


@given(st.floats(0, 1), st.integers(0, 99))
def test_targets_are_labels_and_lessons_in_their_shares(weight: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    examples = tiny_model().prepare(tiny_trees(4, seed))
    lessons = lessons_for(examples, rng)
    before = lessons.probabilities.copy()
    row = 0
    for example in learn_from(lessons, examples, weight):
        assert example.targets is not None
        assert example.targets.dtype == np.float32
        for node, label in enumerate(example.label_index.tolist()):
            expected = before[row].astype(np.float64)
            if label != NO_INDEX:
                expected = weight * expected + (1 - weight) * np.eye(2)[label]
            np.testing.assert_allclose(example.targets[node], expected, atol=1e-6)
            row += 1
    # Lessons may serve for another weight.
    assert np.array_equal(lessons.probabilities, before)


def test_without_trees_there_is_nothing_to_learn() -> None:
    assert learn_from(lessons_for([], np.random.default_rng(0)), [], 0.5) == []


def test_a_student_becomes_like_its_teacher(treebank: Path, saved_model: Path, tmp_path: Path) -> None:
    """Without any labels of its own: the unlabelled trees stand in for the training split."""
    words = {tree.words for split in ("dev", "test") for tree in load_corpus(treebank).splits[split]}
    bank = tmp_path / "bank"
    shutil.copytree(treebank, bank)
    (bank / "train.txt").write_text("(1 (1 good) (_ film))\n(0 (0 bad) (_ film))\n")
    others = [tree for tree in tiny_trees(200, seed=5) if tree.words not in words]
    (tmp_path / "others.txt").write_text("".join(tree_to_brackets(tree) + "\n" for tree in others))
    recipe = tiny_recipe(bank, epochs=30, batch_size=5, model={"dropout": 0.0})
    alone = train(recipe, tmp_path / "alone")
    with_teacher = train(taught(recipe, saved_model, tmp_path / "others.txt"), tmp_path / "taught")
    assert with_teacher.dev.root.accuracy > alone.dev.root.accuracy
    assert with_teacher.dev.root.accuracy > 0.8


def test_the_card_says_who_the_teacher_was(treebank: Path, teacher_folder: str, tmp_path: Path) -> None:
    (tmp_path / "others.txt").write_text("(S (X a) (X new) (X word))\n")
    recipe = taught(tiny_recipe(treebank), teacher_folder, tmp_path / "others.txt")
    train(recipe, tmp_path / "run")
    record = json.loads((tmp_path / "run" / "model" / "config.json").read_text())["training"]
    assert record["teacher"] == "BiConTree on tiny"
    assert record["teacher_trees"] == "the training trees, others.txt"
    assert record["teacher_weight"] == 0.5
    assert record["trees"] == 41
    assert "| teacher | BiConTree on tiny |" in (tmp_path / "run" / "model" / "README.md").read_text()
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["recipe"]["teacher"] == teacher_folder
    # The words of those trees are words of the student.
    vocabulary = json.loads((tmp_path / "run" / "model" / "vocabulary.json").read_text())
    assert "new" in str(vocabulary)


def test_the_weight_of_the_teacher_matters(treebank: Path, teacher_folder: str, tmp_path: Path) -> None:
    found = set()
    for number, weight in enumerate((0.0, 0.5, 1.0)):
        recipe = taught(tiny_recipe(treebank, teacher_weight=weight), teacher_folder)
        train(recipe, tmp_path / str(number))
        found.add(weights_of(tmp_path / str(number)))
    assert len(found) == 3


@pytest.mark.parametrize("name", ["bilstm", "contree"])
@pytest.mark.parametrize("supervision", ["all", "root"])
def test_other_students(
    treebank: Path, teacher_folder: str, tmp_path: Path, name: str, supervision: str
) -> None:
    model = {"model": name, "supervision": supervision}
    result = train(taught(tiny_recipe(treebank, model=model), teacher_folder), tmp_path / "run")
    assert np.isfinite([record.loss for record in result.training.history]).all()


# Runs that go on.


class Stopper(SilentObserver):
    """Ends a run after so many epochs, as a signal would."""

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs

    def on_epoch(self, record: EpochRecord) -> None:
        if record.epoch == self.epochs:
            raise KeyboardInterrupt


def cut_run(recipe: Recipe, folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(recipe, folder, observer=Stopper(2))


def test_a_resumed_run_ends_with_the_same_weights(treebank: Path, saved_model: Path, tmp_path: Path) -> None:
    """Even where the teacher is not there any more: its lessons are."""
    teacher = shutil.copytree(saved_model, tmp_path / "teacher")
    recipe = taught(tiny_recipe(treebank, epochs=4), teacher)
    train(recipe, tmp_path / "whole")
    cut_run(recipe, tmp_path / "cut")
    shutil.rmtree(teacher)
    train(recipe, tmp_path / "cut", resume=True)
    assert weights_of(tmp_path / "cut") == weights_of(tmp_path / "whole")


def test_a_run_goes_on_with_its_own_lessons_only(
    treebank: Path, saved_model: Path, teacher_folder: str, tmp_path: Path
) -> None:
    recipe = taught(tiny_recipe(treebank, epochs=4), saved_model)
    cut_run(recipe, tmp_path / "run")
    lessons = tmp_path / "run" / LESSONS_FILE
    kept = lessons.read_bytes()
    with pytest.raises(FileError, match=r"has the lessons of .*, not of"):
        train(taught(recipe, teacher_folder), tmp_path / "run", resume=True)
    heavier = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, teacher_weight=0.9))
    with pytest.raises(CheckpointError, match=r"teacher_weight was 0\.5, is 0\.9"):
        train(heavier, tmp_path / "run", resume=True)
    with pytest.raises(CheckpointError, match="teacher was"):
        train(dataclasses.replace(recipe, teacher=""), tmp_path / "run", resume=True)
    assert lessons.read_bytes() == kept
    # Other lessons under the same name, as after the file was lost and the teacher trained anew.
    read = read_lessons(lessons, str(saved_model))
    save_lessons(dataclasses.replace(read, probabilities=read.probabilities[::-1].copy()), lessons)
    with pytest.raises(CheckpointError, match="checksum of the trees"):
        train(recipe, tmp_path / "run", resume=True)
    lessons.write_bytes(kept[:200])
    with pytest.raises(FileError, match="is damaged, or holds no lessons"):
        train(recipe, tmp_path / "run", resume=True)


def test_a_run_without_a_teacher_cannot_get_one(treebank: Path, saved_model: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(treebank, epochs=4)
    cut_run(recipe, tmp_path / "run")
    with pytest.raises(CheckpointError, match="teacher was None"):
        train(taught(recipe, saved_model), tmp_path / "run", resume=True)


@pytest.mark.slow
def test_seeds_learn_from_the_same_lessons(treebank: Path, saved_model: Path, tmp_path: Path) -> None:
    recipe = taught(tiny_recipe(treebank), saved_model)
    heard: list[BatchProgress | EpochRecord] = []
    train_seeds(recipe, [1, 2], tmp_path / "both", jobs=2, on_event=lambda _, event: heard.append(event))
    assert (tmp_path / "both" / LESSONS_FILE).exists()
    assert not (seed_folder(tmp_path / "both", 1) / LESSONS_FILE).exists()
    # A seed taught among others is the seed taught alone.
    train(recipe.with_seed(2), tmp_path / "alone")
    assert weights_of(seed_folder(tmp_path / "both", 2)) == weights_of(tmp_path / "alone")
    with pytest.raises(FileError, match="already holds runs"):
        train_seeds(recipe, [1, 2], tmp_path / "both")
    train_seeds(recipe, [1, 2], tmp_path / "both", jobs=2, resume=True)


def test_lessons_can_be_made_beforehand(treebank: Path, saved_model: Path, tmp_path: Path) -> None:
    recipe = taught(tiny_recipe(treebank), saved_model)
    make_lessons(recipe, load_corpus(treebank), tmp_path / "lessons")
    train(recipe, tmp_path / "before", lessons=tmp_path / "lessons")
    train(recipe, tmp_path / "itself")
    assert weights_of(tmp_path / "before") == weights_of(tmp_path / "itself")
