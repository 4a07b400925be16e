"""A batch of gold trees in, the loss out, with some words made unknown on the way."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lexitree.parsers.inside import log_partition, sum_labels
from lexitree.parsers.network import ParserModel, SentenceBatch
from lexitree.tasks.parse.examples import NO_TAG, GoldBatch
from lexitree.tasks.parse.recipe import ParserTraining


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
