"""The average of weights: a plain mean at first, a moving one later; the model lends its place to it and gets it back."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from lexitree.corpora.named import load_corpus
from lexitree.evaluation.accuracy import evaluate
from lexitree.learning import optimizer as averaging
from lexitree.learning.checkpoint import CHECKPOINT_FILE, load_checkpoint
from lexitree.learning.optimizer import LazyAdam, WeightAverage
from lexitree.ops.tree_batch import batch_examples
from lexitree.saving.pretrained import from_pretrained
from lexitree.tasks.classify.recipe import Recipe, TrainingConfig
from lexitree.tasks.classify.run import train
from lexitree.tasks.classify.steps import PlainStep
from tests.tiny import tiny_model, tiny_trees


def average_of(values: list[float], share: float) -> float:
    weight = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    average = WeightAverage({"weight": weight}, share)
    for number, value in enumerate(values, 1):
        weight.data.fill_(value)
        average.update(torch.tensor(number))
    return average.averages["weight"].item()


def test_first_updates_count_alike() -> None:
    assert average_of([1.0, 2.0, 6.0], share=0.1) == pytest.approx(3.0)


def test_later_updates_count_for_their_share() -> None:
    assert average_of([1.0, 3.0, 6.0], share=0.5) == pytest.approx(0.5 * 2.0 + 0.5 * 6.0)


@pytest.mark.parametrize("share", [0.5, 0.01])
def test_many_weights_follow_lerp(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """Of several kinds and sizes, some of them too large to be updated together with others."""
    monkeypatch.setattr(averaging, "MAX_TOGETHER", 50)
    rng = torch.Generator().manual_seed(0)
    shapes = [(3,), (7, 7), (8, 8), (), (0, 4), (60,)]
    weights = {
        f"{shape} {kind}": nn.Parameter(torch.randn(shape, generator=rng).to(kind))
        for shape in shapes
        for kind in (torch.float32, torch.float64)
    }
    average = WeightAverage(weights, share)
    assert len(average.groups) == 2 + 2 * 2
    expected = {name: weight.detach().clone() for name, weight in weights.items()}
    for number in range(1, 6):
        for name, weight in weights.items():
            weight.data.add_(torch.randn(weight.shape, generator=rng).to(weight.dtype))
            expected[name].lerp_(weight.detach(), max(1 / number, share))
        average.update(torch.tensor(number))
    for name, value in expected.items():
        torch.testing.assert_close(average.averages[name], value, rtol=1e-6, atol=1e-6)


def test_the_weights_come_back_even_after_an_error() -> None:
    weight = nn.Parameter(torch.zeros(2))
    average = WeightAverage({"weight": weight}, 0.5)
    average.averages["weight"].fill_(7.0)

    def fail() -> None:
        with average.in_place():
            assert weight.tolist() == [7.0, 7.0]
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert weight.tolist() == [0.0, 0.0]


def test_the_average_follows_the_steps_of_training() -> None:
    model = tiny_model(dropout=0.0)
    optimizer = LazyAdam(model, TrainingConfig(averaging=0.9, learning_rate=0.01))
    step = PlainStep(model, optimizer)
    examples = model.prepare(tiny_trees(6))
    seen: list[torch.Tensor] = []
    for _ in range(5):
        step(examples)
        seen.append(model.state_dict()["lexicon.vectors"].clone())
    assert optimizer.average is not None
    found = optimizer.average.averages["lexicon.vectors"]
    torch.testing.assert_close(found, torch.stack(seen).mean(0), rtol=1e-5, atol=1e-7)


RECIPE = Recipe(
    corpus="mini-reviews",
    model={"hidden": 6, "word_size": 6, "model": "contree"},
    training=TrainingConfig(epochs=2, averaging=0.9, learning_rate=0.01),
)


def with_training(**changes: Any) -> Recipe:
    return dataclasses.replace(RECIPE, training=dataclasses.replace(RECIPE.training, **changes))


def saved_weights(folder: Path) -> dict[str, torch.Tensor]:
    return from_pretrained(folder / "model").state_dict()


def test_what_is_scored_and_saved_is_the_average(tmp_path: Path) -> None:
    """Not the last weights, which are the same as in a run without an average: that does not touch training."""
    averaged = train(with_training(epochs=1), tmp_path / "averaged")
    train(with_training(epochs=1, averaging=0.0), tmp_path / "plain")
    checkpoint = load_checkpoint(tmp_path / "averaged" / CHECKPOINT_FILE)
    saved, last = saved_weights(tmp_path / "averaged"), saved_weights(tmp_path / "plain")
    for name, weight in saved.items():
        assert torch.equal(weight, checkpoint.optimizer[f"average.{name}"]), name
        assert torch.equal(last[name], checkpoint.weights[name]), name
        assert not torch.equal(weight, last[name]), name
    model = from_pretrained(tmp_path / "averaged" / "model")
    scores = evaluate(model, model.prepare(load_corpus("mini-reviews").dev))
    assert scores.root.accuracy == averaged.scores()["dev_root"]
    assert scores.phrase is not None
    assert scores.phrase.accuracy == averaged.best.scores["dev_phrase"]


def test_a_resumed_run_ends_with_the_same_average(tmp_path: Path) -> None:
    whole = train(RECIPE, tmp_path / "whole")
    train(with_training(epochs=1), tmp_path / "cut")
    resumed = train(RECIPE, tmp_path / "cut", resume=True)
    assert resumed.scores() == whole.scores()
    second = saved_weights(tmp_path / "cut")
    assert all(
        torch.equal(tensor, second[name]) for name, tensor in saved_weights(tmp_path / "whole").items()
    )


def test_the_root_weighs_more() -> None:
    model = tiny_model(dropout=0.0)
    batch = batch_examples(model.prepare(tiny_trees(6)))
    plain, root = model.loss(batch), model.loss(batch, "root")
    torch.testing.assert_close(model.loss(batch, root_weight=4.0), plain + 3 * root)


def test_word_vectors_step_by_their_share() -> None:
    moved: list[torch.Tensor] = []
    for share in (1.0, 0.25):
        model = tiny_model(dropout=0.0)
        before = model.state_dict()["lexicon.vectors"].clone()
        PlainStep(model, LazyAdam(model, TrainingConfig(word_rate=share, decay=0.0)))(
            model.prepare(tiny_trees(6))
        )
        moved.append(model.state_dict()["lexicon.vectors"] - before)
    assert moved[0].abs().max() > 1e-4
    torch.testing.assert_close(moved[1], 0.25 * moved[0], rtol=1e-3, atol=1e-7)


def test_states_are_dropped_in_training_only() -> None:
    """Without anything else that is random, a step differs from the next by the states that are dropped."""
    model = tiny_model(dropout=0.0, state_dropout=0.5)
    batch = batch_examples(model.prepare(tiny_trees(6)))
    model.train()
    assert model.loss(batch).item() != model.loss(batch).item()
    model.eval()
    assert model.loss(batch).item() == model.loss(batch).item()
