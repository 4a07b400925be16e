"""Runs `lexitree rerank train`: progress bars while it trains, and scores when it is done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexitree.cli.console import output, percent, show_skipped
from lexitree.cli.train_runs import ProgressObserver, TrainingProgress, show_summary
from lexitree_paper.cli.rerank_heads import show_scores

if TYPE_CHECKING:
    from lexitree_paper.rerank.recipe import RerankRecipe
    from lexitree_paper.rerank.run import RerankRun


def run_reranker(
    recipe: RerankRecipe, seeds: Sequence[int], folder: Path, *, jobs: int, quiet: bool, **options: Any
) -> None:
    """Train a reranker with one seed, or with several in parallel, and print its scores."""
    from lexitree.learning.seeds import run_seeds
    from lexitree.trees.brackets import ReadReport
    from lexitree_paper.rerank.data import load_rerank_data
    from lexitree_paper.rerank.run import SCORES, train_reranker

    report = ReadReport()
    lists = load_rerank_data(recipe, options["data"], on_error=options["on_error"], report=report)
    show_skipped(report.num_errors, report.errors, what="lists")
    bars = TrainingProgress(recipe.training.epochs, "lists", quiet=quiet)
    if len(seeds) == 1:
        with bars:
            observer = ProgressObserver(bars, seeds[0])
            seeded = recipe.with_seed(seeds[0])
            run = train_reranker(seeded, folder, lists=lists, observer=observer, **options)
        _show_reranker(run)
    else:
        with bars:
            summary = run_seeds(
                train_reranker,
                recipe,
                seeds,
                folder,
                scores=SCORES,
                jobs=jobs,
                options=options,
                on_event=bars.on_event,
            )
        show_summary(summary, "reranker", folder)


def _show_reranker(run: RerankRun) -> None:
    from lexitree.learning.run_folder import MODEL_FOLDER

    best, weight = run.best, run.best.scores["base_weight"]
    output.print(
        f"best epoch {best.epoch} of {len(run.training.history)}:  dev F1 {percent(best.scores['dev_f1'])}"
        f"  weight of the parser's score {weight:g}"
    )
    if run.test is not None:
        show_scores(run.test, weight)
    output.print(f"reranker: {run.folder / MODEL_FOLDER}", soft_wrap=True)
