"""LazyAdam against Adam written out by hand, row by row, and against PyTorch's own."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from lexitree.examples import batch_examples, make_examples
from lexitree.models.classifier import TreeClassifier
from lexitree.training.config import DecayKind, TrainingConfig
from lexitree.training.optimizer import LazyAdam
from tests.tiny import LABELS, tiny_model, tiny_trees

DECAY = 0.01
"""Large, so that an error in it shows."""

BATCHES = [slice(0, 5), slice(5, 10), slice(3, 8), slice(8, 10)]
"""The last one is smaller, as the last of an epoch may be."""


def config(kind: DecayKind = "decoupled", **settings: Any) -> TrainingConfig:
    return TrainingConfig(decay=DECAY, decay_kind=kind, learning_rate=0.02, **settings)


def train_steps(model: TreeClassifier, optimizer: LazyAdam, batches: list[slice]) -> list[torch.Tensor]:
    """Take a step a batch; the dense gradient of the word table at each."""
    examples = make_examples(tiny_trees(10), model.lexicon, labels=LABELS, direction="right")
    gradients: list[torch.Tensor] = []
    for part in batches:
        optimizer.zero_grad()
        batch = batch_examples(examples[part])
        (model.loss(batch) / batch.num_trees).backward()
        gradient = model.lexicon.vectors.grad
        gradients.append(gradient.to_dense().clone() if gradient is not None else torch.zeros(0))
        optimizer.step(batch)
    return gradients


@pytest.mark.parametrize("kind", ["decoupled", "l2"])
def test_rows_follow_adam_written_out_by_hand(kind: DecayKind) -> None:
    model = tiny_model()
    settings = config(kind)
    start = model.lexicon.vectors.detach().double().clone()
    gradients = train_steps(model, LazyAdam(model, settings), BATCHES)

    rows = start.tolist()
    moments = [[0.0] * 8 for _ in rows]
    squares = [[0.0] * 8 for _ in rows]
    for step, (gradient, part) in enumerate(zip(gradients, BATCHES, strict=True), 1):
        num_sentences = part.stop - part.start
        for row, values in enumerate(gradient.double().tolist()):
            if not any(values):
                continue  # the word is not in the batch
            for place, value in enumerate(values):
                weight = rows[row][place]
                if kind == "l2":
                    value += DECAY * weight
                else:
                    weight -= DECAY * num_sentences * weight
                moments[row][place] = 0.9 * moments[row][place] + 0.1 * value
                squares[row][place] = 0.999 * squares[row][place] + 0.001 * value**2
                moment, square = (
                    moments[row][place] / (1 - 0.9**step),
                    squares[row][place] / (1 - 0.999**step),
                )
                rows[row][place] = weight - 0.02 * moment / (math.sqrt(square) + 1e-8)
    torch.testing.assert_close(
        model.lexicon.vectors.detach().double(), torch.tensor(rows, dtype=torch.float64), rtol=1e-4, atol=1e-5
    )
    assert not torch.allclose(start, torch.tensor(rows, dtype=torch.float64), atol=1e-3)


@pytest.mark.parametrize("kind", ["decoupled", "l2"])
def test_words_that_are_not_in_the_batch_stay_bit_by_bit(kind: DecayKind) -> None:
    model = tiny_model()
    before = model.lexicon.vectors.detach().clone()
    optimizer = LazyAdam(model, config(kind))
    gradients = train_steps(model, optimizer, BATCHES[:2])
    touched = torch.stack(gradients).abs().sum((0, 2)) > 0
    assert 0 < int((~touched).sum()) < len(before)
    assert torch.equal(model.lexicon.vectors.detach()[~touched], before[~touched])
    assert not (model.lexicon.vectors.detach()[touched] == before[touched]).all(1).any()
    assert optimizer.row_moment is not None
    assert not optimizer.row_moment[~touched].any()


@pytest.mark.parametrize("kind", ["decoupled", "l2"])
def test_dense_weights_equal_those_of_torch(kind: DecayKind) -> None:
    ours, theirs = tiny_model(), tiny_model()
    settings = config(kind, train_words=False)
    train_steps(ours, LazyAdam(ours, settings), BATCHES)

    theirs.lexicon.vectors.requires_grad_(False)
    dense = [weight for weight in theirs.parameters() if weight is not theirs.lexicon.vectors]
    optimizer_class = torch.optim.AdamW if kind == "decoupled" else torch.optim.Adam
    optimizer = optimizer_class(dense, lr=0.02, weight_decay=DECAY)
    examples = make_examples(tiny_trees(10), theirs.lexicon, labels=LABELS, direction="right")
    for part in BATCHES:
        num_sentences = part.stop - part.start
        if kind == "decoupled":
            optimizer.param_groups[0]["weight_decay"] = DECAY * num_sentences / 0.02
        optimizer.zero_grad()
        (theirs.loss(batch_examples(examples[part])) / num_sentences).backward()
        optimizer.step()
    for (name, weight), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(weight, other, rtol=1e-5, atol=1e-7, msg=name)


def test_decay_is_counted_by_sentence() -> None:
    """Without gradients only the decay moves weights: 5 sentences shrink them as 2 and 3 do."""
    whole, parts = tiny_model(), tiny_model()
    for model, sizes in ((whole, [5]), (parts, [2, 3])):
        optimizer = LazyAdam(model, TrainingConfig(decay=1e-4))
        examples = make_examples(tiny_trees(5), model.lexicon, labels=LABELS, direction="right")
        for size in sizes:
            for weight in optimizer.dense.values():
                weight.grad = torch.zeros_like(weight)
            optimizer.step(batch_examples(examples[:size]))
    start = tiny_model().scorer.hidden_bias
    torch.testing.assert_close(whole.scorer.hidden_bias, start * (1 - 5e-4), rtol=1e-6, atol=0)
    torch.testing.assert_close(parts.scorer.hidden_bias, start * (1 - 2e-4) * (1 - 3e-4), rtol=1e-6, atol=0)


def test_frozen_words_do_not_move() -> None:
    model = tiny_model()
    before = model.lexicon.vectors.detach().clone()
    optimizer = LazyAdam(model, config(train_words=False))
    train_steps(model, optimizer, BATCHES)
    assert torch.equal(model.lexicon.vectors, before)
    assert "row_moment" not in optimizer.state_tensors()


def test_state_round_trip_goes_on_bit_by_bit() -> None:
    undisturbed = tiny_model()
    train_steps(undisturbed, LazyAdam(undisturbed, config()), BATCHES)

    first = tiny_model()
    optimizer = LazyAdam(first, config())
    train_steps(first, optimizer, BATCHES[:2])
    state = {name: tensor.clone() for name, tensor in optimizer.state_tensors().items()}
    second = tiny_model(seed=9)
    second.load_state_dict(first.state_dict())
    restored = LazyAdam(second, config())
    restored.load_state_tensors(state)
    train_steps(second, restored, BATCHES[2:])
    for (name, weight), other in zip(undisturbed.named_parameters(), second.parameters(), strict=True):
        assert torch.equal(weight, other), name


def test_a_loaded_state_is_a_copy() -> None:
    model = tiny_model()
    optimizer = LazyAdam(model, config())
    train_steps(model, optimizer, BATCHES[:1])
    state = {name: tensor.clone() for name, tensor in optimizer.state_tensors().items()}
    kept = {name: tensor.clone() for name, tensor in state.items()}
    optimizer.load_state_tensors(state)
    train_steps(model, optimizer, BATCHES[1:])
    assert all(torch.equal(state[name], kept[name]) for name in kept)
