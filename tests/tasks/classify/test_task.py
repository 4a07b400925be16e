"""The task of labelling sentences: another order in each epoch, and the best epoch by whole sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from lexitree.batch.tree_examples import Example
from lexitree.evaluation.accuracy import Confusion, Evaluation
from lexitree.learning.loop import Trainer
from lexitree.models.classifier import TreeClassifier
from lexitree.tasks.classify import task as task_module
from lexitree.tasks.classify.recipe import TrainingConfig
from lexitree.tasks.classify.task import ClassifyTask
from tests.tiny import LABELS, tiny_model, tiny_trees


def make_task(name: str = "bicontree", epochs: int = 1) -> ClassifyTask:
    model = tiny_model(name)
    examples = model.prepare(tiny_trees(30))
    return ClassifyTask(model, examples, examples[:5], TrainingConfig(epochs=epochs, batch_size=4))


def orders_of(task: ClassifyTask, num_epochs: int) -> list[list[tuple[int, ...]]]:
    """The words of each sentence, in the order of each epoch; one generator serves all epochs."""
    rng = np.random.default_rng(1)
    return [
        [tuple(example.word_index.tolist()) for batch in task.batches(rng).batches for example in batch]
        for _ in range(num_epochs)
    ]


@pytest.mark.parametrize("name", ["bicontree", "bilstm"])
def test_every_epoch_has_another_order_of_all_sentences(name: str) -> None:
    task = make_task(name)
    first, *others = orders_of(task, 4)
    assert all(sorted(order) == sorted(first) for order in others)
    assert len(first) == len(task.train)
    assert len({tuple(order) for order in (first, *others)}) == 4


def test_the_best_epoch_is_that_of_whole_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roots are best in epoch 2, phrases in epoch 3."""
    scores = iter([(0.5, 0.7), (0.8, 0.6), (0.6, 0.9)])

    def accuracy(share: float) -> Confusion:
        right = round(100 * share)
        return Confusion(LABELS, np.array([[right, 100 - right], [0, 0]]))

    def evaluate(model: TreeClassifier, examples: Sequence[Example], **_: object) -> Evaluation:
        del model, examples
        return Evaluation(*map(accuracy, next(scores)))

    monkeypatch.setattr(task_module, "evaluate", evaluate)
    best = Trainer(make_task(epochs=3)).run().best
    assert best.epoch == 2
    assert best.scores == {"dev_root": 0.8, "dev_phrase": 0.6}
