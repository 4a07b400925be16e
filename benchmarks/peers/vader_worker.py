"""Print VADER's compound score, from -1 to 1, of each text in a JSON list on standard input.

Runs in VADER's own environment, where this package is not.
"""

from __future__ import annotations

import json
import sys

from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer


def main() -> None:
    judge = SentimentIntensityAnalyzer()
    json.dump([judge.polarity_scores(text)["compound"] for text in json.load(sys.stdin)], sys.stdout)


if __name__ == "__main__":
    main()
