"""`lexitree demo`: nothing in; a model trained on the embedded treebank, its scores and drawn trees out."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lexitree.trees.tree import Tree

NUM_DRAWN = 3
MAX_DRAWN_WORDS = 11


def demo_command(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Keep the trained model in this directory.")
    ] = None,
    epochs: Annotated[int, typer.Option(help="How long to train.", min=1)] = 8,
    seed: Annotated[int, typer.Option(help="The random seed.", min=0)] = 1,
) -> None:
    """Train BiConTree on the embedded reviews, score it, and draw trees with the head words it has learned.

    Needs no download and takes about a minute.
    """
    from lexitree.cli.console import messages
    from lexitree.cli.console import output as screen
    from lexitree.cli.predict import draw_prediction
    from lexitree.cli.progress import TrainingProgress
    from lexitree.corpora import load_corpus
    from lexitree.models.pretrained import from_pretrained, save_pretrained
    from lexitree.predict import Predictor
    from lexitree.training.config import TrainingConfig
    from lexitree.training.recipe import Recipe
    from lexitree.training.run import train

    start = time.perf_counter()
    corpus = load_corpus("mini-reviews")
    recipe = Recipe(corpus="mini-reviews", training=TrainingConfig(epochs=epochs, seed=seed))
    messages.print(
        f"Training BiConTree on {len(corpus.train):,} sentences with a label on every phrase"
        f" ({sum(tree.num_nodes for tree in corpus.train):,} phrases) ..."
    )
    with tempfile.TemporaryDirectory() as scratch:
        with TrainingProgress(epochs) as progress:
            result = train(recipe, scratch, corpus=corpus, observer=progress.observer(seed))
        model = from_pretrained(Path(scratch) / "model")
        if output:
            save_pretrained(model, output, training={"corpus": corpus.name, **recipe.training.as_dict()})
    assert result.test is not None
    assert result.test.phrase is not None
    screen.print(
        f"\nOn {result.test.root.num_counted} unseen sentences: [bold]{result.test.root.accuracy:.1%}[/bold] of the"
        f" sentences and [bold]{result.test.phrase.accuracy:.1%}[/bold] of the phrases have the right one of five"
        f" labels ({time.perf_counter() - start:.0f} s in all).\n"
    )
    predictor = Predictor(model)
    names = {label: corpus.label_name(label) for label in corpus.labels}
    for tree in _worth_drawing(corpus.test):
        draw_prediction(predictor.predict(tree), names)
    screen.print(
        "Each line is a phrase: its label, the label's probability, and ← the head word it has learned."
    )
    if output:
        screen.print(
            f"\nTry it: echo '(_ (_ Not) (_ (_ very) (_ good)))' | lexitree predict {output}", soft_wrap=True
        )


def _worth_drawing(trees: Sequence[Tree]) -> list[Tree]:
    """A few short test sentences in which a contrast or a negation decides."""
    telling = [
        tree
        for tree in trees
        if 5 <= tree.num_words <= MAX_DRAWN_WORDS and {"but", "not", "n't", "never"} & set(tree.words)
    ]
    by_label = {tree.label: tree for tree in reversed(telling)}
    return list(by_label.values())[:NUM_DRAWN]
