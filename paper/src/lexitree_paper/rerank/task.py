"""A reranker as a training task: its batches, update, development scores and fingerprint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from lexitree.learning.checkpoint import checksum_arrays
from lexitree.learning.loop import BatchSize, EpochBatches
from lexitree.learning.optimizer import LazyAdam
from lexitree_paper.rerank.batches import batch_lists
from lexitree_paper.rerank.examples import ListExample
from lexitree_paper.rerank.model import RerankerModel
from lexitree_paper.rerank.recipe import RerankTraining
from lexitree_paper.rerank.scoring import choose_weight, score_lists


class RerankingTask:
    """Training a reranker on lists of candidates.

    After each epoch the weight of the parser's score is chosen on the development lists. Epochs are compared by the
    mean F1 over that weight and its neighbours, which depends less on chance than the F1 itself.

    Args:
        model: A fresh reranker.
        train: The lists that it is trained on; those of one candidate teach nothing and are skipped.
        dev: The lists that choose the best epoch.
        config: The training settings.
    """

    score_name = "mean_f1"

    def __init__(
        self,
        model: RerankerModel,
        train: Sequence[ListExample],
        dev: Sequence[ListExample],
        config: RerankTraining,
    ) -> None:
        self.model = model
        self.all_lists = [*train, *dev]
        self.train = [example for example in train if example.num_candidates > 1]
        self.dev = dev
        self.config = config
        self.optimizer = LazyAdam(model, config)
        self.losses = torch.zeros((), dtype=torch.float64, device=model.device)

    def fingerprint(self) -> dict[str, Any]:
        lexicon = self.model.lexicon
        arrays = (
            array
            for example in self.all_lists
            for array in (example.word_index, example.label_index, example.base_scores)
        )
        return {
            **self.config.fingerprint(),
            **self.model.config.as_dict(),
            "checksum of the word vectors": checksum_arrays(
                each.numpy(force=True) for each in (*lexicon.parameters(), *lexicon.buffers())
            ),
            "checksum of the lists": checksum_arrays(arrays),
        }

    def batches(self, rng: np.random.Generator) -> EpochBatches[list[ListExample]]:
        order: list[int] = rng.permutation(len(self.train)).tolist()
        size = self.config.batch_size
        chosen = [order[first : first + size] for first in range(0, len(order), size)]
        return EpochBatches(
            len(order), len(chosen), ([self.train[number] for number in numbers] for numbers in chosen)
        )

    def update(self, batch: list[ListExample]) -> BatchSize:
        model = self.model
        lists = batch_lists(batch, model.device, goes_down=model.goes_down, shares=model.shares_subtrees)
        self.optimizer.zero_grad()
        scores = lists.table(model(lists), 0.0) + self.config.base_weight * lists.base_scores
        loss = margin_loss(scores, lists.wrong, lists.is_there, self.config.margin).sum()
        (loss / lists.num_lists).backward()
        self.losses += loss.detach()
        self.optimizer.update(lists.num_lists, lists.up if lists.leaf_word is None else None)
        return BatchSize(len(batch), len(batch))

    def evaluate(self) -> dict[str, Any]:
        choice = choose_weight(list(score_lists(self.model, self.dev)))
        return {"dev_f1": choice.f1, "mean_f1": choice.mean_f1, "base_weight": choice.weight}


def margin_loss(
    scores: Float[Tensor, "lists ranks"],
    wrong: Float[Tensor, "lists ranks"],
    is_there: Bool[Tensor, "lists ranks"],
    margin: float,
) -> Float[Tensor, " lists"]:
    """By how much the worst offender of each list comes too close to its best candidate.

    The best candidate has the fewest wrong constituents; of several, the one with the highest score. Every other
    candidate should score lower by `margin` for each constituent that it has wrong beyond those. The loss is the
    largest shortfall, max over candidates of (score + margin * wrong) less that of the best, and at least 0.
    """
    nowhere = float("inf")
    fewest = wrong.masked_fill(~is_there, nowhere).amin(1, keepdim=True)
    best = scores.masked_fill(~is_there | (wrong > fewest), -nowhere).amax(1)
    offending = (scores + margin * (wrong - fewest)).masked_fill(~is_there, -nowhere).amax(1)
    return torch.clamp(offending - best, min=0.0)
