"""Every model in two implementations on the same trees: outputs and every gradient, each by its name."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.models.word_table import WordTable
from lexitree.ops.tree_batch import TreeBatch
from lexitree.trees.tree import Tree

NUM_LABELS = 3


def make_model(config: ModelConfig, num_words: int, seed: int = 0) -> TreeClassifier:
    """A double-precision model without dropout, one word vector for each leaf."""
    torch.manual_seed(seed)
    vocabulary = Vocabulary([f"w{number}" for number in range(num_words)])
    return TreeClassifier(config, WordTable.random(vocabulary, config.word_size)).double()


def make_batch(forest: Iterable[Tree]) -> TreeBatch:
    listed = list(forest)
    generator = torch.Generator().manual_seed(1)
    labels = [
        torch.randint(-1, NUM_LABELS, (tree.num_nodes,), generator=generator).numpy() for tree in listed
    ]
    return TreeBatch.from_trees(listed, None, labels)


def run(model: TreeClassifier, batch: TreeBatch, backend: str) -> dict[str, Tensor]:
    """Scores, loss and the gradient of every parameter, the word vectors included."""
    model.backend_name = backend
    model.zero_grad()
    batch = batch.to(model.device)
    scores = model(batch)
    # A loss in which every score has its own weight, so that no gradient is zero by symmetry.
    # Drawn in float64 always: another precision must not mean another loss.
    weight = torch.randn(scores.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    weight = weight.to(scores)
    (model.loss(batch, "all") + (scores * weight).sum()).backward()
    results = {"scores": scores.detach().cpu()}
    for name, parameter in model.named_parameters():
        # The reference does not touch what a tree of one word does not need; untouched means zero.
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        # A copy: moving the model to another device would move its gradients along.
        results[f"gradient of {name}"] = gradient.to_dense().to("cpu", copy=True)
    reached = results["gradient of lexicon.vectors"].any() or not batch.num_nodes
    assert reached, "nothing is compared: no gradient reaches the words"
    return results


def assert_agree(found: dict[str, Tensor], expected: dict[str, Tensor], tolerance: float) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        error = (found[name] - tensor).abs().max().item() if tensor.numel() else 0.0
        assert error <= tolerance, f"{name} differs by {error:.2e}"
