"""How well a parser does on treebanks: labelled F1, tags, whole trees, and the best of k candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lexitree.evaluation.bracket_oracle import oracle_score
from lexitree.evaluation.bracket_score import BracketScores, score_brackets
from lexitree.parsers.network import ParserModel
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.parser_config import GENERIC_STYLE
from lexitree.parsers.protocol import KBestParser
from lexitree.tasks.parse.data import Treebank
from lexitree.trees.tree import Tree

ORACLE_K = 8


@dataclass(frozen=True, slots=True)
class ParserScores:
    """The scores of a parser on a treebank; shares of 1."""

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
    """Parse the words of gold trees and compare.

    Args:
        parser: The parser.
        trees: Gold trees; their tags decide what is punctuation.
        k: With more than 1, the best of k candidates is scored as well.
    """
    sentences = [tree.words for tree in trees]
    if k == 1:
        return ParserScores(score_brackets(trees, parser.parse_all(sentences), tags="gold"))
    candidates = ([candidate.tree for candidate in found] for found in parser.parse_all_k_best(sentences, k))
    scores = oracle_score(trees, candidates, tags="gold")
    return ParserScores(scores.first, scores.best, k)


def score_bank(model: ParserModel, bank: Treebank, *, k: int = 1, generic: bool = False) -> ParserScores:
    """Score a treebank in its own style if the parser knows it, else (or if `generic`) in the generic one."""
    is_known = bank.style in model.config.styles and not generic
    parser = NeuralParser(model, style=bank.style if is_known else GENERIC_STYLE)
    return score_parser(parser, bank.trees, k=k)


def score_tests(parser: NeuralParser, banks: Sequence[Treebank]) -> dict[str, dict[str, Any]]:
    """Score test treebanks, with the best of 8 candidates, each in its own style and in the generic one."""
    return {
        bank.name: {
            "style": bank.style if bank.style in parser.model.config.styles else GENERIC_STYLE,
            **score_bank(parser.model, bank, k=ORACLE_K).as_dict(),
            "generic_f1": score_bank(parser.model, bank, generic=True).as_dict()["f1"],
        }
        for bank in banks
    }
