"""Print the scores, from -1 to 1, that VADER, TextBlob and AFINN give to each text in a JSON list on standard input.

Runs in an environment of its own, where this package is not.
"""

from __future__ import annotations

import json
import sys

from afinn import Afinn
from textblob import TextBlob
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer


def main() -> None:
    texts = json.load(sys.stdin)
    vader = SentimentIntensityAnalyzer()
    afinn = Afinn(emoticons=True)
    scores = {
        "VADER": [vader.polarity_scores(text)["compound"] for text in texts],
        "TextBlob": [TextBlob(text).sentiment.polarity for text in texts],
        "AFINN": [normalize(afinn.score(text)) for text in texts],
    }
    json.dump(scores, sys.stdout)


def normalize(total: float) -> float:
    """A sum over words as a score from -1 to 1, in the way of VADER."""
    return total / (total**2 + 15) ** 0.5


if __name__ == "__main__":
    main()
