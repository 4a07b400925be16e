"""Training sentences are changed as people type, by the seed and the epoch alone, and only where that is harmless."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from lexitree.batch.tree_examples import Example
from lexitree.errors import ConfigError
from lexitree.lexicon.vector_streams import WordVectors
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.models.word_table import WordTable
from lexitree.tasks.classify.augmentation import Augmenter, AugmentSettings
from lexitree.tasks.classify.recipe import Recipe, TrainingConfig
from lexitree.tasks.classify.task import ClassifyTask
from lexitree.trees.brackets import tree_from_brackets
from tests.tiny import LABELS, SIZES, tiny_model, tiny_trees

WORDS = ("the", "film", "is", "good", ".", "!", "gooood", "FILM", "Zebra")
TREE = tree_from_brackets("(1 (1 (0 (0 the) (0 film)) (1 (0 is) (1 good))) (0 .))")


def make_model(lookup: str = "written", num_trained: int | None = None) -> TreeClassifier:
    config = ModelConfig(labels=LABELS, **SIZES)
    vectors = np.random.default_rng(1).normal(size=(len(WORDS), config.word_size)).astype(np.float32)
    table = WordTable.from_vectors(WordVectors(WORDS, vectors, "v"), WORDS[:num_trained], lookup)  # pyright: ignore[reportArgumentType]
    return TreeClassifier(config, table)


def changed_words(example: Example, model: TreeClassifier) -> list[str]:
    assert isinstance(model.lexicon, WordTable)
    return [model.lexicon.vocabulary.word(row) for row in example.word_index.tolist()]


def change(model: TreeClassifier, seed: int = 1, **settings: float) -> list[str]:
    (example,) = model.prepare([TREE])
    augmenter = Augmenter(AugmentSettings(**settings), model.lexicon)
    return changed_words(augmenter.change(example, np.random.default_rng(seed)), model)


def test_marks_are_exchanged() -> None:
    assert change(make_model(), marks=0.999) == ["the", "film", "is", "good", "!"]


def test_words_become_unknown() -> None:
    assert change(make_model(), unknown=0.999) == ["<unk>"] * 5


def test_capitals_are_looked_up() -> None:
    found = {tuple(change(make_model(), seed, capitals=0.5)) for seed in range(8)}
    assert found == {("the", "FILM", "is", "good", "."), ("the", "film", "is", "good", ".")}


def test_lengthened_words_and_typos_are_words_of_their_own_unless_they_are_normalized() -> None:
    assert "<unk>" in change(make_model(), lengthened=0.999)
    assert "<unk>" in change(make_model(), typos=0.999)
    assert change(make_model("typed"), lengthened=0.999)[:3] == ["the", "film", "is"]


def test_rows_that_are_not_trained_are_never_taken() -> None:
    model = make_model(num_trained=5)
    for seed in range(8):
        assert "!" not in change(model, seed, marks=0.999)
        assert "FILM" not in change(model, seed, capitals=0.5)


def test_the_tree_and_its_labels_stay() -> None:
    model = make_model()
    (example,) = model.prepare([TREE])
    augmenter = Augmenter(AugmentSettings(unknown=0.5, marks=0.5), model.lexicon)
    changed = augmenter.change(example, np.random.default_rng(3))
    assert changed.binary is example.binary
    assert changed.label_index is example.label_index
    assert changed_words(example, model) == ["the", "film", "is", "good", "."]


def epoch_rows(augment: AugmentSettings | None, epoch: int) -> list[list[int]]:
    model = tiny_model()
    task = ClassifyTask(
        model, model.prepare(tiny_trees(9)), [], TrainingConfig(batch_size=4), augment=augment
    )
    rng = np.random.default_rng([1, epoch])
    return [example.word_index.tolist() for batch in task.batches(rng).batches for example in batch]


def test_what_is_drawn_follows_from_the_epoch() -> None:
    settings = AugmentSettings(unknown=0.3)
    assert epoch_rows(settings, 1) == epoch_rows(settings, 1)
    assert epoch_rows(settings, 1) != epoch_rows(settings, 2)


def test_it_is_off_by_default_and_takes_no_random_numbers_then() -> None:
    assert not Recipe().augment.is_on
    assert epoch_rows(AugmentSettings(), 1) == epoch_rows(None, 1)


def test_shares_are_checked() -> None:
    assert Recipe().with_values({"augment.marks": 0.2}).augment == dataclasses.replace(
        AugmentSettings(), marks=0.2
    )
    with pytest.raises(ConfigError, match=r"marks must be at least 0 and below 1"):
        AugmentSettings(marks=1.5)
    assert Vocabulary(WORDS).index("gooood")
