"""Weights between states that are left out in training: other ones each time, none when predicting."""

from __future__ import annotations

import pytest
import torch

from lexitree.models.classifier import TreeClassifier
from lexitree.ops.threads import use_cores
from lexitree.ops.tree_batch import batch_examples
from tests.tiny import CONSTITUENCY_MODELS, tiny_model, tiny_trees


def make_model(name: str = "bicontree", share: float = 0.5) -> TreeClassifier:
    return tiny_model(model=name, dropout=0.0, weight_dropout=share)


def losses(model: TreeClassifier, count: int = 2, seed: int = 3) -> list[float]:
    batch = batch_examples(model.prepare(tiny_trees(12)))
    torch.manual_seed(seed)
    return [model.loss(batch).item() for _ in range(count)]


@pytest.mark.parametrize("name", CONSTITUENCY_MODELS)
def test_training_leaves_out_other_weights_each_time_and_predicting_none(name: str) -> None:
    model = make_model(name).train()
    first, second = losses(model)
    assert first != second
    assert losses(model) == [first, second]
    assert losses(model, seed=4) != [first, second]
    model.eval()
    whole = losses(model)
    assert whole[0] == whole[1]
    without = make_model(name, share=0.0).eval()
    without.load_state_dict(model.state_dict())
    assert losses(without) == whole


def test_weights_that_are_left_out_get_no_gradient() -> None:
    model = make_model().train()
    model.loss(batch_examples(model.prepare(tiny_trees(12)))).backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None
        share = (weight.grad.to_dense() == 0).double().mean().item()
        if name.endswith("weight_h"):
            assert 0.35 < share < 0.65, name
        elif name.endswith("weight_x"):
            assert share < 0.3, name


def test_everything_that_meets_the_states_of_children_is_thinned() -> None:
    model = make_model("contree-le").train()
    model.loss(batch_examples(model.prepare(tiny_trees(12)))).backward()
    for name in ("own_h", "sister_h", "candidate", "output"):
        gradient = model.get_parameter(f"encoder.bottom_up.{name}").grad
        assert gradient is not None
        assert 0.3 < (gradient == 0).double().mean().item() < 0.7, name


def test_two_cores_leave_out_the_same_weights() -> None:
    """Each loss and each gradient, bit by bit: the choice is made before the work is shared out."""
    results: list[dict[str, torch.Tensor]] = []
    for cores in (1, 2):
        model = make_model().train()
        batch = batch_examples(model.prepare(tiny_trees(400)))
        torch.manual_seed(5)
        with use_cores(cores):
            model.loss(batch).backward()
        results.append(
            {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
        )
    assert results[0].keys() == results[1].keys()
    for name, gradient in results[0].items():
        assert torch.equal(gradient.to_dense(), results[1][name].to_dense()), name
