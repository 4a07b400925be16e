"""`lexitree drivers`: which phrases and head words make the texts of a table negative or positive."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexitree.cli.console import messages, percent, printable, show_skipped, show_table
from lexitree.cli.console import output as screen
from lexitree.cli.options import (
    BackendOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    OnErrorOption,
    ParserOption,
    PrecisionOption,
)
from lexitree.settings import MAX_COUNT, MAX_PROCESSES

if TYPE_CHECKING:
    from lexitree.analysis.driver_report import Driver, DriverReport

LONGEST_PHRASES = 24
"""How many columns the commonest phrases take on a screen."""


def drivers_command(
    table: Annotated[
        Path,
        typer.Argument(help="CSV, TSV, JSON Lines, or a file with a text per line; - is standard input."),
    ],
    column: Annotated[
        str | None,
        typer.Option("--column", "-c", help="The column that holds the texts.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A page (.html), or all drivers as .csv, .tsv or .json. By default, a table on the screen.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Compare the values of a column, or of a column of dates the periods: date:month, also year,"
            " quarter, week, day.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(help="Drivers of each label on the page and the screen.", min=1, max=MAX_COUNT)
    ] = 25,
    examples: Annotated[int, typer.Option(help="Examples of each driver.", min=0, max=MAX_COUNT)] = 3,
    model: Annotated[str, typer.Option("--model", "-m", help="The model.")] = "sentiment",
    parser: ParserOption = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_PROCESSES,
            help="Processes that label texts, one core each; by default 2, with the built-in parser.",
            show_default=False,
        ),
    ] = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
    precision: PrecisionOption = "float32",
    as_json: JsonOption = False,
) -> None:
    """Find out which phrases and head words make texts negative or positive.

    [bold]A page:[/bold]  lexitree drivers reviews.csv --column comment -o report.html

    [bold]By month:[/bold]  lexitree drivers reviews.csv --column comment --by date:month -o report.html

    [bold]Other labels:[/bold]  lexitree drivers questions.txt --model questions

    A driver is the head word, in lower case, of the smallest phrases that have the label. It is shown with the number
    of texts and of phrases, its share of all texts with a 95 % interval (Wilson), how many of these texts have the
    label as a whole, its commonest phrases, and examples that are linked to their rows. With --by, shares are
    compared between groups or periods.
    """
    from lexitree.analysis.driver_report import report_format
    from lexitree.errors import ConfigError
    from lexitree.files import to_json
    from lexitree.pipeline.file_drivers import find_drivers_in_file
    from lexitree.pipeline.workers import LabellerSettings
    from lexitree.trees.brackets import ReadReport

    if output is not None:
        report_format(output)
        if output.exists() and table.exists() and output.samefile(table):
            raise ConfigError(f"{output} is the input as well", remedy="Use another output file.")
    skipped = ReadReport()
    with _progress() as show:
        report = find_drivers_in_file(
            table,
            column,
            by=by,
            labeller=LabellerSettings(model, parser, device, backend, precision),
            num_workers=jobs or (2 if parser is None or parser.startswith("builtin") else 1),
            num_examples=examples,
            encoding=encoding,
            on_error=on_error,
            report=skipped,
            on_progress=show,
        )
    show_skipped(skipped.num_errors, skipped.errors, what="rows")
    if output is not None:
        report.save(output, most=top)
    if as_json:
        typer.echo(to_json(report.as_dict(), indent=2))
    elif output is None:
        _show_report(report, top)


@contextmanager
def _progress() -> Generator[Callable[[int], object]]:
    if not messages.is_terminal:
        yield lambda _: None
        return
    with messages.status("labelling texts") as status:
        yield lambda num_done: status.update(f"labelling texts: {num_done:,}")


def _show_report(report: DriverReport, top: int) -> None:
    shares = ", ".join(
        f"{printable(label)} {percent(share.value)} %" for label, share in report.text_labels.items()
    )
    screen.print(f"{report.num_texts:,} texts: {shares}", markup=False)
    for label in report.labels:
        if drivers := report.of(label, top):
            _show_drivers(report, label, drivers)


def _show_drivers(report: DriverReport, label: str, drivers: tuple[Driver, ...]) -> None:
    numbers = {
        "texts": [f"{driver.texts.count:,}" for driver in drivers],
        "share": [percent(driver.texts.value) for driver in drivers],
        "95 %": ["–".join(map(percent, driver.texts.interval)) for driver in drivers],
        "of these": [percent(driver.labelled.value) for driver in drivers],
    }
    if len(report.groups or {}) > 1:
        numbers["change"] = list(map(_shown_change, drivers))
    columns = {
        "head word": [printable(driver.head) for driver in drivers],
        **numbers,
        "phrases": list(map(_shown_phrases, drivers)),
    }
    if not any(columns["phrases"]):
        del columns["phrases"]
    title = f"what makes texts {printable(label)}"
    show_table(list(columns), zip(*columns.values(), strict=True), title=title, numbers=list(numbers))


def _shown_change(driver: Driver) -> str:
    difference, (low, high) = driver.change or (0.0, (0.0, 0.0))
    return f"{100 * difference:+.1f}{'' if low <= 0 <= high else '*'}"


def _shown_phrases(driver: Driver) -> str:
    phrases = ", ".join(phrase for phrase, _ in driver.phrases if phrase != driver.head)
    shown = printable(phrases)
    return shown if len(shown) <= LONGEST_PHRASES else shown[: LONGEST_PHRASES - 1] + "…"
