"""An epoch of distinct phrases: all of them, each once, in batches of sentences of about one length."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from lexitree.arrays import NO_INDEX
from lexitree.batch.tree_examples import Example
from lexitree.learning.loop import Trainer
from lexitree.tasks.classify.recipe import TrainingConfig
from lexitree.tasks.classify.task import ClassifyTask, PhraseEpochs
from lexitree.trees.brackets import tree_from_brackets
from tests.tiny import tiny_model, tiny_trees

Phrase = tuple[tuple[int, ...], int]


def labelled_phrases(examples: list[Example]) -> list[Phrase]:
    """The words and the label of every labelled node."""
    return [
        (tuple(example.word_index[start:end].tolist()), label)
        for example in examples
        for start, end, label in zip(
            example.binary.tree.starts, example.binary.tree.ends, example.label_index.tolist(), strict=True
        )
        if label != NO_INDEX
    ]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


@pytest.mark.parametrize("batch_size", [1, 7, 100])
def test_every_phrase_comes_once_an_epoch(batch_size: int) -> None:
    examples = tiny_model("bilstm").prepare(tiny_trees(40))
    phrases = PhraseEpochs(examples, distinct=True)
    for seed in range(3):
        batches = list(phrases.shuffled_batches(rng(seed), batch_size))
        found = Counter(labelled_phrases([example for batch in batches for example in batch]))
        assert set(found.values()) == {1}
        assert found.keys() == set(labelled_phrases(examples))
        assert len(found) == phrases.num_distinct < len(labelled_phrases(examples))
        assert all(len(batch) <= batch_size for batch in batches)
        assert sum(map(len, batches)) == len(examples)


def test_the_same_words_with_another_label_are_another_phrase() -> None:
    trees = [tree_from_brackets(text) for text in ("(1 good)", "(0 good)", "(1 good)")]
    phrases = PhraseEpochs(tiny_model("bilstm").prepare(trees), distinct=True)
    (batch,) = phrases.shuffled_batches(rng(), 3)
    assert phrases.num_distinct == 2
    assert sorted(label for _, label in labelled_phrases(batch)) == [0, 1]


def test_a_batch_has_sentences_of_one_length() -> None:
    examples = tiny_model("bilstm").prepare(tiny_trees(60))
    lengths = [
        {example.binary.tree.num_words for example in batch}
        for batch in PhraseEpochs(examples, distinct=False).shuffled_batches(rng(), 5)
    ]
    # Sentences have four or five words: one batch may have both.
    assert sum(len(found) > 1 for found in lengths) <= 1
    assert {length for found in lengths for length in found} == {4, 5}


def test_order_and_first_places_change_with_the_epoch() -> None:
    phrases = PhraseEpochs(tiny_model("bilstm").prepare(tiny_trees(40)), distinct=True)

    def epoch(seed: int) -> list[list[list[int]]]:
        return [
            [example.label_index.tolist() for example in batch]
            for batch in phrases.shuffled_batches(rng(seed), 5)
        ]

    assert epoch(1) == epoch(1)
    assert epoch(1) != epoch(2)


def test_no_trees_make_no_batches() -> None:
    assert list(PhraseEpochs([], distinct=True).shuffled_batches(rng(), 5)) == []


def test_without_distinct_phrases_all_labels_stay() -> None:
    examples = tiny_model("bilstm").prepare(tiny_trees(40))
    batches = PhraseEpochs(examples, distinct=False).shuffled_batches(rng(), 7)
    found = Counter(labelled_phrases([example for batch in batches for example in batch]))
    assert found == Counter(labelled_phrases(examples))


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize(("name", "expected"), [("bilstm", True), ("bilstm-plain", True), ("contree", False)])
def test_only_sequence_models_are_trained_on_phrases(name: str, expected: bool, distinct: bool) -> None:
    model = tiny_model(name)
    config = TrainingConfig(distinct_phrases=distinct)
    phrases = ClassifyTask(model, model.prepare(tiny_trees(4)), [], config).phrases
    assert (phrases is not None) is expected
    assert phrases is None or phrases.distinct is distinct


@pytest.mark.parametrize("distinct", [True, False])
def test_phrases_are_learned_from(distinct: bool) -> None:
    model = tiny_model("bilstm", dropout=0.0)
    examples = model.prepare(tiny_trees(40))
    config = TrainingConfig(epochs=30, learning_rate=0.02, batch_size=5, distinct_phrases=distinct)
    history = Trainer(ClassifyTask(model, examples, examples, config)).run().history
    assert history[-1].loss < history[0].loss
    assert history[-1].scores["dev_root"] > 0.8


def test_a_batch_of_nothing_new_is_no_obstacle() -> None:
    model = tiny_model("bilstm", dropout=0.0)
    examples = model.prepare([tree_from_brackets("(1 (1 good) (0 bad))")] * 3)
    config = TrainingConfig(epochs=1, batch_size=1, distinct_phrases=True)
    task = ClassifyTask(model, examples, examples, config)
    Trainer(task).run()
    # All three phrases came with the first tree; the other two trees were batches without a label.
    assert task.optimizer.num_steps.item() == 3
    assert all(weight.isfinite().all() for weight in model.state_dict().values())


def test_with_root_supervision_every_sentence_counts() -> None:
    model = tiny_model("bilstm", supervision="root")
    assert ClassifyTask(model, model.prepare(tiny_trees(4)), [], TrainingConfig()).phrases is None
