"""A planned run in; its corpus described, its progress shown, its scores printed: what `lexitree train` does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexitree.cli.console import messages, output, percent, show_skipped

if TYPE_CHECKING:
    from lexitree.corpora.corpus import Corpus
    from lexitree.learning.seeds import SeedSummary
    from lexitree.tasks.classify.recipe import Recipe


def train_one(recipe: Recipe, folder: Path, options: dict[str, Any], quiet: bool) -> None:
    """Train with one seed and print the scores of the best epoch."""
    from lexitree.cli.progress import TrainingProgress
    from lexitree.tasks.classify.run import load_recipe_corpus, train

    corpus = load_recipe_corpus(recipe)
    _describe(recipe, corpus, options, quiet)
    if quiet:
        result = train(recipe, folder, corpus=corpus, **options)
    else:
        with TrainingProgress(recipe.training.epochs) as progress:
            observer = progress.observer(recipe.training.seed)
            result = train(recipe, folder, corpus=corpus, observer=observer, **options)
    scores = result.as_dict()
    output.print(
        f"best epoch {scores['best_epoch']}:  dev root {percent(scores['dev_root'])}"
        f" phrase {percent(scores['dev_phrase'])}  |  test root {percent(scores['test_root'])}"
        f" phrase {percent(scores['test_phrase'])}  |  {scores['seconds']:.0f} s"
    )
    output.print(f"model: {folder / 'model'}", soft_wrap=True)


def _describe(recipe: Recipe, corpus: Corpus, options: dict[str, Any], quiet: bool) -> None:
    """What is trained on, what was inferred and where it runs; what was left out is said even to the quiet."""
    show_skipped(corpus.num_skipped, corpus.skipped)
    if quiet:
        return
    sizes = ", ".join(f"{len(trees):,} {split}" for split, trees in corpus.splits.items())
    messages.print(
        f"[bold]{corpus.name}[/bold]: {sizes} trees; {corpus.inference or corpus.supervision}", soft_wrap=True
    )
    from lexitree.models.catalog import operations_of
    from lexitree.ops.registry import describe_report, get_backend

    backend = get_backend(options["backend"], options["device"], training=True)
    runs = describe_report(backend.report(operations_of(recipe.model)))
    messages.print(f"running {runs} on {options['device']}, {options['precision']}")
    if recipe.teacher and not options["resume"]:
        messages.print(
            f"first, {recipe.teacher} labels the {len(corpus.train):,} training trees", soft_wrap=True
        )


def train_several(
    recipe: Recipe, seeds: list[int], folder: Path, jobs: int | None, options: dict[str, Any], quiet: bool
) -> None:
    """Train with several seeds in parallel and print a table of their scores."""
    from lexitree.cli.progress import TrainingProgress
    from lexitree.learning.seeds import train_seeds
    from lexitree.tasks.classify.run import load_recipe_corpus

    # Each process reads the corpus for itself; here it is read for the user to see, and to fail early.
    corpus = load_recipe_corpus(recipe)
    _describe(recipe, corpus, options, quiet)
    options = {**options, "corpus": corpus, "jobs": jobs}
    if quiet:
        summary = train_seeds(recipe, seeds, folder, **options)
    else:
        with TrainingProgress(recipe.training.epochs) as progress:
            summary = train_seeds(recipe, seeds, folder, on_event=progress.on_event, **options)
    _show_summary(summary, recipe.corpus, folder)


def _show_summary(summary: SeedSummary, corpus: str, folder: Path) -> None:
    from rich.table import Table

    from lexitree.learning.seeds import SCORES, seed_folder

    table = Table(title=f"{corpus}, {len(summary.results)} seeds")
    for column in ("seed", "epoch", *(score.replace("_", " ") for score in SCORES), "s"):
        table.add_column(column, justify="right")
    for seed, result in summary.results.items():
        scores = [percent(result[score]) for score in SCORES]
        table.add_row(str(seed), str(result["best_epoch"]), *scores, f"{result['seconds']:.0f}")
    spreads = [summary.spread(score) for score in SCORES]
    cells = [f"{percent(spread.mean)} ± {percent(spread.deviation)}" if spread else "–" for spread in spreads]
    table.add_section()
    table.add_row("mean", "", *cells, "")
    output.print(table)
    output.print(
        f"best model by development accuracy: {seed_folder(folder, summary.best_seed) / 'model'}",
        soft_wrap=True,
    )
