"""`lexitree explain`: a model and a text in, a page that shows how its label came about out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexitree.cli.options import BackendOption, DeviceOption, EncodingOption
from lexitree.cli.text_arguments import (
    Arguments,
    InputKindOption,
    ModelOption,
    ModelOrInputArgument,
    OneSentenceOption,
    ParserOption,
    open_text_pipeline,
    read_arguments,
)
from lexitree.files import STANDARD_STREAM

if TYPE_CHECKING:
    from lexitree.cli.text_inputs import Inputs
    from lexitree.pipeline.predictor import Predictor
    from lexitree.views.page import Explanation

LONGEST_NAME = 40


def explain_command(
    context: typer.Context,
    model: ModelOrInputArgument = None,
    text: Annotated[
        list[str] | None,
        typer.Argument(
            help="A text, a tree in brackets, or a file of either; nothing or - reads standard input."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The page; - is standard output. Default: a new file named after the text."
        ),
    ] = None,
    model_name: ModelOption = None,
    parser: ParserOption = None,
    one_sentence: OneSentenceOption = False,
    input_kind: InputKindOption = "auto",
    encoding: EncodingOption = "utf-8",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
) -> None:
    """Show how the label of a sentence came about, phrase by phrase, on one HTML page.

    [bold]A text:[/bold]  lexitree explain "Not a bad film."

    [bold]A tree:[/bold]  lexitree explain runs/mini/model "(_ (_ Not) (_ bad))" -o not-bad.html

    The page needs nothing but itself: it can be sent, printed and read without a network. It shows the words with
    their own labels, the tree with the head word of every phrase, and the steps from the words to the whole; those
    at which the label turns are marked. A file of text is one text, with as many sentences as it has.
    """
    from lexitree.cli.console import choose_device, messages
    from lexitree.cli.streams import open_output
    from lexitree.cli.text_inputs import Inputs
    from lexitree.pipeline.predictor import Predictor
    from lexitree.trees.brackets import ReadReport
    from lexitree.views.page import explanation_page

    arguments = read_arguments(context, model, text or [], model_name)
    predictor = Predictor.from_pretrained(arguments.model, device=choose_device(device), backend=backend)
    source = Inputs(arguments.inputs, input_kind, encoding, "raise", ReadReport())
    explanation = _explain(arguments, predictor, source, parser, one_sentence)
    path = output or new_file_name(explanation.text, Path())
    with open_output(path) as write:
        write(explanation_page(explanation))
    if str(path) != STANDARD_STREAM:
        messages.out(str(path), highlight=False)


def _explain(
    arguments: Arguments, predictor: Predictor, source: Inputs, parser: str | None, one_sentence: bool
) -> Explanation:
    from contextlib import ExitStack

    from lexitree.views.page import explain_trees

    if source.hold_trees():
        predictions = predictor.predict_all(source.trees())
        return explain_trees([prediction.explained() for prediction in predictions])
    with ExitStack() as resources:
        pipe = open_text_pipeline(arguments, predictor, parser, resources)
        return pipe("\n\n".join(source.whole_texts()), one_sentence=one_sentence).explanation()


def new_file_name(text: str, folder: Path) -> Path:
    """`not-a-bad-film.html`, with a number where such a file is there already."""
    words = re.findall(r"[^\W_]+", text.lower())
    name = "-".join(words)[:LONGEST_NAME].strip("-") or "explanation"
    path, number = folder / f"{name}.html", 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}.html"
    return path
