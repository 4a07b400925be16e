"""`lexitree explain`: an HTML page that shows why the model gives a text its label."""

from __future__ import annotations

import re
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexitree.cli.console import messages, parse_numbers
from lexitree.cli.options import (
    BackendOption,
    DeviceOption,
    EncodingOption,
    InputKindOption,
    LabelsOption,
    ModelOption,
    ModelOrInputArgument,
    OneSentenceOption,
    ParserOption,
    PrecisionOption,
    read_arguments,
)
from lexitree.errors import ConfigError
from lexitree.files import HTML_SUFFIXES, STANDARD_STREAM, choose_format
from lexitree.writing import open_output

if TYPE_CHECKING:
    from lexitree.pipeline.inputs import Inputs
    from lexitree.pipeline.workers import LabellerSettings

LONGEST_NAME = 40
NUM_ROWS = 20
ColumnOption = Annotated[
    str | None, typer.Option(help="The column of CSV or JSON Lines whose texts are explained.")
]
RowsOption = Annotated[
    str, typer.Option(help="With --column: the rows, counted from 1, such as 3, 1,2,5 or 1-20.")
]


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
    column: ColumnOption = None,
    rows: RowsOption = f"1-{NUM_ROWS}",
    labels: LabelsOption = None,
    one_sentence: OneSentenceOption = False,
    input_kind: InputKindOption = "auto",
    encoding: EncodingOption = "utf-8",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
    precision: PrecisionOption = "float32",
) -> None:
    """Show on an HTML page why the model gives a text its label.

    [bold]A text:[/bold]  lexitree explain "Not a bad film."

    [bold]A column:[/bold]  lexitree explain reviews.csv --column review --rows 1-5 -o reviews.html

    [bold]A tree:[/bold]  lexitree explain runs/mini/model "(_ (_ Not) (_ bad))" -o not-bad.html

    The page is self-contained: it can be sent, printed and read offline. It shows the text with the phrases that
    matter, the reason for the label in one sentence, and the tree with the head word of every phrase; where the label
    turns is marked. A file of text is read as one text of any number of sentences.
    """
    from lexitree.pipeline.inputs import Inputs
    from lexitree.pipeline.workers import LabellerSettings
    from lexitree.views.page import explanation_page

    choose_format(output, {"html": HTML_SUFFIXES})
    name, arguments = read_arguments(context, model, text, model_name)
    source = Inputs(arguments, input_kind, encoding)
    settings = LabellerSettings(
        name, parser, device, backend, precision, one_sentence=one_sentence, labels=labels
    )
    if column is not None:
        title, page = _explain_rows(source, settings, column, parse_numbers(rows, "rows"))
    elif source.hold_trees():
        trees = list(settings.open_predictor().predict_all(source.trees()))
        title, page = " ".join(tree.text for tree in trees), explanation_page(trees)
    else:
        with settings.open_pipeline() as pipe:
            document = pipe("\n\n".join(source.whole_texts()), one_sentence=one_sentence)
            title, page = document.text, document.html()
    if not title.strip():
        raise ConfigError("there is nothing to explain: the input is empty", remedy="Give a text or a file.")
    path = output or new_file_name(title, Path())
    with open_output(path) as write:
        write(page)
    if str(path) != STANDARD_STREAM:
        messages.out(str(path), highlight=False)


def _explain_rows(
    source: Inputs, settings: LabellerSettings, column: str, numbers: list[int]
) -> tuple[str, str]:
    """The name of the column, and a page with the texts in some of its rows."""
    from lexitree.pipeline.workers import handle_refused, raise_error
    from lexitree.views.page import explanation_page

    tables = chain.from_iterable(source.tables(column))
    chosen = {number: row for number, row in enumerate(islice(tables, max(numbers)), 1) if number in numbers}
    if not chosen:
        raise ConfigError(f"there is no row {min(numbers)}", remedy="Rows are counted from 1: --rows 1-5.")
    with settings.open_pipeline() as pipe:
        results = (document for document, _ in settings.documents(pipe, iter(chosen.values())))
        documents = dict(zip(chosen, handle_refused(results, raise_error), strict=True))
    sentences = [sentence for document in documents.values() for sentence in document.sentences]
    names = [
        f"Row {number}" + (f", sentence {place}" if len(document) > 1 else "")
        for number, document in documents.items()
        for place in range(1, len(document) + 1)
    ]
    messages.print(f"rows {min(chosen)} to {max(chosen)} (choose others with --rows)")
    notes = [f"Row {number}: {note}" for number, document in documents.items() for note in document.notes]
    return column, explanation_page(sentences, names=names, probabilities={}, notes=notes, title=column)


def new_file_name(text: str, folder: Path) -> Path:
    """A name such as `not-a-bad-film.html`, with a number added if there is such a file already."""
    words = re.findall(r"[^\W_]+", text.lower())
    name = "-".join(words)[:LONGEST_NAME].strip("-") or "explanation"
    path, number = folder / f"{name}.html", 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}.html"
    return path
