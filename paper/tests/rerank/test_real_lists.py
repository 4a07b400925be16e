"""The lists of the Stanford parser, where they are at hand: all of them are read, and their bounds are known."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from lexitree_paper.rerank.data import cut_folds, read_prepared
from lexitree_paper.rerank.scores import score_choices
from lexitree_paper.rerank.scoring import ScoredList

FOLDER = Path(os.environ.get("LEXITREE_DATA", "nowhere")) / "kbest"

BOUNDS = {
    "wsj00": (1915, 85.83, 92.64, 82.56),
    "mctb_dialogue": (998, 72.89, 80.90, 69.21),
    "mctb_forum": (991, 71.09, 78.30, 69.35),
    "mctb_law": (1000, 74.04, 81.83, 71.89),
    "mctb_review": (997, 68.32, 76.98, 64.58),
}
"""Sentences, F1 of the parser's own choice, of the oracle, and of a candidate at random."""


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.is_dir(), reason="LEXITREE_DATA does not lead to the candidate lists")
@pytest.mark.parametrize("name", BOUNDS)
def test_bounds(name: str) -> None:
    lists = read_prepared([str(FOLDER / f"{name}.jsonl")], "head")
    base = [np.array([candidate.score for candidate in each.source.candidates]) for each in lists]
    scored = [ScoredList(np.zeros_like(one), one, each.counts) for one, each in zip(base, lists, strict=True)]
    scores = score_choices(scored, [each.source.first for each in lists], num_resamples=1)
    found = (scores.chosen.f1, scores.bounds.best.f1, scores.bounds.random.f1)
    assert (len(lists), *(round(100 * f1, 2) for f1 in found)) == BOUNDS[name]
    # Most subtrees are shared: eight candidates have about twice as many as one of them.
    shared = sum(each.forest.num_nodes for each in lists)
    assert sum(len(each.packed.labels) for each in lists) > 3.5 * shared
    assert sum(len(fold.test) for fold in cut_folds(lists, 5, dev_share=0.1)) == len(lists)
