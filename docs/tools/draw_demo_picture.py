"""Draw docs/images/demo.svg: two test sentences as the demo's model labels them.

The model is the one of `lexitree demo`.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

import lexitree
from lexitree.cli.demo import demo_recipe

PICTURE = Path(__file__).resolve().parents[1] / "images" / "demo.svg"
MARKS = ({"but"}, {"not", "n't", "never"})
"""Each drawn sentence has one word of these, a contrast and then a negation: the first such one of the test split."""
NUM_WORDS = range(7, 11)
GAP = 4
"""Columns between the two trees."""


def main() -> int:
    corpus = lexitree.load_corpus("mini-reviews")
    with tempfile.TemporaryDirectory() as folder:
        lexitree.train(demo_recipe(), folder)
        predictor = lexitree.load(Path(folder) / "model")
    drawn = [draw(predictor.predict(tree)) for tree in choose_sentences(corpus)]
    table = Table.grid(padding=(0, GAP))
    table.add_row(*drawn)
    width = sum(text.__rich_measure__(Console(), Console(width=400).options).maximum + GAP for text in drawn)
    console = Console(record=True, width=width)
    console.print(table)
    picture = console.export_svg(title="lexitree predict")
    # The picture must look the same without the network: no font is loaded from elsewhere.
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n", encoding="utf-8")
    return 0


def choose_sentences(corpus: lexitree.Corpus) -> list[lexitree.Tree]:
    """The first test sentence for each of the marks."""
    return [
        next(tree for tree in corpus.test if marks & set(tree.words) and tree.num_words in NUM_WORDS)
        for marks in MARKS
    ]


def draw(prediction: lexitree.LabelledTree) -> Text:
    """The sentence, and below it the tree with its labels, probabilities and head words in colours."""
    lines = lexitree.draw_tree(prediction, color=True)
    sentence = Text(" ".join(prediction.source.words), style="bold")
    return Text("\n").join([sentence, Text(), *lines])


if __name__ == "__main__":
    sys.exit(main())
