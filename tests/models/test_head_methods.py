"""Head methods of other packages: both implementations agree, on trees of every shape."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from lexitree.errors import PluginError
from lexitree.models.head_methods import HeadComposer, HeadGate, HeadMixer
from lexitree.models.registries import HEAD_METHODS
from lexitree.ops.registry import get_backend
from lexitree.ops.tree_batch import TreeBatch
from lexitree.trees.tree import Tree
from tests.tiny import chain, tiny_trees

WORD_SIZE = 5


class ByDimension(HeadGate):
    """The gate of the paper, written as a package would."""

    def __init__(self, word_size: int) -> None:
        super().__init__(word_size)
        self.linear = torch.nn.Linear(2 * word_size, word_size)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return self.linear(torch.cat([left, right], 1)).sigmoid()


class OneShare(ByDimension):
    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return super().forward(left, right).mean(1, keepdim=True)


def run(heads: HeadMixer, batch: TreeBatch, backend: str) -> list[Tensor]:
    torch.manual_seed(2)
    words = torch.randn(batch.num_leaves, WORD_SIZE, dtype=torch.float64, requires_grad=True)
    heads.zero_grad()
    x = heads(words, batch, get_backend(backend))
    x.square().sum().backward()
    found = [x.detach(), words.grad, *(weight.grad for weight in heads.parameters())]
    # Single words have no gate to learn.
    return [torch.zeros(()) if each is None else each.clone() for each in found]


@pytest.mark.parametrize("gate", [ByDimension, OneShare])
@pytest.mark.parametrize(
    "trees", [tiny_trees(6), [Tree([0], ["X"], ["a"])], [chain(30), *tiny_trees(2), chain(7, "right")]]
)
def test_level_by_level_is_node_by_node(gate: type[HeadGate], trees: list[Tree]) -> None:
    torch.manual_seed(1)
    heads, batch = HeadMixer(gate(WORD_SIZE)).double(), TreeBatch.from_trees(trees)
    for levelwise, reference in zip(
        run(heads, batch, "levelwise"), run(heads, batch, "reference"), strict=True
    ):
        torch.testing.assert_close(levelwise, reference)


def test_no_trees_have_no_heads() -> None:
    batch = TreeBatch.from_trees([])
    for backend in ("levelwise", "reference"):
        x = HeadMixer(OneShare(WORD_SIZE))(torch.zeros(0, WORD_SIZE), batch, get_backend(backend))
        assert x.shape == (0, WORD_SIZE)


def test_a_gate_like_the_papers_gives_what_the_paper_gives() -> None:
    torch.manual_seed(1)
    gate, own = ByDimension(WORD_SIZE), HeadComposer(WORD_SIZE)
    assert own.gate is not None
    assert own.bias is not None
    gate.linear.load_state_dict({"weight": own.gate, "bias": own.bias})
    batch, mixer = TreeBatch.from_trees(tiny_trees(6)), HeadMixer(gate)
    words = torch.randn(batch.num_leaves, WORD_SIZE)
    x = own(words, batch)
    torch.testing.assert_close(mixer(words, batch), x)
    torch.testing.assert_close(mixer.left_shares(x, batch), own.left_shares(x, batch))
    for found, expected in zip(mixer.find_words(x, batch), own.find_words(x, batch), strict=True):
        torch.testing.assert_close(found, expected)


def test_a_very_deep_tree_takes_linear_time() -> None:
    """Quadratic work on so many levels would take minutes."""
    batch, heads = TreeBatch.from_trees([chain(1000)]), HeadMixer(OneShare(WORD_SIZE))
    x = heads(torch.randn(1000, WORD_SIZE, requires_grad=True), batch)
    x.sum().backward()
    assert x.shape == (1999, WORD_SIZE)


def test_the_papers_methods_are_built_in() -> None:
    assert list(HEAD_METHODS)[:4] == ["G", "L", "R", "A"]
    heads = HEAD_METHODS["A"](WORD_SIZE, bias_init="zero")
    assert isinstance(heads, HeadComposer)
    assert heads.method == "A"
    with pytest.raises(PluginError, match="already a head method 'G', that is built in"):
        HEAD_METHODS.register("G", OneShare)
