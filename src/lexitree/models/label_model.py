"""What is asked of a model to label trees with it, whether it computes with torch or with NumPy."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from lexitree.arrays import FloatArray, IndexArray
from lexitree.batch.tree_examples import TreeKind, WordIndex
from lexitree.batch.tree_layout import TreeLayout
from lexitree.errors import TreeError
from lexitree.models.model_config import ModelConfig, TextReading
from lexitree.pending import Pending

AskedNodes = Literal["all", "root"]


class BatchedTrees(Protocol):
    """What is asked of a batch to tell its kind: a `TreeLayout` or a `TreeBatch`."""

    @property
    def num_nodes(self) -> int: ...

    @property
    def is_binary(self) -> bool: ...

    @property
    def word_index(self) -> Sized: ...

    @property
    def inner_word_index(self) -> Sized: ...


def check_trees(kind: TreeKind, trees: BatchedTrees) -> None:
    """Refuse trees of another kind than a model reads, which would run and give nonsense.

    Raises:
        TreeError: They are of another kind.
    """
    if kind == "dependency":
        if len(trees.word_index) + len(trees.inner_word_index) != trees.num_nodes:
            raise TreeError(
                "the model reads dependency trees, with a word at every node",
                remedy="Make them with DependencyTree.from_parents or read_dependencies.",
            )
    elif not trees.is_binary or len(trees.inner_word_index):
        raise TreeError("the model reads binary trees", remedy="Prepare them with make_example or to_binary.")


class NodeArrays(NamedTuple):
    """The output for the nodes of a batch, tree after tree in pre-order."""

    probabilities: FloatArray
    """[nodes, labels], or [trees, labels] if only the roots were asked for."""
    head_index: IndexArray | None
    """[nodes]: the position in its sentence of each phrase's head word; None if heads were not asked for."""
    head_weight: FloatArray | None
    """[nodes]: the head word's share of the phrase's head vector."""


class ModelLexicon(WordIndex, Protocol):
    """The words of a model."""

    @property
    def can_guess(self) -> bool:
        """Whether unknown words get vectors of their own."""
        ...

    def count_unknown(self, words: Sequence[str]) -> int:
        """How many of some words are unknown; none if vectors are made from parts of words."""
        ...


class LabelModel(Protocol):
    """A classifier of trees: `TreeClassifier`, which torch trains, or `ArrayClassifier`, which needs no torch."""

    kind: ClassVar[str]
    library: ClassVar[str]
    """What it computes with, as people call it: NumPy or torch."""
    config: ModelConfig
    training_record: dict[str, Any]
    reading: TextReading | None

    @property
    def lexicon(self) -> ModelLexicon: ...

    @property
    def tree_kind(self) -> TreeKind:
        """The trees that it reads."""
        ...

    @property
    def has_heads(self) -> bool:
        """Whether its phrases have head words."""
        ...

    @property
    def device(self) -> object:
        """Where it computes; its text is the name."""
        ...

    @property
    def device_type(self) -> str:
        """The kind of device: cpu or cuda."""
        ...

    @property
    def what_runs(self) -> dict[str, str]:
        """The name of the implementation that runs, by operation."""
        ...

    def num_parameters(self) -> int:
        """The number of weights without those of the lexicon, as the paper counts them."""
        ...

    def in_use(self) -> AbstractContextManager[None]:
        """A block in which nothing is dropped out; a model in training returns to it afterwards."""
        ...

    def start_batch(
        self, layout: TreeLayout, *, nodes: AskedNodes = "all", heads: bool = False, finer: bool = False
    ) -> Pending[NodeArrays]:
        """Begin to label a batch; on a GPU, the host does not wait for it.

        Args:
            layout: The trees.
            nodes: Whether all nodes or only the roots are labelled.
            heads: Whether head words are found too.
            finer: Whether the probabilities are those of the labels it was trained with, where these are finer than
                its answers.
        """
        ...

    def head_shares(self, layout: TreeLayout) -> FloatArray:  # [phrases, word]
        """The left part's share of each phrase's head vector, tree after tree in pre-order, if it has heads."""
        ...
