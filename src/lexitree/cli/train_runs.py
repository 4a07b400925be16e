"""Running the training commands: progress on the screen, then scores and where the model is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexitree.cli.console import messages, output, percent, show_skipped

if TYPE_CHECKING:
    from lexitree.corpora.corpus import Corpus
    from lexitree.learning.seeds import SeedSummary
    from lexitree.tasks.classify.recipe import Recipe
    from lexitree.tasks.classify.run import RunResult
    from lexitree.tasks.parse.recipe import ParserRecipe
    from lexitree.tasks.parse.run import ParserRun
    from lexitree.tasks.rerank.recipe import RerankRecipe
    from lexitree.tasks.rerank.run import RerankRun


def run_classifier(
    recipe: Recipe, seeds: Sequence[int], folder: Path, *, jobs: int | None, quiet: bool, **options: Any
) -> None:
    """Train a classifier with one seed, or with several in parallel, and print its scores."""
    from lexitree.cli.progress import show_progress
    from lexitree.tasks.classify.building import load_recipe_corpus
    from lexitree.tasks.classify.run import train, train_seeds

    # With several seeds every process reads the corpus for itself: here it is read to be shown, and to fail early.
    corpus = load_recipe_corpus(recipe)
    _describe_corpus(recipe, corpus, options, quiet)
    bars = show_progress(recipe.training.epochs, "trees", quiet=quiet)
    if len(seeds) == 1:
        with bars as progress:
            observer = progress.observer(f"seed {seeds[0]}") if progress else None
            run = train(recipe.with_seed(seeds[0]), folder, corpus=corpus, observer=observer, **options)
        _show_classifier(run)
    else:
        options |= {"corpus": corpus, "jobs": jobs}
        with bars as progress:
            on_event = progress.on_event if progress else None
            summary = train_seeds(recipe, seeds, folder, on_event=on_event, **options)
        _show_summary(summary, recipe.corpus, folder)


def _describe_corpus(recipe: Recipe, corpus: Corpus, options: dict[str, Any], quiet: bool) -> None:
    """Say what is trained on and where it runs; skipped trees are reported even to the quiet."""
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


def _show_classifier(run: RunResult) -> None:
    from lexitree.learning.run_folder import MODEL_FOLDER

    scores = run.scores()
    output.print(
        f"best epoch {run.best.epoch}:  dev root {percent(scores['dev_root'])}"
        f" phrase {percent(scores['dev_phrase'])}  |  test root {percent(scores['test_root'])}"
        f" phrase {percent(scores['test_phrase'])}  |  {run.training.seconds:.0f} s"
    )
    output.print(f"model: {run.folder / MODEL_FOLDER}", soft_wrap=True)


def _show_summary(summary: SeedSummary, title: str, folder: Path) -> None:
    """A table of the scores of several seeds."""
    from rich.table import Table

    from lexitree.learning.run_folder import MODEL_FOLDER, seed_folder

    table = Table(title=f"{title}, {len(summary.results)} seeds")
    for column in ("seed", "epoch", *(score.replace("_", " ") for score in summary.scores), "s"):
        table.add_column(column, justify="right")
    for seed, result in summary.results.items():
        scores = [percent(result[score]) for score in summary.scores]
        table.add_row(str(seed), str(result["best_epoch"]), *scores, f"{result['seconds']:.0f}")
    spreads = [summary.spread(score) for score in summary.scores]
    cells = [f"{percent(spread.mean)} ± {percent(spread.deviation)}" if spread else "–" for spread in spreads]
    table.add_section()
    table.add_row("mean", "", *cells, "")
    output.print(table)
    best = seed_folder(folder, summary.best_seed) / MODEL_FOLDER
    output.print(f"best model by development score: {best}", soft_wrap=True)


def run_parser(recipe: ParserRecipe, folder: Path, *, quiet: bool, **options: Any) -> None:
    """Train a parser and print its scores."""
    from lexitree.cli.progress import show_progress
    from lexitree.tasks.parse.run import train_parser

    with show_progress(recipe.training.epochs, "trees", quiet=quiet) as progress:
        observer = progress.observer(f"seed {recipe.training.seed}") if progress else None
        run = train_parser(recipe, folder, observer=observer, **options)
    _show_parser(run)


def _show_parser(run: ParserRun) -> None:
    from rich.table import Table

    from lexitree.learning.run_folder import MODEL_FOLDER

    best, num_epochs = run.best, len(run.training.history)
    output.print(f"best epoch {best.epoch} of {num_epochs}:  dev F1 {percent(best.scores['dev_f1'])}")
    if run.test:
        table = Table()
        for column in ("test treebank", "style", "F1", "generic F1", "tags", "complete", "best of 8"):
            table.add_column(column)
        for name, scores in run.test.items():
            kinds = ("f1", "generic_f1", "tags", "complete_match", "oracle_f1")
            table.add_row(name, scores["style"] or "generic", *(percent(scores[kind]) for kind in kinds))
        output.print(table)
    output.print(f"parser: {run.folder / MODEL_FOLDER}", soft_wrap=True)


def run_reranker(
    recipe: RerankRecipe, seeds: Sequence[int], folder: Path, *, jobs: int, quiet: bool, **options: Any
) -> None:
    """Train a reranker with one seed, or with several in parallel, and print its scores."""
    from lexitree.cli.progress import show_progress
    from lexitree.learning.seeds import run_seeds
    from lexitree.tasks.rerank.data import load_rerank_data
    from lexitree.tasks.rerank.run import SCORES, train_reranker
    from lexitree.trees.brackets import ReadReport

    report = ReadReport()
    lists = load_rerank_data(recipe, options["data"], on_error=options["on_error"], report=report)
    show_skipped(report.num_errors, report.errors, what="lists")
    bars = show_progress(recipe.training.epochs, "lists", quiet=quiet)
    if len(seeds) == 1:
        with bars as progress:
            observer = progress.observer(f"seed {seeds[0]}") if progress else None
            seeded = recipe.with_seed(seeds[0])
            run = train_reranker(seeded, folder, lists=lists, observer=observer, **options)
        _show_reranker(run)
    else:
        with bars as progress:
            summary = run_seeds(
                train_reranker,
                recipe,
                seeds,
                folder,
                scores=SCORES,
                jobs=jobs,
                options=options,
                on_event=progress.on_event if progress else None,
            )
        _show_summary(summary, "reranker", folder)


def _show_reranker(run: RerankRun) -> None:
    from lexitree.cli.rerank_heads import show_scores
    from lexitree.learning.run_folder import MODEL_FOLDER

    best, weight = run.best, run.best.scores["base_weight"]
    output.print(
        f"best epoch {best.epoch} of {len(run.training.history)}:  dev F1 {percent(best.scores['dev_f1'])}"
        f"  weight of the parser's score {weight:g}"
    )
    if run.test is not None:
        show_scores(run.test, weight)
    output.print(f"reranker: {run.folder / MODEL_FOLDER}", soft_wrap=True)
