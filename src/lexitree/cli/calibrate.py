"""`lexitree calibrate`: let probabilities say how often answers are right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from lexitree.cli.console import output, show_table
from lexitree.cli.options import (
    DelimiterOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    LabelColumnOption,
    LabelsOption,
    ModelArgument,
    OnErrorOption,
    OneSentenceOption,
    ParserOption,
    TextColumnOption,
    column_values,
    flag,
)
from lexitree.settings import MAX_COUNT


def calibrate_command(
    model: ModelArgument,
    tables: Annotated[
        list[Path], typer.Argument(help="Tables of texts with labels that the model was not trained on.")
    ],
    labels: LabelsOption = None,
    rows: Annotated[
        int | None,
        typer.Option(help="Rows of each table, from the first; default: all.", min=1, max=MAX_COUNT),
    ] = None,
    text: TextColumnOption = None,
    label: LabelColumnOption = None,
    delimiter: DelimiterOption = None,
    one_sentence: OneSentenceOption = False,
    parser: ParserOption = None,
    dry_run: Annotated[bool, flag("--dry-run", text="Leave the model as it is.")] = False,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Fit the temperature of a model, so that 80 of 100 answers with a probability of 0.8 are right.

    [bold]A model of yours:[/bold]  lexitree calibrate runs/mine/model dev.csv

    [bold]Texts with three labels for a model of five:[/bold]  lexitree calibrate runs/mine/model dev.tsv --labels 3

    The temperature is stored in config.json of the model's folder, and every probability is made with it from then
    on. The likeliest label of a phrase stays the same; with --labels, a side may win that was close behind. The error
    is the expected calibration error in 15 bins; each half of the texts is scored at the temperature of the other.
    """
    from lexitree.corpora.text_tables import TableSettings
    from lexitree.pipeline.calibrating import calibrate

    columns = TableSettings(**column_values(text, label, delimiter))
    found = calibrate(
        model,
        tables,
        labels=labels,
        settings=columns.with_values({"layout": "one"}) if one_sentence else columns,
        num_rows=rows,
        parser=parser,
        device=device,
        encoding=encoding,
        on_error=on_error,
        store=not dry_run,
    )
    if as_json:
        output.print_json(json.dumps(found.as_dict()))
        return
    show_table(
        ["texts", "temperature", "calibration error before", "and after"],
        [
            [
                f"{found.num_texts:,}",
                f"{found.temperature:.3f}",
                f"{found.error_before:.3f}",
                f"{found.error:.3f}",
            ]
        ],
    )
