"""Runs the parser's network in torch and searches for the best trees; what is found leaves a GPU in one transfer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from lexitree.ops.openmp import one_thread
from lexitree.parsers.best_trees import best_labels, find_k_best_trees, search_trees
from lexitree.parsers.chart import log_partition, sum_labels
from lexitree.parsers.host_search import FEW_TREES, search_on_host
from lexitree.parsers.native_network import runs_natively
from lexitree.parsers.penn_spans import NO_PHRASE
from lexitree.parsers.sentence_batch import SentenceBatch
from lexitree.parsers.span_network import FoundParses, RankedParses, RankedTree


class TorchSearch(NamedTuple):
    """What was found for a batch, on its way to the host."""

    num_words: int
    """Number of words of the longest sentence."""
    num_trees: int
    packed: Tensor
    """Whether the scores are finite, then the best tag of each word, then the pointers of each span. Of a few trees,
    instead of the pointers, what they are found by: each span's best label, and two scores as the bits of floats."""
    arrived: torch.cuda.Event | None
    """When the numbers are on the host; None if they have been there from the start."""
    has_pointers: bool

    def finish(self) -> FoundParses:
        if self.arrived is not None:
            self.arrived.synchronize()
        numbers: npt.NDArray[np.int32] = self.packed.numpy()
        tags, rest = np.split(numbers[1:], [self.num_words * self.num_trees])
        if not self.has_pointers:
            labels, phrase, part = rest.reshape(3, -1, self.num_trees)
            rest = search_on_host(phrase.view(np.float32), part.view(np.float32), labels).reshape(-1)
        return FoundParses(bool(numbers[0]), tags.reshape(self.num_words, self.num_trees), rest)


@torch.inference_mode()
@one_thread()
def start_search(network: nn.Module, batch: SentenceBatch) -> TorchSearch:
    """Begin to find the best trees; on a GPU, the host does not wait for it."""
    scores, tag_scores = network(batch)
    num_trees = len(batch.lengths)
    parts = [scores.sum().isfinite().int().view(1), tag_scores.argmax(2).int().view(-1)]
    has_pointers = num_trees > FEW_TREES or runs_natively(scores)
    if not has_pointers:
        phrase_scores, labels = best_labels(scores)
        chart = torch.stack([phrase_scores, scores[:, :, NO_PHRASE]]).float()
        parts += [labels.int().view(-1), chart.view(torch.int32).view(-1)]
    else:
        parts.append(search_trees(scores, batch.lengths)[0].view(-1))
    packed = torch.cat(parts)
    if packed.device.type != "cuda":
        return TorchSearch(batch.num_words, num_trees, packed.cpu(), None, has_pointers)
    on_host = torch.empty(packed.shape, dtype=packed.dtype, pin_memory=True)
    on_host.copy_(packed, non_blocking=True)
    arrived = torch.cuda.Event()
    arrived.record(torch.cuda.current_stream(packed.device))
    return TorchSearch(batch.num_words, num_trees, on_host, arrived, has_pointers)


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
