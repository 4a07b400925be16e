"""A parser and gold trees in, its scores out: labelled F1, tags, whole trees, and the best among k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexitree.evaluation.bracket_score import BracketScores, score_brackets
from lexitree.parsing.long_sentences import Candidate
from lexitree.parsing.neural import NeuralParser
from lexitree.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class ParserScores:
    """How well a parser does on a treebank; shares of 1."""

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


def score_parser(parser: NeuralParser, trees: Sequence[Tree], *, k: int = 1) -> ParserScores:
    """Parse the words of gold trees and compare; punctuation is what the gold tags say. k > 1 adds the oracle."""
    sentences = [tree.words for tree in trees]
    if k == 1:
        return ParserScores(score_brackets(trees, parser.parse_all(sentences), tags="gold"))
    candidates = list(parser.parse_all_k_best(sentences, k))
    best = score_brackets(trees, [found[0].tree for found in candidates], tags="gold")
    return ParserScores(best, score_oracle(trees, candidates), k)


def score_oracle(trees: Sequence[Tree], candidates: Sequence[Sequence[Candidate]]) -> BracketScores:
    """The scores of the best candidate of each sentence, by its own F1; of equal ones the most probable."""
    num_ranks = max(map(len, candidates))
    shares: list[list[float]] = []
    for rank in range(num_ranks):
        # Where there are fewer candidates, the last one stands in for those that are missing.
        guesses = [found[min(rank, len(found) - 1)].tree for found in candidates]
        table = score_brackets(trees, guesses, tags="gold").sentences
        shares.append((2 * table.matched / np.maximum(table.gold + table.guessed, 1)).tolist())
    chosen: list[int] = np.array(shares).argmax(0).tolist()
    guesses = [found[min(rank, len(found) - 1)].tree for found, rank in zip(candidates, chosen, strict=True)]
    return score_brackets(trees, guesses, tags="gold")
