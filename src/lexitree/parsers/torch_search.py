"""Runs the parser's network in torch and searches for the best trees; what is found leaves a GPU in one transfer."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexitree.arrays import FloatArray, IndexArray
from lexitree.ops.openmp import one_thread
from lexitree.ops.recordings import recordings_of
from lexitree.ops.transfers import leave
from lexitree.parsers.array_layers import find_pointers
from lexitree.parsers.best_trees import find_k_best_trees, search_trees
from lexitree.parsers.chart import log_partition, sum_labels
from lexitree.parsers.host_search import FEW_TREES
from lexitree.parsers.numbered_sentences import PaddedSentences
from lexitree.parsers.pointers import ChartOrder
from lexitree.parsers.sentence_batch import SentenceBatch, pack_sentences
from lexitree.parsers.span_network import FoundParses, RankedParses, RankedTree
from lexitree.pending import Pending

_MOST_RECORDED_WORDS = 100
"""A longer sentence keeps a GPU busy by itself, and its recording would take much memory."""


def _unpack_trees(num_words: int, num_trees: int, numbers: npt.NDArray[np.int32]) -> FoundParses:
    """What was found for a batch.

    Args:
        num_words: Number of words of the longest sentence.
        num_trees: Number of sentences.
        numbers: Whether the scores are finite, then the best tag of each word, then the pointers of each span.
    """
    tags, pointers = np.split(numbers[1:], [num_words * num_trees])
    return FoundParses(bool(numbers[0]), tags.reshape(num_words, num_trees), pointers)


def _search_on_host(lengths: IndexArray, numbers: FloatArray) -> FoundParses:
    """The trees of a few sentences, which the host finds with fewer calls.

    Args:
        lengths: Their numbers of words.
        numbers: The best tag of each word, then the scores of all spans, as floats.
    """
    num_words, num_trees = int(lengths.max()), len(lengths)
    tags, scores = np.split(numbers, [num_words * num_trees])
    scores = scores.reshape(ChartOrder(num_words).num_spans, num_trees, -1)
    with np.errstate(all="ignore"):
        is_finite = bool(np.isfinite(scores.sum()))
        pointers = find_pointers(scores, lengths).reshape(-1)
    return FoundParses(is_finite, tags.astype(np.int64).reshape(num_words, num_trees), pointers)


@torch.inference_mode()
@one_thread()
def start_search(network: nn.Module, batch: PaddedSentences, device: torch.device) -> Pending[FoundParses]:
    """Begin to find the best trees; on a GPU, the host does not wait for it."""
    lengths = batch.places - 2
    is_short = len(lengths) == 1 and batch.num_words <= _MOST_RECORDED_WORDS
    if is_short and device.type == "cuda" and not network.training:
        key = batch.rows.shape, torch.get_float32_matmul_precision()

        def work(buffer: Tensor) -> Tensor:
            return _score(network, SentenceBatch.on(buffer, batch))

        recordings = recordings_of(network, device)
        return recordings.run(key, work, [pack_sentences(batch)]).then(partial(_search_on_host, lengths))
    sent = SentenceBatch.send(batch, device)
    if len(lengths) <= FEW_TREES:
        return leave(_score(network, sent)).then(partial(_search_on_host, lengths))
    return leave(_search(network, sent)).then(partial(_unpack_trees, batch.num_words, len(lengths)))


def _score(network: nn.Module, batch: SentenceBatch) -> Float[Tensor, " numbers"]:
    scores, tag_scores = network(batch)
    return torch.cat([tag_scores.argmax(2).float().view(-1), scores.float().view(-1)])


def _search(network: nn.Module, batch: SentenceBatch) -> Int[Tensor, " numbers"]:
    scores, tag_scores = network(batch)
    is_finite = scores.sum().isfinite().int().view(1)
    pointers = search_trees(scores, batch.lengths)[0]
    return torch.cat([is_finite, tag_scores.argmax(2).int().view(-1), pointers.view(-1)])


@torch.no_grad()
@one_thread()
def rank_trees(network: nn.Module, batch: SentenceBatch, k: int) -> RankedParses:
    """Find the k most probable trees of each sentence, and the logs of their probabilities."""
    scores, tag_scores = network(batch)
    tags = tag_scores.argmax(2).numpy(force=True)
    if not bool(scores.sum().isfinite()):
        return RankedParses(False, tags, [])
    found = find_k_best_trees(scores, batch.lengths, k)
    totals = log_partition(*sum_labels(scores, batch.num_words), batch.lengths)
    chances = (found.scores - totals.cpu().unsqueeze(1)).numpy()
    lengths: list[int] = batch.lengths.numpy(force=True).tolist()
    ranked = [
        [
            RankedTree(found.spans(tree, length, rank), min(float(chances[tree, rank]), 0.0))
            for rank in range(found.num_trees(tree))
        ]
        for tree, length in enumerate(lengths)
    ]
    return RankedParses(True, tags, ranked)
