"""A parser that gives its k best trees and a reranker in, one parser out: the words of sentences in, trees out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lexitree.parsing.long_sentences import Candidate
from lexitree.parsing.parser import KBestParser
from lexitree.reranking.lists import CandidateList, ScoredTree
from lexitree.reranking.reranker import Reranker
from lexitree.trees.tree import Tree

NUM_CANDIDATES = 8
"""How many trees are reranked, as in the paper."""


class RerankedParser:
    """Parses into several trees each and takes the one that the reranker likes best."""

    def __init__(self, parser: KBestParser, reranker: Reranker, num_candidates: int = NUM_CANDIDATES) -> None:
        self.parser = parser
        self.reranker = reranker
        self.num_candidates = num_candidates

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """The best tree of each sentence, in their order, as a stream."""
        return (candidates[0].tree for candidates in self.parse_all_k_best(sentences, 1))

    def parse_all_k_best(self, sentences: Iterable[Sequence[str]], k: int) -> Iterator[list[Candidate]]:
        """The k best trees of each sentence by the reranker, out of at least as many of the parser's as it reranks.

        The log probabilities are still the parser's, so they need not fall.
        """
        found = self.parser.parse_all_k_best(sentences, max(k, self.num_candidates))
        lists = (CandidateList(tuple(ScoredTree(*candidate) for candidate in each)) for each in found)
        for ranked in self.reranker.rerank_all(lists):
            yield [Candidate(*ranked.source.candidates[place]) for place in ranked.order[:k]]
