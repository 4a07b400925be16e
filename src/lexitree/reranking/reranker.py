"""Lists of candidates in, the same lists in a better order out: what a user calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from lexitree.reranking.examples import ListExample, binarize_list, make_list_example
from lexitree.reranking.interpolation import FloatArray, rank_places
from lexitree.reranking.lists import CandidateList, ScoredTree
from lexitree.reranking.model import RerankerModel
from lexitree.reranking.scoring import LISTS_AT_ONCE, score_lists
from lexitree.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class RankedList:
    """A list with the order in which a reranker likes its candidates."""

    source: CandidateList
    order: tuple[int, ...]
    """The places of the candidates in the list, from the best on."""
    tree_scores: FloatArray  # [candidates]
    """What the tree model thinks of them, in the order of the list: sums of log probabilities of labels."""
    totals: FloatArray  # [candidates]
    """The same and the parser's scores, with their weight."""

    @property
    def best(self) -> Tree:
        """The chosen tree, as it came."""
        return self.source.candidates[self.order[0]].tree

    @property
    def candidates(self) -> tuple[ScoredTree, ...]:
        """All candidates from the best on, with their totals as scores."""
        return tuple(
            ScoredTree(self.source.candidates[place].tree, float(self.totals[place])) for place in self.order
        )


class Reranker:
    """A trained reranker: a tree model, and how much the parser's own scores count beside it."""

    def __init__(self, model: RerankerModel) -> None:
        self.model = model.eval()
        self.training_record: dict[str, Any] = {}
        """What is known of its training (data, scores, settings), for a reranker that was loaded."""

    @property
    def base_weight(self) -> float:
        return self.model.config.base_weight

    def prepare(self, candidates: CandidateList) -> ListExample:
        """A list as the model reads it."""
        binary = binarize_list(candidates, self.model.config.binarization)
        return make_list_example(binary, self.model.lexicon, self.model.config.labels)

    def rerank(self, candidates: CandidateList) -> RankedList:
        """One list, from the best candidate on."""
        return next(self.rerank_all([candidates]))

    def rerank_all(
        self, lists: Iterable[CandidateList], *, read_ahead: int = LISTS_AT_ONCE
    ) -> Iterator[RankedList]:
        """Each list from its best candidate on, as a stream; `read_ahead` lists are held at a time.

        The order in which candidates come makes no difference, nor do other lists. A list of one stays as it is.
        """
        waiting = iter(lists)
        while window := list(islice(waiting, read_ahead)):
            # A gold tree is of no concern here, and takes longer to compare than to rerank.
            examples = [self.prepare(CandidateList(each.candidates, None, each.place)) for each in window]
            for source, scored in zip(window, score_lists(self.model, examples), strict=True):
                yield self._rank(source, scored.tree_scores, scored.base_scores)

    def _rank(self, source: CandidateList, tree_scores: FloatArray, base_scores: FloatArray) -> RankedList:
        totals = tree_scores + self.base_weight * base_scores
        return RankedList(source, tuple(rank_places(totals, base_scores)), tree_scores, totals)
