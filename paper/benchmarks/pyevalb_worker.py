"""Run PYEVALB on gold and predicted trees and print its counts per sentence as JSON Lines.

Runs in PYEVALB's own environment, where this package is not.
"""

from __future__ import annotations

import json
import sys
from itertools import zip_longest

from PYEVALB import parser, scorer


def main() -> None:
    gold_file, guess_file = sys.argv[1:]
    judge = scorer.Scorer()
    with open(gold_file, encoding="utf-8") as gold, open(guess_file, encoding="utf-8") as guessed:
        for gold_line, guess_line in zip_longest(gold, guessed):
            print(json.dumps(count(judge, gold_line, guess_line)))


def count(judge: scorer.Scorer, gold: str, guess: str) -> list[int] | None:
    """Matched, gold and guessed brackets, crossing, words and right tags; None where the words differ."""
    trees = [parser.create_from_bracket_string(line) for line in (gold, guess)]
    try:
        result = judge.score_trees(*trees)
    except scorer.ScoreException:
        return None
    return [
        *(result.matched_brackets, result.gold_brackets, result.test_brackets),
        *(result.cross_brackets, result.words, result.correct_tags),
    ]


if __name__ == "__main__":
    main()
