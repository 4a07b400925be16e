"""What `lexitree parser train` prints while a parser is trained, and afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lexitree.learning.observers import BatchProgress
    from lexitree.tasks.parse.run import ParserRun
    from lexitree.tasks.parse.task import ParserEpoch, ParserListeners


def parser_listeners(name: str = "") -> ParserListeners:
    """A line an epoch, and a line that tells where the epoch is; a run with a name is one of several."""
    from lexitree.cli.console import messages, percent
    from lexitree.cli.progress import show_place
    from lexitree.tasks.parse.task import ParserListeners

    def on_batch(progress: BatchProgress) -> None:
        if not name:
            show_place(progress, "trees")

    def on_epoch(epoch: ParserEpoch) -> None:
        parts = "  ".join(f"{bank} {percent(f1)}" for bank, f1 in epoch.dev.items())
        messages.print(
            f"{name}epoch {epoch.epoch:>2}  loss {epoch.loss:6.3f}  dev F1 [bold]{percent(epoch.dev_f1)}[/bold]"
            f"  ({parts})  {epoch.trees_per_second:.0f} trees/s, {epoch.seconds:.0f} s"
            + ("  [green]best[/green]" if epoch.is_best else ""),
            soft_wrap=True,
        )

    return ParserListeners(on_batch, on_epoch)


def show_run(run: ParserRun) -> None:
    from rich.table import Table

    from lexitree.cli.console import output, percent
    from lexitree.tasks.parse.run import MODEL_FOLDER

    output.print(f"best epoch {run.best.epoch} of {len(run.history)}:  dev F1 {percent(run.best.dev_f1)}")
    if run.test:
        table = Table()
        for column in ("test treebank", "style", "F1", "generic F1", "tags", "complete", "best of 8"):
            table.add_column(column)
        for name, scores in run.test.items():
            kinds = ("f1", "generic_f1", "tags", "complete_match", "oracle_f1")
            table.add_row(name, scores["style"] or "generic", *(percent(scores[kind]) for kind in kinds))
        output.print(table)
    output.print(f"parser: {run.folder / MODEL_FOLDER}", soft_wrap=True)
