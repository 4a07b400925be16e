"""`lexitree evaluate`: score a model on labelled texts or trees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lexitree.cli.console import can_show_table, output, percent, show_skipped, show_table
from lexitree.cli.options import (
    BackendOption,
    CorpusArgument,
    DataOption,
    DelimiterOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    LabelColumnOption,
    LabelsOption,
    ModelArgument,
    OnErrorOption,
    ParserOption,
    PrecisionOption,
    SplitName,
    StripTagsOption,
    StripTracesOption,
    Supervision,
    TextColumnOption,
    column_values,
)

if TYPE_CHECKING:
    from lexitree.evaluation.accuracy import Confusion, Evaluation


def evaluate_command(
    model: ModelArgument,
    corpus: CorpusArgument,
    split: Annotated[
        Literal[SplitName, "all"] | None,
        typer.Option(help="Which split of a corpus or table; all for every row. Default: test."),
    ] = None,
    text: TextColumnOption = None,
    label: LabelColumnOption = None,
    delimiter: DelimiterOption = None,
    parser: ParserOption = None,
    labels: LabelsOption = None,
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

    [bold]On the texts that training held out:[/bold]  lexitree evaluate runs/tickets/model tickets.csv --split test

    [bold]On a corpus:[/bold]  lexitree evaluate runs/sst/model sst --split test

    [bold]On a file:[/bold]  lexitree evaluate runs/mine/model held-out.txt

    Only the file of the chosen split is read from a folder. By default a named corpus decides whether
    phrases are scored; for other input, the model's training does. A table of texts is scored by text. Which of its
    rows were held out stands beside the model, in the folder of the run; another table is scored on all rows.
    """
    from lexitree.corpora.named import read_split
    from lexitree.corpora.text_tables import TableSettings
    from lexitree.corpora.treebank import chosen_strips
    from lexitree.pipeline.loading import load
    from lexitree.pipeline.table_scores import holds_texts, score_table
    from lexitree.saving.model_folder import ModelFolder
    from lexitree.trees.brackets import ReadReport

    where: dict[str, Any] = {"device": device, "backend": backend, "precision": precision, "labels": labels}
    settings = TableSettings(**column_values(text, label, delimiter))
    if holds_texts(model, corpus, settings, encoding, is_text_asked=parser is not None):
        with load(model, reads="text", parser=parser, **where) as pipe:
            scored = score_table(
                pipe,
                Path(corpus),
                split,
                settings=settings,
                run=ModelFolder.find(model).path.parent,
                encoding=encoding,
                on_error=on_error,
            )
        _show(scored.scores, scored.num_texts, "texts", as_json=as_json)
        show_skipped(scored.table.num_skipped, scored.table.skipped, what="rows")
        return
    predictor = load(model, reads="trees", **where)
    report = ReadReport()
    strip = chosen_strips(traces=strip_traces, function_tags=strip_function_tags)
    options: dict[str, Any] = {"encoding": encoding, "on_error": on_error, "strip": strip}
    if split == "all":
        raise typer.BadParameter("all is for tables of texts; a corpus has train, dev and test")
    trees, supervision = read_split(
        corpus,
        split or "test",
        supervision,
        default=predictor.model.config.supervision,
        data=data,
        options=options,
        report=report,
    )
    scores = predictor.evaluate(trees, supervision=supervision)
    _show(scores, len(trees), "trees", as_json=as_json)
    show_skipped(report.num_errors, report.errors)


def _show(scores: Evaluation, count: int, what: str, *, as_json: bool) -> None:
    """Print all scores."""
    if as_json:
        typer.echo(json.dumps(scores.as_dict(), indent=2))
        return
    phrase = f", phrase accuracy {percent(scores.phrase.accuracy)}" if scores.phrase else ""
    name = "accuracy" if what == "texts" else "root accuracy"
    output.print(f"{count:,} {what}: [bold]{name} {percent(scores.root.accuracy)}{phrase}[/bold]")
    _show_classes(scores.root, "whole texts" if what == "texts" else "whole sentences")
    if scores.phrase:
        _show_classes(scores.phrase, "all phrases")


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
