"""A recipe and seeds in, trained rerankers out, with a line an epoch on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lexitree.learning.observers import BatchProgress
    from lexitree.tasks.rerank.recipe import RerankRecipe
    from lexitree.tasks.rerank.run import RerankRun
    from lexitree.tasks.rerank.task import RerankEpoch, RerankListeners


def train_seeds(
    recipe: RerankRecipe,
    folder: Path,
    seeds: Sequence[int],
    jobs: int,
    options: dict[str, Any],
    *,
    quiet: bool,
) -> None:
    """One seed goes into the folder itself, several into seed-1, seed-2 and so on."""
    from lexitree.processes import run_in_processes

    single = len(seeds) == 1
    tasks = [
        (
            recipe.with_seed(seed),
            folder if single else folder / f"seed-{seed}",
            options,
            "" if single else f"seed {seed}  ",
            quiet,
        )
        for seed in seeds
    ]
    for number, run in run_in_processes(train_one, tasks, jobs=jobs):
        _show_run(run, tasks[number][3])


def train_one(
    recipe: RerankRecipe, folder: Path, options: dict[str, Any], name: str, quiet: bool
) -> RerankRun:
    """Train one seed, in this process or in one of its own."""
    import torch

    from lexitree.cli.console import show_skipped
    from lexitree.tasks.rerank.run import train_reranker
    from lexitree.trees.brackets import ReadReport

    # The products are small: seeds make better use of several cores.
    torch.set_num_threads(1)
    report = ReadReport()
    listeners = None if quiet else _listeners(name)
    run = train_reranker(recipe, folder, report=report, listeners=listeners, **options)
    show_skipped(report.num_errors, report.errors, what="lists")
    return run


def _listeners(name: str) -> RerankListeners:
    """A line an epoch, and a line that tells where the epoch is."""
    from lexitree.cli.console import messages, percent
    from lexitree.cli.progress import show_place
    from lexitree.tasks.rerank.task import RerankListeners

    def on_batch(progress: BatchProgress) -> None:
        if not name:
            show_place(progress, "lists")

    def on_epoch(epoch: RerankEpoch) -> None:
        messages.print(
            f"{name}epoch {epoch.epoch:>2}  loss {epoch.loss:6.3f}  dev F1 [bold]{percent(epoch.dev_f1)}[/bold]"
            f"  weight {epoch.base_weight:.2f}  {epoch.lists_per_second:.0f} lists/s, {epoch.seconds:.0f} s"
            + ("  [green]best[/green]" if epoch.is_best else ""),
            soft_wrap=True,
        )

    return RerankListeners(on_batch, on_epoch)


def _show_run(run: RerankRun, name: str) -> None:
    from lexitree.cli.console import output, percent
    from lexitree.cli.rerank_tables import show_scores
    from lexitree.tasks.rerank.run import MODEL_FOLDER

    output.print(
        f"{name}best epoch {run.best.epoch} of {len(run.history)}:  dev F1 {percent(run.best.dev_f1)}"
        f"  weight of the parser's score {run.best.base_weight:g}"
    )
    if run.test is not None:
        show_scores(run.test, run.best.base_weight)
    output.print(f"reranker: {run.folder / MODEL_FOLDER}", soft_wrap=True)
