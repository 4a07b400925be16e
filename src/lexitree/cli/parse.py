"""`lexitree parse`: parse text to brackets, JSON Lines or pictures."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from lexitree.cli.console import show_skipped
from lexitree.cli.options import (
    ColumnOption,
    DeviceOption,
    EncodingOption,
    InputKindOption,
    LimitOption,
    OnErrorOption,
    OneSentenceOption,
    OutputOption,
    StyleOption,
    TextOption,
    flag,
)
from lexitree.saving.shipped import BUILTIN_PARSER

TextsArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Texts, or files of texts with one per line; nothing or - reads standard input."),
]
FormatOption = Annotated[
    Literal["brackets", "json", "svg", "tree"] | None,
    typer.Option(
        "--format",
        "-f",
        help="brackets (default), json (one sentence per line), svg (one picture) or tree (drawn for the terminal)."
        " By default, the ending of the output file decides.",
    ),
]
ParserOption = Annotated[
    str,
    typer.Option(
        "--parser",
        help="The parser: builtin, builtin:FOLDER, brackets:FILE, stanford:FOLDER, command:PROGRAM and others.",
    ),
]
KBestOption = Annotated[
    int | None,
    typer.Option(
        "--kbest",
        "-k",
        help="Number of trees per sentence, with their log probabilities. By default the best, without.",
        min=1,
        max=1000,
    ),
]
TokenizedOption = Annotated[
    bool, flag("--tokenized", text="Take each text as a single sentence with spaces between its tokens.")
]


def parse_command(
    context: typer.Context,
    inputs: TextsArgument = None,
    output: OutputOption = None,
    format_name: FormatOption = None,
    kbest: KBestOption = None,
    parser: ParserOption = BUILTIN_PARSER,
    texts: TextOption = None,
    column: ColumnOption = None,
    one_sentence: OneSentenceOption = False,
    tokenized: TokenizedOption = False,
    limit: LimitOption = None,
    style: StyleOption = None,
    input_kind: InputKindOption = "auto",
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
) -> None:
    """Parse texts: find the Penn tree of each sentence.

    [bold]Text:[/bold]  lexitree parse "It works. Try it!"

    [bold]A file:[/bold]  lexitree parse reviews.txt -o trees.jsonl

    [bold]A column:[/bold]  lexitree parse reviews.csv --column review -o trees.txt

    [bold]A picture:[/bold]  lexitree parse "It works." -o tree.svg

    [bold]The best trees:[/bold]  lexitree parse "I saw her duck." --kbest 5

    Texts are split into sentences and tokens. In brackets each sentence has one line or, with --kbest, a line
    `log probability<TAB>tree` for each tree and an empty line after the last; a text without words is an empty line.
    In JSON each sentence is one line: text_number and sentence (both from 0), start, end and tokens (which count
    characters of the text), and the tree as words and phrases (which count words) or, with --kbest, a list of such
    trees as parses, each with its log_probability.
    """
    from lexitree.limits import Limits
    from lexitree.pipeline.inputs import GivenText, Inputs
    from lexitree.pipeline.parsing import ParserSettings, ParsingJob

    if not inputs and not texts and sys.stdin.isatty():
        raise typer.BadParameter("a text is needed", ctx=context)
    arguments = (*(inputs or ()), *map(GivenText, texts or ())) or ("-",)
    if tokenized and one_sentence:
        raise typer.BadParameter("--tokenized already takes each text as one sentence", ctx=context)
    layout = "tokens" if tokenized else "one" if one_sentence else "text"
    limits = Limits.from_assignments(limit or [])
    job = ParsingJob(
        Inputs(arguments, input_kind, encoding, on_error),
        output,
        ParserSettings(parser, device, style, layout, limits),
        format=format_name,
        column=column,
        k=kbest,
    )
    report = job.run()
    show_skipped(report.num_errors, report.errors, what="rows")
