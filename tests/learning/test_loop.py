"""The training loop: it learns, chooses its best epoch, stops when it diverges, and resumes only its own run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lexitree.batch.tree_examples import Example, make_examples
from lexitree.errors import CheckpointError, TrainingDivergedError
from lexitree.evaluation.accuracy import Confusion, Evaluation
from lexitree.learning.checkpoint import CHECKPOINT_FILE, load_checkpoint, save_checkpoint
from lexitree.learning.loop import EpochBatches, Trainer
from lexitree.learning.observers import METRICS_FILE, BatchProgress, EpochRecord, SilentObserver
from lexitree.learning.optimizer import LazyAdam
from lexitree.models.classifier import TreeClassifier
from lexitree.tasks.classify import task
from lexitree.tasks.classify.recipe import TrainingConfig
from lexitree.tasks.classify.task import ClassifyTask
from lexitree.trees.brackets import tree_from_brackets
from tests.tiny import LABELS, tiny_model, tiny_trees


def examples_of(model: TreeClassifier, count: int, seed: int = 0) -> list[Example]:
    return make_examples(tiny_trees(count, seed), model.lexicon, labels=LABELS, direction="right")


def make_trainer(folder: Path | None = None, **settings: Any) -> Trainer[list[Example]]:
    about = settings.pop("about", {"hidden": 8, "data": 1})
    observer = settings.pop("observer", None)
    model = tiny_model(dropout=settings.pop("dropout", 0.2))
    config = TrainingConfig(**{"epochs": 3, "learning_rate": 0.01, **settings})
    train, dev = examples_of(model, 30), examples_of(model, 10, seed=1)
    task = ClassifyTask(model, train, dev, config, about)
    return Trainer(task, folder=folder, observer=observer)


def task_of(trainer: Trainer[list[Example]]) -> ClassifyTask:
    assert isinstance(trainer.task, ClassifyTask)
    return trainer.task


def weights_of(trainer: Trainer[list[Example]]) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in trainer.task.model.state_dict().items()}


def assert_same_weights(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> None:
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name


def metrics_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / METRICS_FILE).read_text().splitlines()]


def test_the_loss_falls_and_the_treebank_is_learned() -> None:
    result = make_trainer(epochs=30, batch_size=3, dropout=0.0).run()
    losses = [record.loss for record in result.history]
    assert losses[-1] < losses[0] / 4
    assert result.best.scores["dev_root"] == 1.0
    assert [record.epoch for record in result.history] == list(range(1, 31))


@pytest.mark.parametrize("batch_size", [1, 7, 30, 100])
def test_any_batch_size_sees_every_tree_once(batch_size: int) -> None:
    seen: list[BatchProgress] = []

    class Listener(SilentObserver):
        def on_batch(self, progress: BatchProgress) -> None:
            seen.append(progress)

    result = make_trainer(epochs=1, batch_size=batch_size, observer=Listener()).run()
    assert len(seen) == -(-30 // batch_size)
    assert [progress.num_done for progress in seen][-1] == 30
    assert seen[-1].loss == pytest.approx(result.history[0].loss)


def epochs_of(trainer: Trainer[list[Example]]) -> list[tuple[int, list[int]]]:
    """Run a trainer; the seed of the dropout and the order of the trees in each of its epochs."""
    task = task_of(trainer)
    places = {id(example): place for place, example in enumerate(task.train)}
    seen: list[tuple[int, list[int]]] = []
    batches = task.batches

    def note_order(rng: np.random.Generator) -> EpochBatches[list[Example]]:
        plan = batches(rng)
        chosen = list(plan.batches)
        seen.append((torch.initial_seed(), [places[id(example)] for batch in chosen for example in batch]))
        return replace(plan, batches=chosen)

    task.batches = note_order  # type: ignore[method-assign]
    trainer.run()
    return seen


def test_randomness_changes_with_the_epoch_and_the_seed() -> None:
    epochs, again, others = (epochs_of(make_trainer(seed=seed)) for seed in (1, 1, 2))
    assert epochs == again
    assert all(sorted(order) == list(range(30)) for _, order in epochs)
    assert len({seed for seed, _ in (*epochs, *others)}) == 6
    assert len({tuple(order) for _, order in (*epochs, *others)}) == 6


def test_the_same_seed_gives_the_same_weights_and_another_seed_others() -> None:
    first, second, other = make_trainer(), make_trainer(), make_trainer(seed=2)
    for trainer in (first, second, other):
        trainer.run()
    assert_same_weights(weights_of(first), weights_of(second))
    assert not torch.equal(task_of(first).model.lexicon.vectors, task_of(other).model.lexicon.vectors)


def fake_scores(monkeypatch: pytest.MonkeyPatch, accuracies: Sequence[float]) -> None:
    """Let development accuracy be what a test wants it to be."""
    left = iter(accuracies)

    def evaluate(model: TreeClassifier, examples: Sequence[Example], **_: object) -> Evaluation:
        del model, examples
        right = round(100 * next(left))
        return Evaluation(Confusion(LABELS, np.array([[right, 100 - right], [0, 0]])), None)

    monkeypatch.setattr(task, "evaluate", evaluate)


def test_ties_go_to_the_later_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_scores(monkeypatch, [0.5, 0.8, 0.7, 0.8, 0.6])
    after_epoch: dict[int, dict[str, torch.Tensor]] = {}

    class Keeper(SilentObserver):
        def on_epoch(self, record: EpochRecord) -> None:
            after_epoch[record.epoch] = weights_of(trainer)

    trainer = make_trainer(epochs=5, observer=Keeper())
    result = trainer.run()
    assert [record.is_best for record in result.history] == [True, True, False, True, False]
    assert result.best.epoch == 4
    assert_same_weights(weights_of(trainer), after_epoch[4])
    assert not torch.equal(after_epoch[4]["lexicon.vectors"], after_epoch[5]["lexicon.vectors"])


def test_an_accuracy_of_zero_is_still_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_scores(monkeypatch, [0.0, 0.0])
    assert make_trainer(epochs=2).run().best.epoch == 2


def test_patience_counts_epochs_without_an_improvement(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tie is kept as the best epoch, but is no improvement."""
    fake_scores(monkeypatch, [0.5, 0.8, 0.7, 0.8, 0.6, 0.9])
    result = make_trainer(epochs=6, patience=3).run()
    assert [record.epoch for record in result.history] == [1, 2, 3, 4, 5]
    assert result.best.epoch == 4


def test_the_time_limit_allows_at_least_one_epoch(tmp_path: Path) -> None:
    assert [len(make_trainer(tmp_path, epochs=3).run(minutes=0).history) for _ in range(4)] == [1, 2, 3, 3]


def test_the_best_model_is_saved_with_the_weights_to_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_scores(monkeypatch, [0.5, 0.4, 0.6])
    saved: dict[int, dict[str, torch.Tensor]] = {}
    trainer = make_trainer(epochs=3, averaging=0.5)
    trainer.save_best = lambda training: saved.update({training.best.epoch: weights_of(trainer)})
    trainer.run()
    assert list(saved) == [1, 3]
    assert_same_weights(weights_of(trainer), saved[3])


def test_the_average_is_evaluated_and_left_in_the_model() -> None:
    evaluated: list[dict[str, torch.Tensor]] = []
    trainer = make_trainer(epochs=1, averaging=0.9)
    task = task_of(trainer)
    evaluate = task.evaluate

    def note_weights() -> dict[str, Any]:
        evaluated.append(weights_of(trainer))
        return evaluate()

    task.evaluate = note_weights  # type: ignore[method-assign]
    trainer.run()
    assert task.optimizer.average is not None
    assert_same_weights(weights_of(trainer), evaluated[0])
    for name, average in task.optimizer.average.averages.items():
        assert torch.equal(evaluated[0][name], average), name


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_checkpoint(tmp_path: Path) -> None:
    make_trainer(tmp_path, epochs=1).run()
    before = (tmp_path / CHECKPOINT_FILE).read_bytes()
    trainer = make_trainer(tmp_path, epochs=3)
    poisoned = LazyAdam.step

    def step(optimizer: LazyAdam, num_sentences: int) -> None:
        poisoned(optimizer, num_sentences)
        optimizer.table.data.fill_(float("nan"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LazyAdam, "step", step)
        with pytest.raises(TrainingDivergedError, match=r"epoch 2, batch 2, learning rate 0\.01") as caught:
            trainer.run()
    assert "checkpoint of epoch 1 is kept" in caught.value.remedy
    assert (tmp_path / CHECKPOINT_FILE).read_bytes() == before
    assert make_trainer(tmp_path, epochs=2).run().history[1].loss > 0


def test_a_batch_without_labels_is_no_error() -> None:
    model = tiny_model()
    bare = make_examples(
        [tree_from_brackets("(_ (_ good) (_ film))")], model.lexicon, labels=LABELS, direction="right"
    )
    dev = examples_of(model, 4)
    for trees in (bare, [*bare, *dev]):
        config = TrainingConfig(epochs=2, batch_size=1)
        result = Trainer(ClassifyTask(model, trees, dev, config)).run()
        assert np.isfinite([record.loss for record in result.history]).all()


def test_single_words_can_be_trained_on() -> None:
    model = tiny_model()
    words = make_examples([tree_from_brackets("(1 good)")], model.lexicon, labels=LABELS, direction="right")
    config = TrainingConfig(epochs=30, learning_rate=0.05)
    result = Trainer(ClassifyTask(model, words, words, config)).run()
    assert result.best.scores["dev_root"] == 1.0


def test_a_resumed_run_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    undisturbed = make_trainer(tmp_path / "a", epochs=4)
    undisturbed.run()
    for epochs in (1, 2, 4):
        resumed = make_trainer(tmp_path / "b", epochs=epochs)
        resumed.run()
    assert_same_weights(weights_of(undisturbed), weights_of(resumed))
    for group in ("weights", "best_weights", "optimizer"):
        first, second = (
            dict(getattr(load_checkpoint(tmp_path / name / CHECKPOINT_FILE), group)) for name in "ab"
        )
        assert_same_weights(first, second)
    timeless = [
        [{**record, "seconds": 0, "examples_per_second": 0} for record in metrics_of(tmp_path / name)]
        for name in "ab"
    ]
    assert timeless[0] == timeless[1]
    assert [record["epoch"] for record in timeless[1]] == [1, 2, 3, 4]


def test_a_run_is_resumed_from_its_last_epoch_even_if_another_is_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_scores(monkeypatch, [0.9, 0.5, 0.4] * 2)
    make_trainer(tmp_path / "a", epochs=3).run()
    for epochs in (2, 3):
        make_trainer(tmp_path / "b", epochs=epochs).run()
    first, second = (load_checkpoint(tmp_path / name / CHECKPOINT_FILE) for name in "ab")
    assert_same_weights(dict(first.weights), dict(second.weights))
    assert_same_weights(dict(first.best_weights), dict(second.best_weights))


def test_metrics_are_mended_on_resume(tmp_path: Path) -> None:
    """A kill can fall between the checkpoint and the metrics: the checkpoint is right."""
    make_trainer(tmp_path, epochs=2).run()
    (tmp_path / METRICS_FILE).write_text('{"epoch": 1, "lo')
    make_trainer(tmp_path, epochs=2).run()
    assert [record["epoch"] for record in metrics_of(tmp_path)] == [1, 2]


def test_fewer_epochs_than_there_are_keep_what_there_is(tmp_path: Path) -> None:
    whole = make_trainer(tmp_path, epochs=3)
    whole.run()
    again = make_trainer(tmp_path, epochs=1)
    assert len(again.run().history) == 3
    assert_same_weights(weights_of(whole), weights_of(again))


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    make_trainer(tmp_path, about={"hidden": 8, "word_rate": 0.1, "old": 1}).run()
    before = (tmp_path / CHECKPOINT_FILE).read_bytes()
    with pytest.raises(CheckpointError) as caught:
        make_trainer(tmp_path, about={"hidden": 9, "word_rate": 0.1, "new": 2}).run()
    assert "hidden was 8, is 9" in str(caught.value)
    assert "old was 1, is None" in str(caught.value)
    assert "new was None, is 2" in str(caught.value)
    assert "word_rate" not in str(caught.value)
    assert (tmp_path / CHECKPOINT_FILE).read_bytes() == before


def _wrong_histories(records: list[dict[str, Any]]) -> Iterator[object]:
    """Histories of wrong types, and such as no run has."""
    yield from (3, None, "epochs", {}, [], [3], [[]], ["epoch"], [*reversed(records)], records[1:])
    first, *rest = records
    for name in ("epoch", "loss", "learning_rate", "seconds", "examples_per_second", "is_best", "dev_root"):
        yield [{key: value for key, value in first.items() if key != name}, *rest]
        yield from ([{**first, name: wrong}, *rest] for wrong in ("1", None, [], {}))
    yield from (
        [{**first, name: wrong}, *rest]
        for name, wrong in [("epoch", True), ("epoch", 1.0), ("is_best", 1), ("is_best", False)]
    )
    yield [{**first, "dev_root": float("nan")}, *rest]


def test_a_checkpoint_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    make_trainer(tmp_path).run()
    path = tmp_path / CHECKPOINT_FILE
    whole = load_checkpoint(path)
    one_less = dict(list(whole.weights.items())[1:])
    other_shape = {name: tensor[:1] if tensor.ndim else tensor for name, tensor in whole.weights.items()}
    damaged = [
        replace(whole, weights=one_less),
        replace(whole, weights=other_shape),
        replace(whole, best_weights=one_less),
        replace(whole, optimizer={}),
        replace(whole, record={}),
        replace(whole, record={**whole.record, "history": [{"epoch": 1}]}),
        *(
            replace(whole, record={**whole.record, "history": history})
            for history in _wrong_histories(whole.record["history"])
        ),
        replace(whole, record={**whole.record, "fingerprint": 3}),
    ]
    for checkpoint in damaged:
        save_checkpoint(path, checkpoint)
        with pytest.raises(CheckpointError):
            make_trainer(tmp_path).run()


def test_weights_that_blow_up_in_the_last_update_are_not_kept(tmp_path: Path) -> None:
    """No loss has shown it yet when the epoch ends: the development scores must."""
    trainer = make_trainer(tmp_path, batch_size=1000)
    task_of(trainer).optimizer.step = lambda _: task_of(trainer).model.scorer.label_bias.data.fill_(
        float("nan")
    )  # type: ignore[method-assign]
    with pytest.raises(TrainingDivergedError, match="epoch 1, after its last update"):
        trainer.run()
    assert not (tmp_path / CHECKPOINT_FILE).exists()
