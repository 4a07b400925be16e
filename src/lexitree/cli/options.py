"""Options that several commands share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from lexitree.errors import OnError


def flag(*names: str, text: str, panel: str | None = None) -> Any:
    """An option without a value; the empty metavar keeps Typer from printing <bool> after it."""
    return typer.Option(*names, metavar="", help=text, rich_help_panel=panel)


# Copies of the library's choices: importing them from there would import numpy and torch, and a command must start
# at once. tests/cli/test_options.py compares the two.
Supervision = Literal["all", "root"]
SplitName = Literal["train", "dev", "test"]
Direction = Literal["left", "right", "head"]
Precision = Literal["float32", "tf32", "bf16"]
TableForm = Literal["float32", "float16", "int8"]

EncodingOption = Annotated[str, typer.Option(help="Encoding of the input; never guessed.")]
OnErrorOption = Annotated[
    OnError, typer.Option(help="On malformed input: stop (raise), or skip and report (skip).")
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", help="Folder with corpora, searched first.", show_default=False),
]
StripTracesOption = Annotated[bool, flag("--strip-traces", text="Remove the -NONE- leaves of Penn trees.")]
StripTagsOption = Annotated[bool, flag("--strip-function-tags", text="Reduce labels such as NP-SBJ-1 to NP.")]
JsonOption = Annotated[bool, flag("--json", text="Print JSON.")]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
BACKEND_HELP = "Implementation: auto (the fastest available), fused (GPU), levelwise or reference."
BackendOption = Annotated[str, typer.Option(help=BACKEND_HELP)]
PrecisionOption = Annotated[
    Precision, typer.Option(help="Full precision (float32), or faster and less exact on a GPU (tf32, bf16).")
]
ModelArgument = Annotated[
    str,
    typer.Argument(
        help="A model: its name in the package, its directory, or owner/name on the Hugging Face hub."
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Output file, replaced only when complete; standard output by default."
    ),
]
RerankerArgument = Annotated[
    str, typer.Argument(metavar="RERANKER", help="The directory of a saved reranker.")
]
ModelOrInputArgument = Annotated[
    str | None,
    typer.Argument(
        help="A model: its name in the package, its directory, or owner/name on the Hugging Face hub. If omitted:"
        " sentiment."
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", "-m", help="The model; all arguments are then input.", show_default=False),
]
InputKindOption = Annotated[
    Literal["auto", "trees", "text"],
    typer.Option("--input", help="Whether the input is trees, which begin with a bracket, or text."),
]
ParserOption = Annotated[
    str | None,
    typer.Option(
        "--parser",
        help="The parser for text: builtin, brackets:FILE, stanford:FOLDER, command:PROGRAM and others.",
        show_default=False,
    ),
]
OneSentenceOption = Annotated[bool, flag("--one-sentence", text="Take each text as a single sentence.")]


def read_arguments(
    context: typer.Context, first: str | None, others: list[str] | None, model: str | None
) -> tuple[str, tuple[str, ...]]:
    """The model and the inputs among the arguments; with none at all, nobody is made to type on a terminal."""
    from lexitree.pipeline.inputs import split_arguments

    if first is None and model is None and sys.stdin.isatty():
        raise typer.BadParameter("a text is needed, or a model and trees", ctx=context)
    return split_arguments([*([] if first is None else [first]), *(others or [])], model)
