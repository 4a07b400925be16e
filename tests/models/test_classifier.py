"""The whole model's answers: with finer labels their probabilities are added up, without them nothing changes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from lexitree.arrays import NO_INDEX
from lexitree.batch.tree_examples import Example
from lexitree.errors import LabelError
from lexitree.models.classifier import TreeClassifier
from lexitree.ops.padding import fill_batch
from lexitree.ops.tree_batch import batch_examples
from lexitree.trees.brackets import tree_from_brackets
from tests.tiny import CONSTITUENCY_MODELS, FINER_LABELS, tiny_model, tiny_polarity, tiny_trees

on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

MODEL = tiny_model(finer_labels=FINER_LABELS)
SURELY_NEUTRAL = [-30.0, -31.0, 1e4, -33.0, -29.0]

rows = st.lists(
    st.lists(st.floats(-30, 30), min_size=len(FINER_LABELS), max_size=len(FINER_LABELS)), min_size=1
)


@given(rows)
def test_answers_are_sums_divided_by_their_sum(scores: list[list[float]]) -> None:
    given_scores = torch.tensor(scores, dtype=torch.float64)
    found = MODEL.answer_probabilities(given_scores).numpy()
    plain = given_scores.softmax(1).numpy()
    sums = np.stack([plain[:, :2].sum(1), plain[:, 3:].sum(1)], 1)
    np.testing.assert_allclose(found, sums / sums.sum(1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-14)


def test_groups_need_not_stand_together() -> None:
    model = tiny_model(labels=("x", "y"), finer_labels={"a": "y", "b": "x", "c": "y", "d": "", "e": "x"})
    probabilities = torch.tensor([[0.1, 0.2, 0.3, 0.35, 0.05]], dtype=torch.float64)
    found = model.answer_probabilities(probabilities.log())
    np.testing.assert_allclose(found.numpy(), [[0.25 / 0.65, 0.4 / 0.65]], rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_what_counts_for_no_answer_may_be_all_but_sure(dtype: torch.dtype) -> None:
    scores = torch.tensor([SURELY_NEUTRAL], dtype=dtype)
    assert scores.softmax(1)[0, [0, 1, 3, 4]].sum() == 0
    negative, positive = np.exp(-30) + np.exp(-31), np.exp(-33) + np.exp(-29)
    found = MODEL.answer_probabilities(scores)[0].double().numpy()
    expected = np.array([negative, positive]) / (negative + positive)
    # These scores are whole numbers, which even bfloat16 holds exactly; what follows is done in float32.
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_scores_that_are_no_numbers_give_none() -> None:
    scores = torch.full((1, len(FINER_LABELS)), float("nan"))
    assert MODEL.answer_probabilities(scores).isnan().all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_without_finer_labels_it_is_the_softmax_to_the_last_bit(dtype: torch.dtype) -> None:
    scores = torch.randn(500, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(dtype)
    found = tiny_model().answer_probabilities(scores)
    assert found.dtype == dtype
    assert torch.equal(found, scores.softmax(1))


def test_finer_labels_that_are_the_answers_change_nothing() -> None:
    scores = torch.randn(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = tiny_model(finer_labels={"0": "0", "1": "1"}).answer_probabilities(scores)
    torch.testing.assert_close(found, scores.softmax(1), rtol=1e-14, atol=0)


@on_gpu
def test_answers_do_not_make_the_host_wait() -> None:
    model = tiny_model(finer_labels=FINER_LABELS).cuda()
    scores = torch.tensor([SURELY_NEUTRAL] * 3, device="cuda")
    model.answer_probabilities(scores)
    torch.cuda.set_sync_debug_mode("error")
    try:
        found = model.answer_probabilities(scores)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    torch.testing.assert_close(found.cpu(), MODEL.answer_probabilities(scores.cpu()))


def test_labels_are_numbered_for_training_or_for_scoring() -> None:
    trained = tree_from_brackets("(++ (o the) (-- (_ not) (- bad)))")
    answered = tree_from_brackets("(1 (_ the) (0 (_ not) (0 bad)))")
    assert MODEL.prepare([trained], training=True)[0].label_index.tolist() == [4, 2, 0, NO_INDEX, 1]
    assert MODEL.prepare([answered])[0].label_index.tolist() == [1, NO_INDEX, 0, NO_INDEX, 0]
    for training in (False, True):
        (bare,) = MODEL.prepare([trained], labelled=False, training=training)
        assert set(bare.label_index.tolist()) == {NO_INDEX}
    with pytest.raises(LabelError, match=r"'\+\+' is not one of 0, 1"):
        MODEL.prepare([trained])
    with pytest.raises(LabelError, match="'1' is not one of --, -, o"):
        MODEL.prepare([answered], training=True)


def test_without_finer_labels_training_is_no_other_numbering() -> None:
    model = tiny_model()
    for first, second in zip(
        model.prepare(tiny_trees(5)), model.prepare(tiny_trees(5), training=True), strict=True
    ):
        assert first.label_index.tolist() == second.label_index.tolist()


def test_the_loss_is_that_of_the_finer_labels() -> None:
    examples = MODEL.prepare(tiny_polarity().train, training=True)
    batch = batch_examples(examples)
    assert set(batch.label_index.tolist()) == set(range(len(FINER_LABELS)))
    with torch.no_grad():
        scores = MODEL(batch)
        assert scores.shape == (batch.num_nodes, len(FINER_LABELS))
        expected = nn.functional.nll_loss(scores.log_softmax(1), batch.label_index, reduction="sum")
        torch.testing.assert_close(MODEL.loss(batch), expected)


SHAPES = (
    "(1 good)",
    "(1 (0 bad))",
    "(1 (_ the) (0 bad) (1 good) (_ film))",
    "(0 (_ (1 good)) (_ (_ (0 film))))",
)
"""One word, a chain over one, a wide phrase, chains within."""


def with_random_targets(model: TreeClassifier) -> list[Example]:
    rng = np.random.default_rng(0)
    examples = model.prepare([*map(tree_from_brackets, SHAPES), *tiny_trees(6)])
    return [
        dataclasses.replace(example, targets=rng.dirichlet(np.ones(2), example.num_nodes).astype(np.float32))
        for example in examples
    ]


def written_out(
    model: TreeClassifier, examples: list[Example], root_weight: float, *, roots_only: bool = False
) -> torch.Tensor:
    """Tree by tree, node by node, label by label."""
    total = torch.zeros(())
    for example in examples:
        batch = batch_examples([example])
        (scores,) = batch.split(model(batch))
        assert example.targets is not None
        for node in range(1 if roots_only else example.num_nodes):
            weight = root_weight if node == 0 else 1.0
            normal = scores[node].exp().sum().log()
            for label, target in enumerate(example.targets[node].tolist()):
                total = total - weight * target * (scores[node, label] - normal)
    return total


def gradients(model: TreeClassifier, loss: torch.Tensor) -> dict[str, torch.Tensor]:
    model.zero_grad()
    loss.backward()
    return {
        name: weight.grad.to_dense() for name, weight in model.named_parameters() if weight.grad is not None
    }


@pytest.mark.parametrize("name", CONSTITUENCY_MODELS)
@pytest.mark.parametrize("root_weight", [1.0, 3.0])
def test_the_loss_with_targets_and_its_gradients(name: str, root_weight: float) -> None:
    model = tiny_model(name)
    examples = with_random_targets(model)
    found = model.loss(batch_examples(examples), root_weight=root_weight)
    expected = written_out(model, examples, root_weight)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)
    found_gradients, expected_gradients = gradients(model, found), gradients(model, expected)
    assert found_gradients.keys() == expected_gradients.keys()
    for weight, gradient in expected_gradients.items():
        torch.testing.assert_close(found_gradients[weight], gradient, rtol=1e-4, atol=1e-5, msg=weight)


def test_targets_of_whole_sentences_only() -> None:
    model = tiny_model(supervision="root")
    examples = with_random_targets(model)
    expected = written_out(model, examples, 1.0, roots_only=True)
    torch.testing.assert_close(model.loss(batch_examples(examples), root_weight=9.0), expected)


@pytest.mark.parametrize("settings", [{}, {"finer_labels": FINER_LABELS}])
def test_targets_that_are_sure_of_the_label_are_the_label(settings: dict[str, Any]) -> None:
    model = tiny_model(**settings)
    trees = (
        tiny_polarity().train
        if settings
        else [tree.with_labels("0" for _ in tree.labels) for tree in tiny_trees(9)]
    )
    examples = model.prepare(trees, training=True)
    sure = [
        dataclasses.replace(
            example,
            targets=np.eye(len(model.config.label_set.trained_ids), dtype=np.float32)[example.label_index],
        )
        for example in examples
    ]
    torch.testing.assert_close(model.loss(batch_examples(sure)), model.loss(batch_examples(examples)))


def test_nodes_that_only_fill_a_batch_up_count_for_nothing() -> None:
    model = tiny_model()
    batch = batch_examples(with_random_targets(model))
    scores = torch.randn(batch.num_nodes + 12, 2, generator=torch.Generator().manual_seed(0))
    padded = fill_batch(batch, batch.num_leaves + 6, batch.num_nodes - batch.num_leaves + 6, 20)
    assert batch.targets is not None
    assert padded.targets is not None
    is_real = padded.targets.any(1)
    losses = [
        nn.functional.cross_entropy(some, targets.float(), reduction="sum")
        for some, targets in ((scores, padded.targets), (scores[is_real], batch.targets))
    ]
    torch.testing.assert_close(losses[0], losses[1])


def training_inputs(**settings: Any) -> tuple[torch.Tensor, torch.Tensor, Any]:
    """The encoder's input in training, the word vectors it was made of, and the batch."""
    model = tiny_model(head_method="A", word_size=64, **settings).train()
    batch = batch_examples(model.prepare(tiny_trees(20)))
    torch.manual_seed(1)
    with torch.no_grad():
        return model._input_vectors(batch), model._word_vectors(batch), batch


def test_half_of_each_word_vector_is_dropped_in_training() -> None:
    """What is left is doubled, so that the mean stays."""
    x, words, batch = training_inputs(dropout=0.5)
    leaves = x[: batch.num_leaves]
    is_dropped = leaves == 0
    assert 0.45 < is_dropped.double().mean().item() < 0.55
    torch.testing.assert_close(leaves[~is_dropped], 2 * words[~is_dropped])
    kept, _, _ = training_inputs(dropout=0.0)
    torch.testing.assert_close(kept[: batch.num_leaves], words)


def test_head_vectors_are_made_of_the_dropped_words_and_not_dropped_again() -> None:
    """With the mean of the children as head vector, every head vector can be computed from its children's."""
    x, _, batch = training_inputs(dropout=0.5)
    children = batch.children_index.view(-1, 2)
    heads = x[batch.num_leaves :]
    assert len(heads) == len(children) > 0
    torch.testing.assert_close(heads, x[children].mean(1))
