"""`lexitree demo`: label a sentence, then train and score a model on the embedded treebank."""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexitree.cli.console import messages, show_tree
from lexitree.cli.console import output as screen
from lexitree.installation import install_command
from lexitree.settings import MAX_COUNT, MAX_SEED

if TYPE_CHECKING:
    from lexitree.corpora.corpus import Corpus
    from lexitree.pipeline.predictor import Predictor
    from lexitree.tasks.classify.prepared_run import RunResult
    from lexitree.tasks.classify.recipe import Recipe
    from lexitree.trees.tree import Tree

NUM_DRAWN = 3
MAX_DRAWN_WORDS = 11
DEMO_EPOCHS = 10
SENTENCE = "Friendly staff, but the room was dirty and noisy."


def demo_command(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Keep the trained model in this directory.")
    ] = None,
    epochs: Annotated[
        int, typer.Option(help="Number of training epochs.", min=1, max=MAX_COUNT)
    ] = DEMO_EPOCHS,
    seed: Annotated[int, typer.Option(help="The random seed.", min=0, max=MAX_SEED)] = 1,
) -> None:
    """Label a sentence with a model of the package; then train BiConTree on the embedded reviews, score it, and draw
    trees with the head words that it has learned.

    It needs no download and takes about a minute. Without torch, it only labels the sentence.
    """
    from lexitree.corpora.named import load_corpus
    from lexitree.pipeline.loading import load

    messages.print('The model "sentiment", which comes with the package, labels a sentence:')
    show_tree(load("sentiment")(SENTENCE).sentences[0])
    # Who asks for the trained model gets it, or an error.
    if output is None and importlib.util.find_spec("torch") is None:
        messages.out(f"The rest of the demo trains a model, which needs torch: {install_command('train')}")
        return
    start = time.perf_counter()
    corpus = load_corpus("mini-reviews")
    predictor, result = _train_model(corpus, demo_recipe(epochs=epochs, seed=seed), output)
    _show_scores(result, time.perf_counter() - start)
    _draw_predictions(predictor, corpus)
    if output:
        tree = "(_ (_ Not) (_ (_ very) (_ good)))"
        screen.print(f"\nTry it: echo '{tree}' | lexitree predict {output} --format draw", soft_wrap=True)


def demo_recipe(*, epochs: int = DEMO_EPOCHS, seed: int = 1) -> Recipe:
    """The recipe of the demo: the paper's model at full size, with small batches for a small treebank."""
    from lexitree.tasks.classify.recipe import Recipe, TrainingConfig

    training = TrainingConfig(epochs=epochs, batch_size=10, seed=seed)
    return Recipe(corpus="mini-reviews", training=training)


def _train_model(corpus: Corpus, recipe: Recipe, output: Path | None) -> tuple[Predictor, RunResult]:
    from lexitree.cli.train_runs import ProgressObserver, TrainingProgress
    from lexitree.learning.run_folder import MODEL_FOLDER
    from lexitree.pipeline.loading import load
    from lexitree.saving.model_kinds import save_model
    from lexitree.tasks.classify.run import train

    messages.print(
        f"Training BiConTree on {len(corpus.train):,} sentences with a label on every phrase"
        f" ({sum(tree.num_nodes for tree in corpus.train):,} phrases) ..."
    )
    with tempfile.TemporaryDirectory() as scratch:
        with TrainingProgress(recipe.training.epochs) as bars:
            observer = ProgressObserver(bars, recipe.training.seed)
            result = train(recipe, scratch, corpus=corpus, observer=observer)
        predictor = load(Path(scratch) / MODEL_FOLDER, reads="trees")
        if output:
            save_model(predictor.model, output)
    return predictor, result


def _show_scores(result: RunResult, seconds: float) -> None:
    assert result.test is not None
    assert result.test.phrase is not None
    screen.print(
        f"\nOn {result.test.root.num_counted} unseen sentences: [bold]{result.test.root.accuracy:.1%}[/bold] of the"
        f" sentences and [bold]{result.test.phrase.accuracy:.1%}[/bold] of the phrases have the right one of five"
        f" labels ({seconds:.0f} s in all).\n"
    )


def _draw_predictions(predictor: Predictor, corpus: Corpus) -> None:
    for prediction in predictor.predict_all(_worth_drawing(corpus.test)):
        show_tree(prediction)
    screen.print(
        "Each line is a phrase: its label, the probability of that label, and ← its learned head word."
    )


def _worth_drawing(trees: Sequence[Tree]) -> list[Tree]:
    """A few short test sentences with a contrast or a negation, each with another label."""
    telling = [
        tree
        for tree in trees
        if 5 <= tree.num_words <= MAX_DRAWN_WORDS and {"but", "not", "n't", "never"} & set(tree.words)
    ]
    by_label = {tree.label: tree for tree in reversed(telling)}
    return list(by_label.values())[:NUM_DRAWN]
