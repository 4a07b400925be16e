"""`lexitree evaluate`: score a model on labelled trees."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lexitree.cli.console import can_show_table, output, percent, show_skipped, show_table
from lexitree.cli.options import (
    BackendOption,
    CorpusArgument,
    DataOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    ModelArgument,
    OnErrorOption,
    PrecisionOption,
    SplitOption,
    StripTagsOption,
    StripTracesOption,
    Supervision,
)

if TYPE_CHECKING:
    from lexitree.evaluation.accuracy import Confusion


def evaluate_command(
    model: ModelArgument,
    corpus: CorpusArgument,
    split: SplitOption = "test",
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

    Only the file of the chosen split is read from a folder. By default a named corpus decides whether
    phrases are scored; for other input, the model's training does.
    """
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
        _show_classes(scores.root, "whole sentences")
        if scores.phrase:
            _show_classes(scores.phrase, "all phrases")
    show_skipped(report.num_errors, report.errors)


NUM_CONFUSIONS = 20
"""How many confusions are listed of a matrix that is too wide for the screen."""


def _show_classes(confusion: Confusion, title: str) -> None:
    """Show the scores of each label, and which labels were taken for which."""
    rows = [
        [score.label, str(score.num_gold), *map(percent, (score.precision, score.recall, score.f1))]
        for score in confusion.class_scores()
    ]
    show_table(("gold label", "count", "precision", "recall", "F1"), rows, title=f"{title}: scores")
    labels, counts = confusion.labels, confusion.counts.tolist()
    columns = ("gold label", *labels)
    matrix = [[label, *map(str, row)] for label, row in zip(labels, counts, strict=True)]
    if can_show_table(columns, matrix):
        show_table(columns, matrix, title=f"{title}: confusion matrix, a column for each predicted label")
        return
    mistakes = sorted(
        (
            (count, gold, predicted)
            for gold, row in zip(labels, counts, strict=True)
            for predicted, count in zip(labels, row, strict=True)
            if count and gold != predicted
        ),
        key=lambda mistake: -mistake[0],
    )
    listed = [(gold, predicted, str(count)) for count, gold, predicted in mistakes[:NUM_CONFUSIONS]]
    rest = f", the most frequent of {len(mistakes)}" if len(mistakes) > NUM_CONFUSIONS else ""
    show_table(
        ("gold label", "predicted", "count"), listed, title=f"{title}: confusions{rest}", numbers=("count",)
    )
