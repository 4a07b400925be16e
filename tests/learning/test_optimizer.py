"""LazyAdam against Adam written out by hand, row by row, and against PyTorch's own."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from lexitree.batch.tree_examples import make_examples
from lexitree.errors import ConfigError
from lexitree.learning.optimizer import Adam, LazyAdam
from lexitree.learning.schedule import DecayKind, TrainingSettings, rate_scale
from lexitree.models.classifier import TreeClassifier
from lexitree.ops.tree_batch import batch_examples
from lexitree.tasks.classify.recipe import TrainingConfig
from tests.saving.test_saved_transformer import make_model
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


@pytest.mark.parametrize("scale", [1.0, 0.25])
@pytest.mark.parametrize("kind", ["decoupled", "l2"])
def test_rows_follow_adam_written_out_by_hand(kind: DecayKind, scale: float) -> None:
    model = tiny_model()
    optimizer = LazyAdam(model, config(kind))
    optimizer.rate_scale = scale
    start = model.lexicon.vectors.detach().double().clone()
    gradients = train_steps(model, optimizer, BATCHES)

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
                    weight -= scale * DECAY * num_sentences * weight
                moments[row][place] = 0.9 * moments[row][place] + 0.1 * value
                squares[row][place] = 0.999 * squares[row][place] + 0.001 * value**2
                moment, square = (
                    moments[row][place] / (1 - 0.9**step),
                    squares[row][place] / (1 - 0.999**step),
                )
                rows[row][place] = weight - scale * 0.02 * moment / (math.sqrt(square) + 1e-8)
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


@pytest.mark.parametrize("num_updates", [1, 2, 10, 333])
@pytest.mark.parametrize("warm_up", [0.0, 0.1, 0.5, 0.99])
def test_step_sizes_rise_and_fall(num_updates: int, warm_up: float) -> None:
    line = TrainingConfig(schedule="linear", warm_up=warm_up)
    scales = [rate_scale(line, number, num_updates) for number in range(1, num_updates + 1)]
    num_rising = round(warm_up * num_updates)
    assert scales[:num_rising] == [number / num_rising for number in range(1, num_rising + 1)]
    falling = scales[num_rising:]
    steps = [first - second for first, second in itertools.pairwise(falling)]
    assert all(0 < scale <= 1 for scale in scales)
    assert steps == pytest.approx([1 / (num_updates + 1 - num_rising)] * len(steps))
    if falling:
        # One step after the last, nothing would be left.
        assert falling[-1] == pytest.approx(1 / (num_updates + 1 - num_rising))
    steady = TrainingConfig(warm_up=warm_up)
    assert [rate_scale(steady, number, num_updates) for number in range(1, num_updates + 1)] == [
        *scales[:num_rising],
        *[1.0] * (num_updates - num_rising),
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"schedule": "square"}, "schedule must be one of constant, linear, cosine"),
        ({"warm_up": 1.0}, "warm_up must be at least 0 and below 1"),
        ({"clip": -1.0}, "clip must be at least 0"),
        ({"clip": float("nan")}, "clip must be"),
        ({"encoder_rate": -1e-3}, "encoder_rate must be at least 0"),
        ({"layer_decay": 0.0}, "layer_decay must be above 0"),
        ({"layer_decay": 1.5}, "layer_decay must be above 0 and at most 1"),
        ({"encoder_rate": "small"}, "encoder_rate must be a number"),
    ],
)
def test_wrong_rates(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TrainingConfig(**settings)


def test_a_transformer_has_rates_of_its_own(encoders: dict[str, Path]) -> None:
    model = make_model(encoders["bert"])
    groups = LazyAdam(model, config(encoder_rate=1e-3, layer_decay=0.5)).groups
    rates = {name: (group.rate, group.decays) for group in groups for name in group.names}
    assert rates["scorer.label_bias"] == (0.02, True)
    assert rates["lexicon.encoder.encoder.layer.1.output.dense.weight"] == (1e-3, False)
    assert rates["lexicon.encoder.encoder.layer.0.output.dense.weight"] == (5e-4, False)
    assert rates["lexicon.encoder.embeddings.word_embeddings.weight"] == (2.5e-4, False)
    assert rates.keys() == {name for name, _ in model.named_parameters()}


@pytest.mark.parametrize("kind", ["decoupled", "l2"])
@pytest.mark.parametrize("clip", [0.0, 0.5])
def test_groups_equal_those_of_torch(encoders: dict[str, Path], kind: DecayKind, clip: float) -> None:
    """A schedule, a clip and layers with rates of their own, against the same written with PyTorch's optimizer."""
    # Some gradients are zero but for rounding; a large epsilon keeps Adam from making steps of that.
    rates = {"encoder_rate": 1e-3, "layer_decay": 0.5, "schedule": "linear", "warm_up": 0.5, "epsilon": 1e-3}
    settings = config(kind, clip=clip, **rates)
    ours, theirs = make_model(encoders["bert"]), make_model(encoders["bert"])
    optimizer = LazyAdam(ours, settings)
    scales = [rate_scale(settings, number, len(BATCHES)) for number in range(1, len(BATCHES) + 1)]
    assert scales == pytest.approx([0.5, 1.0, 2 / 3, 1 / 3])
    weights = dict(theirs.named_parameters())
    parts = [
        {"params": [weights[name] for name in group.names], "base": group.rate, "decays": group.decays}
        for group in optimizer.groups
    ]
    reference = (torch.optim.AdamW if kind == "decoupled" else torch.optim.Adam)(parts, lr=0.0, eps=1e-3)
    trees = tiny_trees(10)
    for part, scale in zip(BATCHES, scales, strict=True):
        num_sentences = part.stop - part.start
        optimizer.zero_grad()
        reference.zero_grad()
        for model in (ours, theirs):
            batch = batch_examples(model.prepare(trees[part]))
            (model.loss(batch) / num_sentences).backward()
        if clip:
            assert torch.nn.utils.clip_grad_norm_(theirs.parameters(), clip) > clip
        for group in reference.param_groups:
            decay = DECAY * num_sentences / group["base"] if kind == "decoupled" else DECAY
            group["lr"] = group["base"] * scale
            group["weight_decay"] = decay if group["decays"] else 0.0
        reference.step()
        optimizer.rate_scale = scale
        optimizer.step(batch_examples(ours.prepare(trees[part])))
    for name, weight in ours.named_parameters():
        torch.testing.assert_close(weight, weights[name], rtol=1e-4, atol=1e-6, msg=name)


def test_a_rate_that_vanishes_is_no_error(encoders: dict[str, Path]) -> None:
    model = make_model(encoders["bert"])
    before = model.state_dict()["lexicon.encoder.embeddings.word_embeddings.weight"].clone()
    optimizer = LazyAdam(model, config(encoder_rate=1e-300, layer_decay=1e-200))
    batch = batch_examples(model.prepare(tiny_trees(2)))
    model.loss(batch).backward()
    optimizer.step(batch)
    assert torch.equal(model.state_dict()["lexicon.encoder.embeddings.word_embeddings.weight"], before)


@pytest.mark.parametrize("warm_up", [0.0, 0.25])
def test_a_cosine_falls_from_the_first_update_on(warm_up: float) -> None:
    settings = TrainingSettings(schedule="cosine", warm_up=warm_up, final_rate=0.1)
    scales = [rate_scale(settings, number, 8) for number in range(1, 9)]
    cosine = [0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done / 8)) for done in range(8)]
    rise = [0.5, 1.0] if warm_up else [1.0, 1.0]
    assert scales == pytest.approx([rise[0] * cosine[0], rise[1] * cosine[1], *cosine[2:]])


def test_dense_weights_equal_those_of_adamw() -> None:
    """Decay as a share of the step size, without the lazy rows."""
    torch.manual_seed(0)
    ours, theirs = (_Linear() for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    settings = TrainingSettings(learning_rate=0.02, decay=0.1, decay_kind="adamw", beta2=0.95, clip=0.5)
    optimizer = Adam(ours, settings, fused=False)
    reference = torch.optim.AdamW(theirs.parameters(), lr=0.02, betas=(0.9, 0.95), weight_decay=0.1)
    for scale in (0.5, 1.0, 0.25):
        for model in (ours, theirs):
            model.zero_grad()
            model(torch.ones(3, 4)).pow(2).sum().backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
        reference.param_groups[0]["lr"] = 0.02 * scale
        reference.step()
        optimizer.rate_scale = scale
        optimizer.update(3)
    for name, weight in ours.state_dict().items():
        torch.testing.assert_close(weight, theirs.state_dict()[name], rtol=1e-6, atol=1e-7)


class _Linear(torch.nn.Linear):
    def __init__(self) -> None:
        super().__init__(4, 2)

    @property
    def device(self) -> torch.device:
        return self.weight.device
