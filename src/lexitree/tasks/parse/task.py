"""A parser as a training task: its batches, update, development scores and fingerprint."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from lexitree.learning.checkpoint import checksum
from lexitree.learning.loop import BatchSize, EpochBatches
from lexitree.learning.optimizer import Adam
from lexitree.lexicon.vocabulary import count_words
from lexitree.parsers.network import ParserModel
from lexitree.tasks.parse.data import ParserData
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
from lexitree.tasks.parse.scores import score_bank


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
            "checksum of the word vectors": checksum([self.model.vectors.numpy(force=True)]),
            "checksum of the trees": checksum(
                array for bank in self.banks for example in bank for array in _arrays(example)
            ),
            "checksum of the development trees": checksum(
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
