"""`lexitree predict`: a model and trees in; labels, probabilities and head words out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lexitree.cli.options import (
    BackendOption,
    DeviceOption,
    EncodingOption,
    ModelArgument,
    OnErrorOption,
    OutputOption,
    PrecisionOption,
)

if TYPE_CHECKING:
    from lexitree.predict import Prediction

Format = Literal["draw", "jsonl", "brackets", "svg"]


def predict_command(
    model: ModelArgument,
    trees: Annotated[
        list[Path] | None, typer.Argument(help="Files of trees; nothing or - reads standard input.")
    ] = None,
    output: OutputOption = None,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            "-f",
            help="draw (default on a screen), jsonl (default else), brackets, or svg (for a file .svg).",
        ),
    ] = None,
    nodes: Annotated[
        Literal["all", "root"], typer.Option(help="Label all phrases, or the whole sentences only.")
    ] = "all",
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
    precision: PrecisionOption = "float32",
) -> None:
    """Label every phrase of trees, with probabilities and head words.

    [bold]Look at one:[/bold]  echo "(_ (_ Not) (_ (_ very) (_ good)))" | lexitree predict runs/mini/model

    [bold]Label a file:[/bold]  lexitree predict runs/mini/model trees.txt -o labelled.jsonl

    [bold]A picture:[/bold]  lexitree predict runs/mini/model trees.txt -o trees.svg

    Trees are brackets, one a line or spread over lines, or .jsonl. For the model deptree they are dependency trees:
    .toks with .dparents beside it, or .jsonl with parents. Their own labels are not looked at (write _ where there is
    none). Each line of JSON is one sentence; each phrase has start and end (words), label, probabilities,
    head (the number of its head word), head_word and head_weight (its share of the phrase's head vector).
    A picture has all sentences below each other: colours are labels, boxes hold head words, thick lines lead to them,
    and hovering shows probabilities.
    """
    from lexitree.cli.console import choose_device, show_skipped, show_tree
    from lexitree.cli.console import output as screen
    from lexitree.cli.streams import open_output, stream_trees
    from lexitree.predict import load
    from lexitree.trees.brackets import ReadReport

    predictor = load(model, device=choose_device(device), backend=backend, precision=precision)
    form = form or _default_form(output, screen.is_terminal)
    report = ReadReport()
    stream = stream_trees(trees or [Path("-")], encoding, on_error, report)
    names = {label: predictor.model.config.label_name(label) for label in predictor.model.config.labels}
    with open_output(output) as write:
        predictions = predictor.predict_all(stream, nodes=nodes)
        if form == "svg":
            write(_picture(predictions, predictor.model.config.labels, names))
        for prediction in predictions:
            if form == "draw" and output is None:
                show_tree(prediction.named_tree(names), prediction.notes(), names.values())
            else:
                for line in _lines(prediction, form, names):
                    write(line + "\n")
    show_skipped(report.num_errors, report.errors)


def _default_form(output: Path | None, on_screen: bool) -> Format:
    if output is not None and output.suffix == ".svg":
        return "svg"
    return "draw" if output is None and on_screen else "jsonl"


def _picture(predictions: Iterable[Prediction], labels: tuple[str, ...], names: dict[str, str]) -> str:
    """All predictions in one picture, whose size is known only when all are there."""
    from lexitree.trees.picture import draw_svg

    return draw_svg([prediction.picture() for prediction in predictions], labels, names)


def _lines(prediction: Prediction, form: Format, names: dict[str, str]) -> Iterator[str]:
    """A prediction in a format, line by line."""
    from lexitree.trees.brackets import tree_to_brackets

    if form == "jsonl":
        yield json.dumps(prediction.as_dict(), ensure_ascii=False)
    elif form == "brackets":
        yield tree_to_brackets(prediction.tree)
    else:
        yield from prediction.draw(names)
        yield ""
