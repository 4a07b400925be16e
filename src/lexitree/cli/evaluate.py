"""`lexitree evaluate`: score a model on labelled trees."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lexitree.cli.options import (
    BackendOption,
    DataOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    ModelArgument,
    OnErrorOption,
    PrecisionOption,
    SplitName,
    StripTagsOption,
    StripTracesOption,
    Supervision,
)

if TYPE_CHECKING:
    from rich.table import Table

    from lexitree.evaluation.accuracy import Confusion


def evaluate_command(
    model: ModelArgument,
    corpus: Annotated[str, typer.Argument(help="A corpus by name, or a folder or file of labelled trees.")],
    split: Annotated[SplitName, typer.Option(help="Which split of a corpus.")] = "test",
    data: DataOption = None,
    supervision: Annotated[
        Supervision | None, typer.Option(help="Score all phrases, or whole sentences only.")
    ] = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    strip_traces: StripTracesOption = False,
    strip_function_tags: StripTagsOption = False,
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
    precision: PrecisionOption = "float32",
    as_json: JsonOption = False,
) -> None:
    """Score a model: root and phrase accuracy, a confusion matrix, precision and recall of each label.

    [bold]On a corpus:[/bold]  lexitree evaluate runs/sst/model sst --split test

    [bold]On a file:[/bold]  lexitree evaluate runs/mine/model held-out.txt

    Only the file of the chosen split is read from a folder. Unless --supervision says so, a named corpus decides
    whether phrases count, else how the model was trained.
    """
    from lexitree.cli.console import output, percent, show_skipped
    from lexitree.corpora.named import read_split
    from lexitree.corpora.treebank import chosen_strips
    from lexitree.pipeline.loading import load
    from lexitree.trees.brackets import ReadReport

    predictor = load(model, reads="trees", device=device, backend=backend, precision=precision)
    report = ReadReport()
    strip = chosen_strips(traces=strip_traces, function_tags=strip_function_tags)
    options: dict[str, Any] = {"encoding": encoding, "on_error": on_error, "strip": strip}
    trees, supervision = read_split(
        corpus,
        split,
        supervision,
        default=predictor.model.config.supervision,
        data=data,
        options=options,
        report=report,
    )
    scores = predictor.evaluate(trees, supervision=supervision)
    if as_json:
        typer.echo(json.dumps(scores.as_dict(), indent=2))
    else:
        phrase = f", phrase accuracy {percent(scores.phrase.accuracy)}" if scores.phrase else ""
        output.print(
            f"{len(trees):,} trees: [bold]root accuracy {percent(scores.root.accuracy)}{phrase}[/bold]"
        )
        output.print(_class_table(scores.root, "whole sentences"))
        if scores.phrase:
            output.print(_class_table(scores.phrase, "all phrases"))
    show_skipped(report.num_errors, report.errors)


def _class_table(confusion: Confusion, title: str) -> Table:
    """The scores of each label beside its row of the confusion matrix."""
    from rich.table import Table

    from lexitree.cli.console import percent

    table = Table(title=f"{title}: scores and confusion matrix")
    table.add_column("gold label")
    for column in ("count", "precision", "recall", "F1"):
        table.add_column(column, justify="right")
    for label in confusion.labels:
        table.add_column(f"→ {label}", justify="right")
    for row, score in enumerate(confusion.class_scores()):
        shares = [percent(value) for value in (score.precision, score.recall, score.f1)]
        counts = [
            f"[bold]{count}[/bold]" if column == row else str(count)
            for column, count in enumerate(confusion.counts[row].tolist())
        ]
        table.add_row(score.label, str(score.num_gold), *shares, *counts)
    return table
