"""What stands on the command line in; which of it is a model, text, or a file of texts or trees, out."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lexitree.files import STANDARD_STREAM
from lexitree.saving.shipped import BUILTIN_PARSER, DEFAULT_MODEL, is_shipped

if TYPE_CHECKING:
    from contextlib import ExitStack

    from lexitree.parsers.protocol import Parser
    from lexitree.pipeline.predictor import Predictor
    from lexitree.pipeline.text_pipeline import TextPipeline

InputKind = Literal["auto", "trees", "text"]

TREE_SUFFIXES = (".toks", ".tsv", ".jsonl")
"""Files that hold trees by their names, unless a column of them is asked for."""

_FILE_NAME = re.compile(r"\S*[/\\]\S*|\S+\.[A-Za-z]\w{0,5}")
_MODEL_NAME = re.compile(r"[\w.~:+@\\/-]+")

ModelOrInputArgument = Annotated[
    str | None,
    typer.Argument(
        help="A model: its name in the package, its directory, or owner/name on the Hugging Face hub. Default, for"
        " texts and files: sentiment."
    ),
]
InputKindOption = Annotated[
    InputKind, typer.Option("--input", help="What the input is: trees begin with a bracket.")
]
ParserOption = Annotated[
    str | None,
    typer.Option(
        "--parser",
        help="What parses text: builtin, brackets:FILE, stanford:FOLDER, command:PROGRAM and others.",
        show_default=False,
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", "-m", help="The model; all arguments are then input.", show_default=False),
]
OneSentenceOption = Annotated[
    bool, typer.Option("--one-sentence", metavar="", help="Take each text for one sentence.")
]


@dataclass(frozen=True, slots=True)
class Arguments:
    """A model, and what is to be labelled: texts and names of files."""

    model: str
    inputs: tuple[str, ...]


def read_arguments(
    context: typer.Context, first: str | None, others: Sequence[str], model: str | None
) -> Arguments:
    """The first argument is the model unless `--model` names it or it is input; there is one for such cases.

    Without any input, standard input is read, but nobody is made to type it who has said nothing at all.
    """
    inputs = [*([] if first is None else [first]), *others]
    if model is None:
        if first is None and sys.stdin.isatty():
            raise typer.BadParameter("a text is needed, or a model and trees", ctx=context)
        if first is None or _is_input(first):
            model = DEFAULT_MODEL
        else:
            model, inputs = inputs[0], inputs[1:]
    return Arguments(model, tuple(inputs) or (STANDARD_STREAM,))


def _is_input(argument: str) -> bool:
    """Whether the first argument is no model: a text, or a file.

    One word is a text if nothing is called so and no model could be: `Great!` and the empty text.
    """
    try:
        path = Path(argument)
        return (
            argument == STANDARD_STREAM
            or path.is_file()
            or not argument
            or not (_MODEL_NAME.fullmatch(argument) or path.exists())
        )
    except (OSError, ValueError):
        # Too long for a name, or with a zero byte in it.
        return True


def is_file_name(argument: str) -> bool:
    """Whether an argument names a file, there or missing, and is not a text itself.

    What exists is a file, and so is what has no white space and either a slash or an ending such as `.txt`.
    """
    if argument == STANDARD_STREAM or _FILE_NAME.fullmatch(argument):
        return True
    try:
        return bool(argument) and Path(argument).exists()
    except (OSError, ValueError):
        # Too long for a name, or with a zero byte in it.
        return False


def begins_a_tree(line: str) -> bool:
    """Whether the first line of an input is a tree in brackets, and not text."""
    return line.lstrip().startswith("(")


def open_text_pipeline(
    arguments: Arguments, predictor: Predictor, parser: str | None, resources: ExitStack
) -> TextPipeline:
    """The model with its parser; what the parser holds, such as a process, is let go with the resources."""
    from lexitree.pipeline.text_pipeline import TextPipeline

    return TextPipeline(predictor, find_parser(arguments.model, parser, resources))


def find_parser(model: str, parser: str | None, resources: ExitStack) -> Parser:
    """The parser that is asked for; models of the package have theirs, others cannot read text otherwise."""
    from contextlib import AbstractContextManager

    from lexitree.errors import ConfigError

    if parser is None and is_shipped(model):
        parser = BUILTIN_PARSER
    if parser is None:
        raise ConfigError(
            f"{model} reads trees: it has no parser of its own, which text needs",
            remedy="Name a parser, for example --parser builtin or --parser brackets:FILE, "
            "or give trees in brackets: (_ (_ Not) (_ bad))",
        )
    from lexitree.parsers.adapters import open_parser

    opened = open_parser(parser)
    if isinstance(opened, AbstractContextManager):
        resources.enter_context(opened)
    return opened
