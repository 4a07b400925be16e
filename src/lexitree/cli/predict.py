"""`lexitree predict`: label text or trees and write the results."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lexitree.cli.console import messages, show_skipped, show_tree
from lexitree.cli.console import output as screen
from lexitree.cli.options import (
    TEXT,
    BackendOption,
    DeviceOption,
    EncodingOption,
    InputKindOption,
    LabelsOption,
    LimitOption,
    ModelOption,
    ModelOrInputArgument,
    OnErrorOption,
    OneSentenceOption,
    ParserOption,
    PrecisionOption,
    TextOption,
    flag,
    read_arguments,
)
from lexitree.errors import ConfigError
from lexitree.pipeline import BATCH_SENTENCES, GPU_BATCH_SENTENCES, PART_ROWS
from lexitree.pipeline.known_formats import FORMATS
from lexitree.settings import MAX_BATCH, MAX_COUNT, MAX_PROCESSES

if TYPE_CHECKING:
    from lexitree.pipeline.labelling import LabellingJob
    from lexitree.pipeline.part_engine import PartEngine

    FormatName = str
else:
    # The choices are those of the registry, which type checkers cannot know.
    FormatName = Literal[tuple(FORMATS)]

InputsArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Texts, trees, or files of either; nothing or - reads standard input."),
]
FormatOption = Annotated[
    FormatName | None,
    typer.Option(
        "--format",
        "-f",
        help="tree, also called draw (default in a terminal), json (default elsewhere), brackets, svg, html; for text"
        " also table and csv. By default, the ending of the output file decides.",
    ),
]
NodesOption = Annotated[
    Literal["all", "root"], typer.Option(help="Label all phrases, or whole sentences only.")
]
HeadWeightsOption = Annotated[
    bool, flag("--head-weights", text="Add the weights of all words of each phrase to JSON.")
]
ColumnOption = Annotated[
    str | None,
    typer.Option(
        help="The column of CSV or JSON Lines to label; the others are copied.", rich_help_panel=TEXT
    ),
]
PhrasesOption = Annotated[
    bool, flag("--phrases", text="Add the phrases as JSON to a column, or list them in a table.", panel=TEXT)
]
PrefixOption = Annotated[
    str, typer.Option(help="A prefix for the names of added columns.", rich_help_panel=TEXT)
]
GuardOption = Annotated[
    bool,
    flag(
        "--guard-formulas", text="Put ' before cells of CSV that spreadsheets take for formulas.", panel=TEXT
    ),
]
ResumeOption = Annotated[
    bool, flag("--resume", text="Continue an interrupted run; drops a partial last line.", panel=TEXT)
]
BatchSizeOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MAX_BATCH,
        help=f"Sentences per batch (default: {BATCH_SENTENCES}; on a GPU, {GPU_BATCH_SENTENCES}).",
        rich_help_panel=TEXT,
    ),
]
ErrorsOption = Annotated[
    bool,
    flag(
        "--errors",
        text="Add a column that says why a text was refused, and keep its row without a label.",
        panel=TEXT,
    ),
]
ScoreOption = Annotated[
    bool,
    flag("--score", text="Add a column with the score, from -1 (negative) to 1 (positive).", panel=TEXT),
]
WarningsOption = Annotated[
    bool,
    flag(
        "--warnings",
        text="Add a column that says why a label may mean nothing, such as words that the model does not know.",
        panel=TEXT,
    ),
]
PartRowsOption = Annotated[
    int,
    typer.Option(
        min=1,
        max=MAX_COUNT,
        help="Rows per part in an output folder; of Parquet, each row group is a part.",
        rich_help_panel=TEXT,
    ),
]
PlaceOption = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        help="Output file, replaced only when complete; standard output by default. FOLDER/ or s3://... gets a part"
        " for each row group, or so many rows, and the same command adds those that are missing.",
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MAX_PROCESSES,
        help="Processes that label texts, one core each (default: 1; with --engine, all cores).",
        rich_help_panel=TEXT,
    ),
]
EngineOption = Annotated[
    Literal["ray"] | None,
    typer.Option(
        help="Label the parts of an output folder with Ray, on one machine or many.", rich_help_panel=TEXT
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        help="The Ray cluster, or auto to find it. By default, Ray is started here and ended afterwards.",
        rich_help_panel=TEXT,
    ),
]


def predict_command(
    context: typer.Context,
    model: ModelOrInputArgument = None,
    inputs: InputsArgument = None,
    output: PlaceOption = None,
    format_name: FormatOption = None,
    nodes: NodesOption = "all",
    head_weights: HeadWeightsOption = False,
    input_kind: InputKindOption = "auto",
    model_name: ModelOption = None,
    parser: ParserOption = None,
    texts: TextOption = None,
    column: ColumnOption = None,
    phrases: PhrasesOption = False,
    prefix: PrefixOption = "",
    guard_formulas: GuardOption = False,
    resume: ResumeOption = False,
    labels: LabelsOption = None,
    one_sentence: OneSentenceOption = False,
    batch_size: BatchSizeOption = None,
    limit: LimitOption = None,
    score: ScoreOption = False,
    jobs: JobsOption = None,
    engine: EngineOption = None,
    address: AddressOption = None,
    errors: ErrorsOption = False,
    warnings: WarningsOption = False,
    part_rows: PartRowsOption = PART_ROWS,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
    precision: PrecisionOption = "float32",
) -> None:
    """Label every phrase of texts or trees, with probabilities and head words.

    [bold]Text:[/bold]  lexitree predict "Not very good."

    [bold]A column:[/bold]  lexitree predict reviews.csv --column review -o labelled.csv

    [bold]Many files:[/bold]  lexitree predict 'data/*.parquet' --column review -o labelled/

    [bold]Many cores or machines:[/bold]  lexitree predict 'data/*.parquet' --column review -o labelled/ --engine ray

    [bold]Your own model:[/bold]  lexitree predict runs/mini/model "Not very good." --parser builtin

    [bold]Trees:[/bold]  lexitree predict runs/mini/model trees.txt -o labelled.jsonl

    [bold]A picture:[/bold]  lexitree predict "Not very good." -o tree.svg

    Input that does not begin with a bracket is text, one per line. It needs a parser, which the models of the package
    have. JSON has one line per text, with its sentences and phrases; start and end count characters. With --column,
    rows are copied, and label and probability are added. --resume continues an interrupted run with the same options,
    model and input, and drops a partial last line. Output files that end in .gz are compressed.

    Trees are in brackets, one per line or spread over lines, or in .jsonl; the model deptree reads dependency trees:
    .toks with .dparents beside it, or .jsonl with parents. Existing labels are ignored (write _ where there is none).
    JSON has one line per sentence; each phrase has start and end (words), label, probabilities, head (its head word),
    head_index (the number of that word in the sentence), head_weight (its share of the phrase's head vector) and,
    with --head-weights, head_weights, the shares of all its words. In pictures, colours show labels, boxes hold head
    words, thick lines lead to them, and hovering shows probabilities.
    """
    from lexitree.limits import Limits
    from lexitree.pipeline.inputs import Inputs
    from lexitree.pipeline.labelling import LabellingJob
    from lexitree.pipeline.workers import LabellerSettings

    name, arguments = read_arguments(context, model, inputs, model_name, texts)
    limits = Limits.from_assignments(limit or [])
    if format_name is None and output is None and column is None and screen.is_terminal:
        format_name = "tree"
    job = LabellingJob(
        Inputs(arguments, input_kind, encoding, on_error),
        output,
        LabellerSettings(
            name, parser, device, backend, precision, batch_size, one_sentence, limits=limits, labels=labels
        ),
        format=format_name,
        column=column,
        prefix=prefix,
        phrases=phrases,
        guard_formulas=guard_formulas,
        head_weights=head_weights,
        nodes=nodes,
        resume=resume,
        score=score,
        num_workers=1 if engine or not jobs else jobs,
        errors=errors,
        warnings=warnings,
        part_rows=part_rows,
        engine=_open_engine(engine, address, jobs),
    )
    _run(job)


def _open_engine(name: str | None, address: str | None, num_workers: int | None) -> PartEngine | None:
    if name is None:
        if address is not None:
            raise ConfigError("--address is for --engine ray")
        return None
    from lexitree.integrations.ray_engine import ray_engine

    return ray_engine(address, num_workers)


def _run(job: LabellingJob) -> None:
    """Run a job with a progress bar, or draw its trees in colours if they are for a screen."""
    if job.output is None and screen.is_terminal and job.output_format.name == "tree":
        for tree in job.trees():
            show_tree(tree)
    else:
        with _progress(job) as show:
            job.run(show)
    report = job.inputs.report
    is_trees = job.folder is None and job.source == "trees"
    show_skipped(report.num_errors, report.errors, what="trees" if is_trees else "rows")
    refused = job.refused
    show_skipped(
        refused.num_errors,
        refused.errors,
        what="texts",
        message="{what} without a label because they were refused: {number}",
    )
    show_skipped(
        job.failed.num_errors,
        job.failed.errors,
        what="texts",
        message="{what} that could not be labelled, listed in the files _failed-*.jsonl: {number}",
    )


@contextmanager
def _progress(job: LabellingJob) -> Generator[Callable[[int], object]]:
    """A bar on standard error with the number of texts, if that is a screen with nothing else on it."""
    is_quiet = not messages.is_terminal or (job.output is None and screen.is_terminal)
    if is_quiet or (job.folder is None and job.source == "trees"):
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("texts"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=messages, transient=True) as bars:
        task = bars.add_task("texts", total=job.count_texts())
        yield lambda num_done: bars.update(task, completed=num_done)
