"""Training examples of a parser: gold trees in numbers, batches of them, and their loss."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexitree.arrays import IndexArray
from lexitree.ops.transfers import send
from lexitree.parsers.chart import log_partition, sum_labels
from lexitree.parsers.network import ParserModel
from lexitree.parsers.parser_config import ParserConfig
from lexitree.parsers.penn_spans import Derivation, derive
from lexitree.parsers.sentence_batch import SentenceBatch
from lexitree.parsers.word_features import WordNumbers
from lexitree.tasks.parse.data import Treebank
from lexitree.tasks.parse.recipe import ParserTraining
from lexitree.trees.flat_parses import SentenceParse
from lexitree.trees.tree import Tree


class WordDropper:
    """Makes unknown words of known ones, so that the parser learns what to do about words it has never seen."""

    def __init__(self, model: ParserModel, counts: Mapping[str, int], config: ParserTraining) -> None:
        words = model.features.trained_words.words
        seen = torch.tensor([math.inf, *(counts.get(word, math.inf) for word in words)], device=model.device)
        self.shares = config.word_dropout / (config.word_dropout + seen)
        self.vector_share = config.vector_dropout

    def __call__(self, batch: SentenceBatch) -> SentenceBatch:
        chance = torch.rand(batch.words.shape, device=batch.words.device)
        is_unknown = torch.rand(batch.words.shape, device=batch.words.device) < self.vector_share
        words = batch.words.masked_fill((chance < self.shares[batch.words]) | is_unknown, 0)
        return dataclasses.replace(batch, words=words, vectors=batch.vectors.masked_fill(is_unknown, 0))


def parser_loss(model: ParserModel, batch: GoldBatch, tag_weight: float = 1.0) -> Float[Tensor, ""]:
    """The negative log-likelihood of the gold trees among all trees, and of the gold tags, summed."""
    scores, tag_scores = model(batch.sentences)
    totals = log_partition(*sum_labels(scores, batch.sentences.num_words), batch.sentences.lengths)
    gold = scores.flatten().index_select(0, batch.entries)
    tags = nn.functional.cross_entropy(
        tag_scores.flatten(0, 1), batch.tags.flatten(), ignore_index=NO_TAG, reduction="sum"
    )
    return totals.sum() - gold.sum() + tag_weight * tags


NO_TAG = -100
"""The tag of what is no word; it counts for nothing."""


class ParserExample(NamedTuple):
    """A sentence with its gold tree, in numbers."""

    sentence: WordNumbers
    style: int
    derivation: Derivation
    tags: IndexArray  # [words]

    @property
    def num_words(self) -> int:
        return len(self.tags)


@dataclass(frozen=True, slots=True)
class GoldBatch:
    """A batch and its gold trees."""

    sentences: SentenceBatch
    entries: Int[Tensor, " entries"]
    """The places of the gold trees' spans and labels in the table of scores, as if it were a list."""
    tags: Int[Tensor, "words trees"]
    num_words: int
    """The number of words of all sentences together."""


def make_parser_examples(
    model: ParserModel, banks: Iterable[Treebank], max_length: int
) -> list[list[ParserExample]]:
    """The examples of each treebank; sentences that are too long are skipped."""
    return [
        [
            make_parser_example(model, tree, model.config.style_index(bank.style))
            for tree in bank.trees
            if tree.num_words <= max_length
        ]
        for bank in banks
    ]


def make_parser_example(model: ParserModel, tree: Tree, style: int) -> ParserExample:
    leaves: list[int] = tree.leaves.tolist()
    tags = [model.config.tag_numbers[tree.labels[leaf]] for leaf in leaves]
    return ParserExample(
        model.features.number(tree.words),
        style,
        derive(tree, model.config.label_numbers),
        np.array(tags, dtype=np.int64),
    )


def count_labels(trees: Iterable[Tree]) -> tuple[Counter[str], Counter[str]]:
    """How often each phrase label, chains joined, and each tag occurs."""
    labels: Counter[str] = Counter()
    tags: Counter[str] = Counter()
    for tree in trees:
        parse = SentenceParse.of(tree)
        numbers: list[int] = parse.phrases[:, 2].tolist()
        leaves: list[int] = tree.leaves.tolist()
        labels.update(parse.labels.phrases[number] for number in numbers)
        tags.update(tree.labels[leaf] for leaf in leaves)
    return labels, tags


def gold_batch(
    examples: Sequence[ParserExample],
    config: ParserConfig,
    device: torch.device | str = "cpu",
    styles: Sequence[int] | None = None,
) -> GoldBatch:
    """Examples side by side; `styles` may differ from their own."""
    if styles is None:
        styles = [example.style for example in examples]
    sentences = SentenceBatch.of([example.sentence for example in examples], styles, device)
    num_words = sentences.num_words
    tags = np.full((num_words, len(examples)), NO_TAG, dtype=np.int64)
    for column, example in enumerate(examples):
        tags[: example.num_words, column] = example.tags
    entries = torch.from_numpy(_entries(examples, num_words, len(config.labels) + 1))
    return GoldBatch(
        sentences,
        send(entries, device),
        send(torch.from_numpy(tags), device),
        sum(example.num_words for example in examples),
    )


def _entries(examples: Sequence[ParserExample], num_words: int, num_labels: int) -> IndexArray:
    """The number of each gold span and label in a table `[spans, trees, labels]` that is read as a list."""
    columns = np.repeat(np.arange(len(examples)), [len(example.derivation.starts) for example in examples])
    starts, widths, labels = (
        np.concatenate([getattr(example.derivation, name) for example in examples]).astype(np.int64)
        for name in ("starts", "widths", "labels")
    )
    # As in ChartOrder.row, for all spans at once.
    rows = (widths - 1) * num_words - (widths - 1) * (widths - 2) // 2 + starts
    return (rows * len(examples) + columns) * num_labels + labels


def draw_epoch(
    banks: Sequence[Sequence[ParserExample]], weights: Sequence[float], rng: np.random.Generator
) -> list[ParserExample]:
    """The examples of an epoch: each as often as its treebank's weight says, the odd share by chance."""
    drawn: list[ParserExample] = []
    for examples, weight in zip(banks, weights, strict=True):
        drawn.extend(list(examples) * int(weight))
        order: list[int] = rng.permutation(len(examples)).tolist()
        drawn.extend(examples[number] for number in order[: round((weight % 1) * len(examples))])
    return drawn


def length_batches(
    lengths: npt.NDArray[np.int64], batch_words: int, rng: np.random.Generator
) -> list[list[int]]:
    """Sentences of about one length together, about `batch_words` words a batch, batches in any order."""
    # A little noise, so that the same sentences do not meet in every epoch.
    order = np.argsort(lengths + rng.uniform(0, 1 + 0.1 * lengths), kind="stable")
    batches: list[list[int]] = []
    batch: list[int] = []
    longest = 0
    for number in order.tolist():
        longest = max(longest, int(lengths[number]))
        if batch and longest * (len(batch) + 1) > batch_words:
            batches.append(batch)
            batch, longest = [], int(lengths[number])
        batch.append(number)
    batches.extend([batch] if batch else [])
    return [batches[number] for number in rng.permutation(len(batches)).tolist()]
