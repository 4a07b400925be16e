"""`lexitree search`: find the phrases of trees or texts that match a pattern."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from lexitree.cli.console import show_skipped
from lexitree.cli.options import (
    BackendOption,
    ColumnOption,
    DeviceOption,
    EncodingOption,
    InputKindOption,
    LimitOption,
    OnErrorOption,
    OneSentenceOption,
    OutputOption,
    ParserOption,
    TextOption,
    flag,
)
from lexitree.files import JSON_LINES_SUFFIXES, choose_format
from lexitree.saving.shipped import DEFAULT_MODEL

PatternArgument = Annotated[str, typer.Argument(help="The pattern, such as 'NP < (negative & p>0.8)'.")]
InputsArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Files of trees or texts, or texts; nothing or - reads standard input."),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help=f"The model that labels the phrases. By default {DEFAULT_MODEL} for text, and none for trees.",
        show_default=False,
    ),
]
FormatOption = Annotated[
    Literal["text", "json"] | None,
    typer.Option(
        "--format",
        "-f",
        help="text (default) or json, one match per line. By default, the output file decides.",
    ),
]
CountOption = Annotated[bool, flag("--count", "-c", text="Print only the number of matches.")]


def search_command(
    context: typer.Context,
    pattern: PatternArgument,
    inputs: InputsArgument = None,
    model: ModelOption = None,
    output: OutputOption = None,
    format_name: FormatOption = None,
    count: CountOption = False,
    texts: TextOption = None,
    column: ColumnOption = None,
    parser: ParserOption = None,
    one_sentence: OneSentenceOption = False,
    limit: LimitOption = None,
    input_kind: InputKindOption = "auto",
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
) -> None:
    """Find the phrases that match a pattern over labels, probabilities, head words and words.

    [bold]In trees:[/bold]  lexitree search 'NP < (JJ & word=old)' penn.txt

    [bold]In text:[/bold]  lexitree search 'NP & negative & p>0.8' reviews.txt

    [bold]In a column:[/bold]  lexitree search 'negative & !<< negative' reviews.csv --column review

    A test is a label or category (NP, "very negative", V*), root, leaf, phrase, word=good, head=film, text="not bad",
    text~"not bad" (contains it), p>0.8, p(negative)>0.3, words>=3, children=2 or depth<4. Tests are joined by & and
    |, negated by ! and grouped by brackets.

    Relations: A < B (A has a child B), << (a descendant), > (a parent), >> (an ancestor), $ (a sister); A . B (A
    immediately precedes B), .. (precedes), A , B (A immediately follows B), ,, (follows). `A < B < C` is an A with a
    child B and a child C.

    Trees are searched as they are or, with --model, as the model labels them; text is parsed and labelled.
    """
    from lexitree.limits import Limits
    from lexitree.pipeline.file_search import SearchJob
    from lexitree.pipeline.inputs import GivenText, Inputs
    from lexitree.pipeline.workers import LabellerSettings
    from lexitree.writing import open_output

    if not inputs and not texts and sys.stdin.isatty():
        raise typer.BadParameter("a file or a text is needed", ctx=context)
    arguments = (*(inputs or ()), *map(GivenText, texts or ())) or ("-",)
    endings = {"text": (".txt",), "json": JSON_LINES_SUFFIXES}
    form = choose_format(output, endings, asked=format_name, option="--format")
    job = SearchJob(
        pattern,
        Inputs(arguments, input_kind, encoding, on_error),
        column,
        LabellerSettings(
            model or DEFAULT_MODEL,
            parser,
            device,
            backend,
            one_sentence=one_sentence,
            limits=Limits.from_assignments(limit or []),
        ),
        label_trees=model is not None,
    )
    with open_output(output) as write:
        if count:
            write(f"{sum(1 for _ in job.matches())}\n")
        else:
            for found in job.matches():
                write(found.json_line() if form == "json" else found.line())
    report = job.inputs.report
    show_skipped(report.num_errors, report.errors, what="trees or rows")
