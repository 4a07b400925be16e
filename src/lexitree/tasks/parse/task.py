"""A parser as a training task: its batches, update, fingerprint and scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from lexitree.evaluation.bracket_oracle import oracle_score
from lexitree.evaluation.bracket_score import BracketScores, score_brackets
from lexitree.learning.checkpoint import checksum_arrays
from lexitree.learning.loop import BatchSize, EpochBatches
from lexitree.learning.optimizer import Adam
from lexitree.lexicon.vocabulary import count_words
from lexitree.parsers.network import ParserModel
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.parser_config import GENERIC_STYLE
from lexitree.parsers.protocol import KBestParser
from lexitree.parsers.span_network import SpanNetwork
from lexitree.tasks.parse.data import ParserData, Treebank
from lexitree.tasks.parse.examples import (
    GoldBatch,
    ParserExample,
    WordDropper,
    draw_epoch,
    gold_batch,
    length_batches,
    make_parser_examples,
    parser_loss,
)
from lexitree.tasks.parse.recipe import ParserTraining
from lexitree.trees.tree import Tree

ORACLE_K = 8


@dataclass(frozen=True, slots=True)
class ParserScores:
    """The scores of a parser on a treebank; shares of 1."""

    brackets: BracketScores
    oracle: BracketScores | None = None
    """As if the best of the k candidates of each sentence were always chosen."""
    k: int = 1

    def as_dict(self) -> dict[str, Any]:
        overall = self.brackets.overall
        figures: dict[str, Any] = {
            "sentences": overall.num_sentences,
            "f1": overall.f1,
            "precision": overall.precision,
            "recall": overall.recall,
            "tags": overall.tagging_accuracy,
            "complete_match": overall.complete_match,
        }
        if self.oracle is not None:
            figures |= {"k": self.k, "oracle_f1": self.oracle.overall.f1}
        return figures


def score_parser(parser: KBestParser, trees: Sequence[Tree], *, k: int = 1) -> ParserScores:
    """Parse the words of gold trees and compare.

    Args:
        parser: The parser.
        trees: Gold trees; their tags decide what is punctuation.
        k: With more than 1, the best of k candidates is scored as well.
    """
    sentences = [tree.words for tree in trees]
    if k == 1:
        return ParserScores(score_brackets(trees, parser.parse_all(sentences), tags="gold"))
    candidates = ([candidate.tree for candidate in found] for found in parser.parse_all_k_best(sentences, k))
    scores = oracle_score(trees, candidates, tags="gold")
    return ParserScores(scores.first, scores.best, k)


def score_bank(model: SpanNetwork, bank: Treebank, *, k: int = 1, generic: bool = False) -> ParserScores:
    """Score a treebank in its own style if the parser knows it, else (or if `generic`) in the generic one."""
    is_known = bank.style in model.config.styles and not generic
    parser = NeuralParser(model, style=bank.style if is_known else GENERIC_STYLE)
    return score_parser(parser, bank.trees, k=k)


def score_tests(parser: NeuralParser, banks: Sequence[Treebank]) -> dict[str, dict[str, Any]]:
    """Score test treebanks, with the best of 8 candidates, each in its own style and in the generic one."""
    return {
        bank.name: {
            "style": bank.style if bank.style in parser.model.config.styles else GENERIC_STYLE,
            **score_bank(parser.model, bank, k=ORACLE_K).as_dict(),
            "generic_f1": score_bank(parser.model, bank, generic=True).as_dict()["f1"],
        }
        for bank in banks
    }


class ParserTask:
    """Training a parser on treebanks; epochs are compared by the mean F1 of the development treebanks.

    Args:
        model: A fresh parser.
        banks: The treebanks; each development treebank is scored in its own style.
        config: The training settings.
    """

    score_name = "dev_f1"

    def __init__(self, model: ParserModel, banks: ParserData, config: ParserTraining) -> None:
        self.model = model
        self.config = config
        self.dev = banks.dev
        self.banks = make_parser_examples(model, banks.train, config.max_length)
        self.weights = [bank.weight for bank in banks.train]
        counts = count_words(tree for bank in banks.train for tree in bank.trees)
        self.drop_words = WordDropper(model, counts, config)
        self.optimizer = Adam(model, config, fused=model.device.type == "cuda")
        self.losses = torch.zeros((), dtype=torch.float64, device=model.device)

    def fingerprint(self) -> dict[str, Any]:
        dev = [tree for bank in self.dev for tree in bank.trees]
        return {
            **self.config.fingerprint(),
            **self.model.config.as_dict(),
            "weights of the treebanks": self.weights,
            "checksum of the word vectors": checksum_arrays([self.model.vectors.numpy(force=True)]),
            "checksum of the trees": checksum_arrays(
                array for bank in self.banks for example in bank for array in _arrays(example)
            ),
            "checksum of the development trees": checksum_arrays(
                np.frombuffer("\n".join((*tree.labels, *tree.words)).encode(), dtype=np.uint8) for tree in dev
            ),
        }

    def batches(self, rng: np.random.Generator) -> EpochBatches[GoldBatch]:
        examples = draw_epoch(self.banks, self.weights, rng)
        lengths = np.array([example.num_words for example in examples], dtype=np.int64)
        chosen = length_batches(lengths, self.config.batch_words, rng)

        def make() -> Iterator[GoldBatch]:
            for numbers in chosen:
                # The longest first, as LSTMs want them.
                ordered = sorted(numbers, key=lambda index: -lengths[index])
                yield self._make_batch([examples[index] for index in ordered], rng)

        return EpochBatches(len(examples), len(chosen), make())

    def _make_batch(self, examples: Sequence[ParserExample], rng: np.random.Generator) -> GoldBatch:
        """A batch in which some sentences are of no style in particular, and some words are unknown."""
        is_generic = rng.random(len(examples)) < self.config.style_dropout
        styles = [
            0 if generic else example.style
            for example, generic in zip(examples, is_generic.tolist(), strict=True)
        ]
        batch = gold_batch(examples, self.model.config, self.model.device, styles)
        return dataclasses.replace(batch, sentences=self.drop_words(batch.sentences))

    def update(self, batch: GoldBatch) -> BatchSize:
        self.optimizer.zero_grad()
        loss = parser_loss(self.model, batch, self.config.tag_weight)
        (loss / batch.num_words).backward()
        self.losses += loss.detach()
        num_trees = len(batch.sentences.lengths)
        self.optimizer.update(num_trees)
        return BatchSize(num_trees, batch.num_words)

    def evaluate(self) -> dict[str, Any]:
        dev: Mapping[str, float] = {
            bank.name: score_bank(self.model, bank).as_dict()["f1"] for bank in self.dev
        }
        return {"dev_f1": sum(dev.values()) / len(dev), "dev": dev}


def _arrays(example: ParserExample) -> Iterator[npt.NDArray[Any]]:
    """Everything about an example that a run depends on."""
    derivation = example.derivation
    yield from (derivation.starts, derivation.widths, derivation.labels, example.tags)
    yield from (np.asarray(part) for part in example.sentence)
    yield np.array([example.style])
