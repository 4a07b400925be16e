"""`lexitree models` and `lexitree info`: the models there are, and what a saved one is."""

from __future__ import annotations

import json
from typing import Any, cast

import typer

from lexitree.cli.options import JsonOption, ModelArgument


def models_command(as_json: JsonOption = False) -> None:
    """List the models, with their parameter counts at the paper's sizes.

    The counts are taken from the modules themselves, for word vectors of 300, an output layer of 128 and five
    labels, without the table of word vectors. RNTN has word vectors of the size of its states and no output layer.
    """
    from lexitree.models.registry import list_models

    models = list_models()
    if as_json:
        rows = [
            {
                "model": model.name,
                "title": model.title,
                "hidden": model.hidden,
                "parameters": model.num_parameters,
                "about": model.about,
            }
            for model in models
        ]
        typer.echo(json.dumps(rows, indent=2))
        return
    from rich.table import Table

    from lexitree.cli.console import output

    table = Table()
    for column in ("name", "in the paper", "state size", "parameters", "what it does"):
        table.add_column(column, justify="right" if column in ("state size", "parameters") else "left")
    for model in models:
        table.add_row(model.name, model.title, str(model.hidden), f"{model.num_parameters:,}", model.about)
    output.print(table)


def info_command(model: ModelArgument, as_json: JsonOption = False) -> None:
    """Show what a saved model is: its kind, labels, sizes, training and scores.

    Example: lexitree info runs/mini/model
    """
    from lexitree.lexicon.table import WordTable
    from lexitree.models.pretrained import from_pretrained, locate_model, read_config_file

    folder = locate_model(model)
    values = read_config_file(folder)
    loaded = from_pretrained(folder)
    values["num_parameters"] = loaded.num_parameters()
    if isinstance(loaded.lexicon, WordTable):
        values["num_words"] = loaded.lexicon.vocabulary.num_rows
    if as_json:
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))
        return
    from rich.table import Table

    from lexitree.cli.console import output

    table = Table(show_header=False, title=str(model))
    table.add_column(style="bold")
    table.add_column()
    words = f" and {values['num_words']:,} word vectors" if "num_words" in values else ""
    table.add_row("parameters", f"{values['num_parameters']:,}{words}")
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
        # A finer label may count for no answer.
        pairs = cast(dict[str, object], value).items()
        return ", ".join(f"{key} = {'none' if name == '' else name}" for key, name in pairs)
    if isinstance(value, list):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value)
