"""A recorded step does what a plain one does; sizes are filled up by little."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
import torch

from lexitree.batch.tree_examples import Example
from lexitree.corpora.further import Grain
from lexitree.learning.optimizer import LazyAdam
from lexitree.models.classifier import TreeClassifier
from lexitree.models.label_grains import LabelGrains
from lexitree.ops.padding import Sizes
from lexitree.ops.tree_batch import batch_examples
from lexitree.tasks.classify.recipe import TrainingConfig
from lexitree.tasks.classify.steps import PlainStep, RecordedStep, make_step
from tests.tiny import tiny_model, tiny_trees

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def prepared(model: TreeClassifier, number: int) -> list[Example]:
    return model.prepare(tiny_trees(number))


@pytest.mark.parametrize("number", [1, 2, 5, 40])
def test_sizes_hold_the_batch_and_little_more(number: int) -> None:
    batch = batch_examples(prepared(tiny_model(), number))
    sizes = Sizes.around(batch)
    filled = sizes.fill(batch)
    assert batch.num_leaves <= filled.num_leaves <= max(8 + batch.num_leaves, 1.125 * batch.num_leaves)
    assert filled.num_nodes == 2 * filled.num_leaves - number
    assert filled.counts.tolist() == batch.counts.tolist()
    assert (filled.label_index != -1).sum() == (batch.label_index != -1).sum()


def test_a_cpu_takes_plain_steps() -> None:
    model = tiny_model()
    step = make_step(model, LazyAdam(model, TrainingConfig()))
    assert isinstance(step, PlainStep)
    step(prepared(model, 5))
    assert step.losses.item() > 0


def test_steps_with_coarse_labels_count_them() -> None:
    """Without them the loss is smaller by just what these nodes add."""
    model = tiny_model()
    examples = with_coarse_labels(prepared(model, 6))
    plain = [
        dataclasses.replace(example, label_index=np.where(example.label_index >= 2, -1, example.label_index))
        for example in examples
    ]
    losses: list[float] = []
    for given, grains in ((examples, LabelGrains(2, COARSE)), (plain, LabelGrains(2, COARSE)), (plain, None)):
        step = PlainStep(tiny_model(), LazyAdam(model, TrainingConfig()), grains=grains)
        losses.append(step.compute_gradients(batch_examples(given)).item())
    assert losses[0] > losses[1]
    assert losses[1] == pytest.approx(losses[2])


def test_a_loss_that_is_no_number_changes_nothing() -> None:
    model = tiny_model()
    examples = prepared(model, 5)
    with torch.no_grad():
        model.scorer.label_bias.fill_(float("nan"))
    before = copy.deepcopy(model.state_dict())
    step = make_step(model, LazyAdam(model, TrainingConfig()))
    step(examples)
    assert np.isnan(step.losses.item())
    for name, weight in model.state_dict().items():
        assert torch.equal(weight.nan_to_num(7.0), before[name].nan_to_num(7.0)), name


def with_targets(examples: list[Example]) -> list[Example]:
    rng = np.random.default_rng(0)
    return [
        dataclasses.replace(example, targets=rng.dirichlet(np.ones(2), example.num_nodes).astype(np.float32))
        for example in examples
    ]


def with_coarse_labels(examples: list[Example]) -> list[Example]:
    """Every third example has labels of number 2, which mean 0 or 1, or of number 3, which mean 1."""
    return [
        dataclasses.replace(
            example, label_index=np.where(example.label_index < 0, -1, example.label_index + 2)
        )
        if place % 3 == 0
        else example
        for place, example in enumerate(examples)
    ]


COARSE = (Grain((0, 1), (0, 1), 2.0), Grain((1,), (0, 1), 0.5))


@on_gpu
@pytest.mark.parametrize("clip", [0.0, 0.5])
@pytest.mark.parametrize("grained", [False, True])
@pytest.mark.parametrize("taught", [False, True])
@pytest.mark.parametrize("head_method", ["G", "L", "R", "A"])
def test_recorded_steps_equal_plain_ones(head_method: str, taught: bool, grained: bool, clip: float) -> None:
    """Batches of several sizes, the first of each recorded, then replayed; without dropout, which is random.

    With a large epsilon Adam's steps are as large as the gradients, and so is the rounding in them: a small one
    would blow up that of gradients that are all but zero. The average of the weights is recorded along, and a
    replayed step takes the learning rate and the decay that its turn has.
    """
    config = TrainingConfig(
        learning_rate=0.01, epsilon=0.01, word_rate=0.5, root_weight=3.0, averaging=0.8, decay=1e-3, clip=clip
    )
    weights: list[dict[str, torch.Tensor]] = []
    losses: list[float] = []
    for is_recorded in (False, True):
        model = tiny_model(dropout=0.0, head_method=head_method).cuda()
        examples = prepared(model, 60)
        examples = with_targets(examples) if taught else examples
        examples = with_coarse_labels(examples) if grained else examples
        optimizer = LazyAdam(model, config)
        grains = LabelGrains(2, COARSE) if grained else None
        plain = PlainStep(model, optimizer, config.root_weight, grains=grains)
        step = RecordedStep(plain) if is_recorded else plain
        batches = ((0, 5), (5, 5), (10, 25), (35, 1), (36, 1), (0, 25), (40, 19))
        for number, (first, size) in enumerate(batches):
            optimizer.rate_scale = 1 - number / len(batches)
            step(examples[first : first + size])
        assert optimizer.average is not None
        averages = {f"average of {name}": value for name, value in optimizer.average.averages.items()}
        weights.append({name: weight.cpu() for name, weight in {**model.state_dict(), **averages}.items()})
        losses.append(step.losses.item())
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    for name, weight in weights[0].items():
        error = float((weights[1][name] - weight).norm() / weight.norm())
        assert error < 1e-5, f"{name} differs by {error:.1e}"


@on_gpu
def test_dropout_of_recorded_steps_follows_the_seed() -> None:
    """The same seed drops the same numbers, another one others; each replay drops anew."""
    losses: list[list[float]] = []
    for seed in (3, 3, 4):
        model = tiny_model(dropout=0.5).cuda().train()
        examples = prepared(model, 20)
        step = make_step(model, LazyAdam(model, TrainingConfig(learning_rate=1e-9)))
        assert isinstance(step, RecordedStep)
        torch.manual_seed(seed)
        losses.append([])
        for _ in range(4):
            step.losses.zero_()
            step(examples)
            losses[-1].append(step.losses.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert losses[0] != pytest.approx(losses[2], rel=1e-5)
    assert len({round(loss, 3) for loss in losses[0]}) == 4
