"""`lexitree evaluate`: a model and labelled trees in, accuracies, confusion and per-class scores out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lexitree.cli.options import (
    BackendOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    ModelArgument,
    OnErrorOption,
)

if TYPE_CHECKING:
    from rich.table import Table

    from lexitree.evaluation.accuracy import Confusion
    from lexitree.models.config import ModelConfig


def evaluate_command(
    model: ModelArgument,
    corpus: Annotated[str, typer.Argument(help="A corpus by name, or a folder or file of labelled trees.")],
    split: Annotated[Literal["train", "dev", "test"], typer.Option(help="Which split of a corpus.")] = "test",
    data: Annotated[Path | None, typer.Option(help="The folder with real corpora.")] = None,
    supervision: Annotated[
        Literal["all", "root"] | None, typer.Option(help="Count all phrases, or sentences only.")
    ] = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Score a model: root and phrase accuracy, confusion matrix, precision and recall of each label.

    [bold]On a corpus:[/bold]  lexitree evaluate runs/sst/model sst --split test

    [bold]On a file:[/bold]  lexitree evaluate runs/mine/model held-out.txt
    """
    from lexitree.cli.console import choose_device, output, percent
    from lexitree.cli.streams import show_skipped, stream_trees
    from lexitree.corpora import load_corpus
    from lexitree.errors import CorpusNotFoundError
    from lexitree.predict import load
    from lexitree.trees.brackets import ReadReport

    predictor = load(model, device=choose_device(device), backend=backend)
    report = ReadReport()
    if Path(corpus).is_file():
        trees = list(stream_trees([Path(corpus)], encoding, on_error, report))
    else:
        loaded = load_corpus(corpus, data=data, encoding=encoding, on_error=on_error)
        trees = loaded.splits.get(split, ())
        supervision = supervision or loaded.supervision
    if not trees:
        raise CorpusNotFoundError(f"{corpus} has no {split} trees to score the model on")
    scores = predictor.evaluate(trees, supervision=supervision)
    if as_json:
        typer.echo(json.dumps(scores.as_dict(), indent=2))
    else:
        phrase = f", phrase accuracy {percent(scores.phrase.accuracy)}" if scores.phrase else ""
        output.print(
            f"{len(trees):,} trees: [bold]root accuracy {percent(scores.root.accuracy)}{phrase}[/bold]"
        )
        output.print(_class_table(scores.root, predictor.model.config, "whole sentences"))
        if scores.phrase:
            output.print(_class_table(scores.phrase, predictor.model.config, "all phrases"))
    show_skipped(report)


def _class_table(confusion: Confusion, config: ModelConfig, title: str) -> Table:
    """Each label's scores beside its row of the confusion matrix."""
    from rich.table import Table

    from lexitree.cli.console import percent

    table = Table(title=f"{title}: scores, and what each gold label was taken for")
    table.add_column("gold label")
    for column in ("count", "precision", "recall", "F1"):
        table.add_column(column, justify="right")
    for label in confusion.labels:
        table.add_column(f"→ {config.label_name(label)}", justify="right")
    for row, score in enumerate(confusion.class_scores()):
        shares = [percent(value) for value in (score.precision, score.recall, score.f1)]
        counts = [
            f"[bold]{count}[/bold]" if column == row else str(count)
            for column, count in enumerate(confusion.counts[row].tolist())
        ]
        table.add_row(config.label_name(score.label), str(score.num_gold), *shares, *counts)
    return table
