"""Scores a reranker's choices and compares them with the parser's own, the best and random ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lexitree.errors import ConfigError
from lexitree.evaluation.bracket_counts import SentenceCounts
from lexitree.evaluation.bracket_oracle import OracleScores, summarize_candidates
from lexitree.evaluation.bracket_score import BracketScores, bracket_bootstrap, sum_up
from lexitree.evaluation.significance import NUM_RESAMPLES, BootstrapResult
from lexitree_paper.rerank.examples import ListExample
from lexitree_paper.rerank.lists import CandidateList
from lexitree_paper.rerank.model import RerankerModel
from lexitree_paper.rerank.reranker import Reranker
from lexitree_paper.rerank.scoring import ScoredList, rank_places, score_lists


@dataclass(frozen=True, slots=True)
class RerankScores:
    """How well a reranker chooses; all scores are between 0 and 1."""

    chosen: BracketScores
    """The scores of the reranker's choices."""
    bounds: OracleScores
    """The scores of the best candidates, of the parser's own choices, and of random choices."""
    significance: BootstrapResult
    """The difference to the parser's own choices, tested by the paired bootstrap over sentences."""
    k: int
    """The length of the longest list."""

    @property
    def gap_closed(self) -> float:
        """The share of the gap from the parser's choices to the best candidates that is closed; 0 without a gap."""
        first, best = self.bounds.first.f1, self.bounds.best.f1
        return (self.chosen.f1 - first) / (best - first) if best > first else 0.0

    def summary(self) -> dict[str, Any]:
        """The main scores by name."""
        return {
            "sentences": self.chosen.overall.num_sentences,
            "k": self.k,
            "f1": self.chosen.f1,
            "precision": self.chosen.precision,
            "recall": self.chosen.recall,
            "complete_match": self.chosen.overall.complete_match,
            "first_f1": self.bounds.first.f1,
            "oracle_f1": self.bounds.best.f1,
            "random_f1": self.bounds.random.f1,
            "gap_closed": self.gap_closed,
            "p": self.significance.p_two_sided,
            "low": self.significance.low,
            "high": self.significance.high,
        }

    def as_dict(self) -> dict[str, Any]:
        """The main scores, and F1 by length and by label, each with the parser's for comparison."""
        return {**self.summary(), "by_length": self.by_length(), "by_label": self.by_label()}

    def by_length(self) -> list[dict[str, Any]]:
        """F1 by sentence length, in bins of ten words."""
        pairs = zip(self.chosen.by_length(), self.bounds.first.by_length(), strict=True)
        return [
            {
                "first": ours.first,
                "last": ours.last,
                "sentences": ours.score.num_sentences,
                "f1": ours.score.f1,
                "first_f1": theirs.score.f1,
            }
            for ours, theirs in pairs
        ]

    def by_label(self) -> list[dict[str, Any]]:
        """F1 of each label, most frequent first."""
        parsers = {score.label: score for score in self.bounds.first.by_label}
        return [
            {
                "label": score.label,
                "gold": score.gold,
                "f1": score.f1,
                "first_f1": parsers[score.label].f1 if score.label in parsers else 0.0,
            }
            for score in self.chosen.by_label
        ]


def score_choices(
    lists: Sequence[ScoredList], choices: Sequence[int], *, num_resamples: int = NUM_RESAMPLES
) -> RerankScores:
    """Score one choice from each list; every list must have a gold tree."""
    if not lists:
        raise ConfigError("there are no lists to be scored")
    counts = [_from_the_first(scored) for scored in lists]
    bounds = summarize_candidates(counts)
    chosen = sum_up(_counts(scored)[choice] for scored, choice in zip(lists, choices, strict=True))
    return RerankScores(
        chosen=chosen,
        bounds=bounds,
        significance=bracket_bootstrap(chosen, bounds.first, num_resamples=num_resamples),
        k=max(map(len, counts)),
    )


def score_model(model: RerankerModel, examples: Iterable[ListExample]) -> tuple[list[int], RerankScores]:
    """Choose from lists with gold trees; the places of the chosen candidates, and their scores."""
    scored = list(score_lists(model, examples))
    choices = [each.choose(model.config.base_weight) for each in scored]
    return choices, score_choices(scored, choices)


def score_reranker(reranker: Reranker, lists: Iterable[CandidateList]) -> RerankScores:
    """Rerank lists with gold trees and score what was chosen."""
    examples = (reranker.prepare(candidates, with_gold=True) for candidates in lists)
    return score_model(reranker.model, examples)[1]


def _counts(scored: ScoredList) -> tuple[SentenceCounts, ...]:
    if scored.counts is None:
        raise ConfigError("a list without a gold tree cannot be scored")
    return scored.counts.sentences


def _from_the_first(scored: ScoredList) -> list[SentenceCounts]:
    """The counts of all candidates, in the order of the parser's scores."""
    counts = _counts(scored)
    return [counts[place] for place in rank_places(scored.base_scores, scored.base_scores)]
