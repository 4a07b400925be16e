"""A model and prepared lists in, a score for every candidate out, as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import torch

from lexitree.arrays import DoubleArray
from lexitree.errors import NotFiniteError
from lexitree.models.inference import in_use
from lexitree.ops.threads import one_thread
from lexitree.tasks.rerank.batches import batch_lists
from lexitree.tasks.rerank.examples import ListExample
from lexitree.tasks.rerank.interpolation import ScoredList
from lexitree.tasks.rerank.model import RerankerModel

LISTS_AT_ONCE = 256
"""So many lists are read ahead, to be sorted by length."""

MAX_BATCH_NODES = 12_000
"""A batch takes lists until it has this many nodes, so memory is bounded by the longest list."""


def score_lists(
    model: RerankerModel, examples: Iterable[ListExample], *, read_ahead: int = LISTS_AT_ONCE
) -> Iterator[ScoredList]:
    """What the model and the parser think of the candidates of each list, in the order of the lists."""
    waiting = iter(examples)
    with in_use(model):
        while window := list(islice(waiting, read_ahead)):
            yield from _score_window(model, window)


def _score_window(model: RerankerModel, window: Sequence[ListExample]) -> list[ScoredList]:
    """Lists of about one length go together: their levels are equally wide."""
    order = sorted(range(len(window)), key=lambda place: len(window[place].word_index))
    found: dict[int, DoubleArray] = {}
    for places in _group_by_nodes(order, [_num_nodes(model, example) for example in window]):
        found.update(zip(places, _score_batch(model, [window[place] for place in places]), strict=True))
    return [
        ScoredList(found[place], example.base_scores, example.counts) for place, example in enumerate(window)
    ]


def _num_nodes(model: RerankerModel, example: ListExample) -> int:
    shared = model.shares_subtrees and not model.goes_down
    return example.binary.forest.num_nodes if shared else len(example.label_index)


def _group_by_nodes(order: Sequence[int], sizes: Sequence[int]) -> Iterator[list[int]]:
    group: list[int] = []
    num_nodes = 0
    for place in order:
        if group and num_nodes + sizes[place] > MAX_BATCH_NODES:
            yield group
            group, num_nodes = [], 0
        group.append(place)
        num_nodes += sizes[place]
    if group:
        yield group


@torch.inference_mode()
@one_thread()
def _score_batch(model: RerankerModel, examples: Sequence[ListExample]) -> list[DoubleArray]:
    batch = batch_lists(examples, model.device, goes_down=model.goes_down, shares=model.shares_subtrees)
    scores = model(batch).double().cpu().numpy()
    if not np.isfinite(scores).all():
        raise NotFiniteError(
            "the reranker's scores are not numbers: its weights are not finite",
            remedy="Train it anew, with a smaller learning rate, or copy it again.",
        )
    ends = np.cumsum([example.num_candidates for example in examples])
    return np.split(scores, ends[:-1])
