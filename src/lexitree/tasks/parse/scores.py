"""A parser and gold trees in, its scores out: labelled F1, tags, whole trees, and the best among k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lexitree.evaluation.bracket_oracle import oracle_score
from lexitree.evaluation.bracket_score import BracketScores, score_brackets
from lexitree.parsers.protocol import KBestParser
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


def score_parser(parser: KBestParser, trees: Sequence[Tree], *, k: int = 1) -> ParserScores:
    """Parse the words of gold trees and compare; punctuation is what the gold tags say. k > 1 adds the oracle."""
    sentences = [tree.words for tree in trees]
    if k == 1:
        return ParserScores(score_brackets(trees, parser.parse_all(sentences), tags="gold"))
    candidates = ([candidate.tree for candidate in found] for found in parser.parse_all_k_best(sentences, k))
    scores = oracle_score(trees, candidates, tags="gold")
    return ParserScores(scores.first, scores.best, k)
