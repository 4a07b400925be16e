"""Options that several commands have, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer


def flag(*names: str, text: str, panel: str | None = None) -> Any:
    """An option that is there or not; without the metavar Typer would write <bool> after it."""
    return typer.Option(*names, metavar="", help=text, rich_help_panel=panel)


OnError = Literal["raise", "skip"]

EncodingOption = Annotated[str, typer.Option(help="The encoding of the input; never guessed.")]
OnErrorOption = Annotated[
    OnError, typer.Option(help="A malformed tree: stop there (raise), or leave it out and list it (skip).")
]
JsonOption = Annotated[bool, flag("--json", text="Print JSON, for programs.")]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
BackendOption = Annotated[str, typer.Option(help="The implementation: auto, levelwise or reference.")]
ModelArgument = Annotated[
    str, typer.Argument(help="A saved model: its directory, or owner/name on the Hugging Face hub.")
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write to this file, whole or not at all; else to the screen."),
]
