"""Adds to lexitree a model, a head method, a parser, a corpus, an output format and a teacher.

`pyproject.toml` beside this file names each of them as an entry point.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor, nn

import lexitree
from lexitree.models.encoders import make_heads, pick
from lexitree.pipeline.formats import RecordFormat
from lexitree.settings import Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRNNConfig(lexitree.ModelConfig):
    """The settings of every model, and one more: it can be given in recipes and by --set model.keep=0.3."""

    keep: Annotated[
        float, Setting("Share of the mean of its parts in the state of a phrase.", at_least=0, at_most=1)
    ] = 0.0


class TreeRNN(lexitree.Encoder):
    """A phrase with the head vector x and parts in the states h_L and h_R: h = tanh(W x + U [h_L h_R])."""

    config_class = TreeRNNConfig
    title = "TreeRNN"
    about = "a recursive network without gates, over head words"
    num_states = 1
    has_heads = True

    def __init__(self, config: TreeRNNConfig) -> None:
        super().__init__(config)
        self.heads = make_heads(config)
        self.keep = config.keep
        self.of_words = nn.Linear(config.word_size, config.hidden)
        self.of_parts = nn.Linear(2 * config.hidden, config.hidden, bias=False)

    def forward(self, x: Tensor, batch: lexitree.TreeBatch, nodes: Tensor | None, backend: Any) -> Tensor:
        inputs = self.of_words(x)  # [nodes, hidden], the leaves first and then level by level
        states = list(inputs[: batch.num_leaves].tanh())
        children = batch.children_index.tolist()
        for start, end in batch.levels():
            edges = slice(2 * (start - batch.num_leaves), 2 * (end - batch.num_leaves))
            parts = torch.stack([states[child] for child in children[edges]]).view(end - start, 2, -1)
            new = (inputs[start:end] + self.of_parts(parts.flatten(1))).tanh()
            states += torch.lerp(new, parts.mean(1), self.keep)
        return pick(torch.stack(states), nodes)


class NormGate(lexitree.HeadGate):
    """The part with the longer head vector gives more of it; how much more is learned."""

    def __init__(self, word_size: int) -> None:
        super().__init__(word_size)
        self.slope = nn.Parameter(torch.ones(()))

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        difference = left.norm(dim=1, keepdim=True) - right.norm(dim=1, keepdim=True)
        return torch.sigmoid(self.slope * difference)


class RightBranchingParser:
    """Splits the first word off, again and again: the simplest parser there is."""

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[lexitree.Tree]:
        for words in sentences:
            arity = [2, 0] * (len(words) - 1) + [0]
            yield lexitree.Tree(arity, ["X"] * len(arity), list(words))


FAIR, FOUL = ("sunny", "warm", "clear"), ("rainy", "cold", "stormy")


def load_weather() -> lexitree.Corpus:
    """Short weather reports, fair or foul, made for this example."""
    random_numbers = random.Random(1)
    splits = {
        split: [_report(random_numbers) for _ in range(size)]
        for split, size in {"train": 120, "dev": 30, "test": 30}.items()
    }
    return lexitree.Corpus("weather", splits, lexitree.LabelSet(("fair", "foul")), "root")


def _report(random_numbers: random.Random) -> lexitree.Tree:
    label = random_numbers.choice(("fair", "foul"))
    day = random_numbers.choice(("today", "tonight", "tomorrow"))
    weather = random_numbers.choice(FAIR if label == "fair" else FOUL)
    return lexitree.tree_from_brackets(f"({label} (X {day}) (X (X will) (X (X be) (X {weather}))))")


class MarkdownFormat(RecordFormat):
    """A list of the texts with their labels, in Markdown."""

    name = "markdown"
    suffixes = (".md",)
    sources = frozenset({"texts"})

    def text_record(self, row: Any, document: lexitree.Document) -> str:
        return f"- **{document.label}** ({document.probability:.0%}): {document.text}\n"


def forecast(trees: Sequence[lexitree.Tree], labels: Sequence[str]) -> Iterator[np.ndarray]:
    """A teacher that knows the words: 0.9 for the label that they speak for, at every node."""
    for tree in trees:
        rows = np.full((tree.num_nodes, len(labels)), 1 / len(labels))
        if set(labels) == {"fair", "foul"}:
            is_fair = any(word in FAIR for word in tree.words)
            rows[:] = [0.9 if (label == "fair") == is_fair else 0.1 for label in labels]
        yield rows
