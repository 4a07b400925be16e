"""`lexitree models` and `lexitree info`: the models there are, and what a saved one is."""

from __future__ import annotations

import json
from typing import Any

import typer

from lexitree.cli.options import JsonOption, ModelArgument

PAPER_LABELS = tuple("01234")


def models_command(as_json: JsonOption = False) -> None:
    """List the models, with their parameter counts at the paper's sizes.

    The counts are taken from the modules themselves, for word vectors of 300, an output layer of 128 and five
    labels, without the table of word vectors.
    """
    rows = _model_rows()
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    from rich.table import Table

    from lexitree.cli.console import output

    table = Table()
    for column in ("name", "in the paper", "state size", "parameters", "what it does"):
        table.add_column(column, justify="right" if column in ("state size", "parameters") else "left")
    for row in rows:
        table.add_row(row["model"], row["title"], str(row["hidden"]), f"{row['parameters']:,}", row["about"])
    output.print(table)


def _model_rows() -> list[dict[str, Any]]:
    from lexitree.models.config import ModelConfig
    from lexitree.models.registry import ENCODERS, PAPER_SIZES, count_parameters

    return [
        {
            "model": name,
            "title": ENCODERS[name].title,
            "hidden": hidden,
            "parameters": count_parameters(ModelConfig(model=name, hidden=hidden, labels=PAPER_LABELS)),
            "about": ENCODERS[name].about,
        }
        for name, sizes in PAPER_SIZES.items()
        for hidden in sizes
    ]


def info_command(model: ModelArgument, as_json: JsonOption = False) -> None:
    """Show what a saved model is: its kind, labels, sizes, training and scores.

    Example: lexitree info runs/mini/model
    """
    from lexitree.models.pretrained import from_pretrained, locate_model, read_config_file

    folder = locate_model(model)
    values = read_config_file(folder)
    loaded = from_pretrained(folder)
    values["num_parameters"] = loaded.num_parameters()
    values["num_words"] = len(loaded.lexicon.vocabulary)
    if as_json:
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))
        return
    from rich.table import Table

    from lexitree.cli.console import output

    table = Table(show_header=False, title=str(model))
    table.add_column(style="bold")
    table.add_column()
    table.add_row("parameters", f"{values['num_parameters']:,} and {values['num_words']:,} word vectors")
    for section in ("model", "training"):
        table.add_section()
        for key, value in values.get(section, {}).items():
            if value not in ({}, None):
                table.add_row(key.replace("_", " "), _shown(value))
    output.print(table)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} = {name}" for key, name in value.items())  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value)
