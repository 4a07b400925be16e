"""`lexitree predict`: a model and trees or text in; labels, probabilities and head words out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lexitree.cli.options import (
    BackendOption,
    DeviceOption,
    EncodingOption,
    OnErrorOption,
    OutputOption,
    PrecisionOption,
    flag,
)
from lexitree.cli.text_arguments import (
    InputKindOption,
    ModelOption,
    ModelOrInputArgument,
    OneSentenceOption,
    ParserOption,
    read_arguments,
)
from lexitree.cli.text_output import TextForm

if TYPE_CHECKING:
    from lexitree.cli.text_inputs import Inputs
    from lexitree.pipeline.predictor import Prediction, Predictor

Format = Literal["draw", "jsonl", "brackets", "svg", "json", "table", "tree", "html", "csv"]
OTHER_NAMES: dict[Format, Format] = {"json": "jsonl", "tree": "draw"}
TREE_FORMATS: tuple[Format, ...] = ("draw", "jsonl", "brackets", "svg", "html")
TEXT_FORMS: dict[Format, TextForm] = {
    "draw": "tree",
    "jsonl": "json",
    "tree": "tree",
    "json": "json",
    "table": "table",
    "csv": "csv",
    "brackets": "brackets",
    "svg": "svg",
    "html": "html",
}
"""The formats of text: those of trees under plainer names, and tables."""
FORMATS_OF_FILES: dict[str, Format] = {".svg": "svg", ".html": "html", ".htm": "html"}

TEXT = "Text"
"""The heading of the options that are for text only."""


def predict_command(
    context: typer.Context,
    model: ModelOrInputArgument = None,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files of trees or texts, or texts themselves; nothing or - reads standard input."
        ),
    ] = None,
    output: OutputOption = None,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            "-f",
            help="draw or tree (default on a screen), json or jsonl (default else), brackets, svg or html (for files "
            "of that name); for text also table, for columns csv.",
        ),
    ] = None,
    nodes: Annotated[
        Literal["all", "root"], typer.Option(help="Label all phrases, or the whole sentences only.")
    ] = "all",
    head_weights: Annotated[
        bool,
        flag(
            "--head-weights", text="In JSON, give the weights of all words of a phrase, not its head's only."
        ),
    ] = False,
    input_kind: InputKindOption = "auto",
    model_name: ModelOption = None,
    parser: ParserOption = None,
    column: Annotated[
        str | None,
        typer.Option(
            help="Label this column of CSV or JSON Lines; the others are passed through.",
            rich_help_panel=TEXT,
        ),
    ] = None,
    phrases: Annotated[
        bool,
        flag("--phrases", text="Add the phrases as JSON to a column, or list them in a table.", panel=TEXT),
    ] = False,
    prefix: Annotated[
        str, typer.Option(help="What the names of the added columns begin with.", rich_help_panel=TEXT)
    ] = "",
    resume: Annotated[
        bool, flag("--resume", text="Go on with the output file of a stopped run.", panel=TEXT)
    ] = False,
    one_sentence: OneSentenceOption = False,
    batch_size: Annotated[
        int, typer.Option(min=1, help="How many sentences are labelled together.", rich_help_panel=TEXT)
    ] = 256,
    jobs: Annotated[
        int,
        typer.Option(
            min=1, help="How many processes label texts, each on a core of its own.", rich_help_panel=TEXT
        ),
    ] = 1,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
    precision: PrecisionOption = "float32",
) -> None:
    """Label every phrase of trees or of text, with probabilities and head words.

    [bold]Look at one:[/bold]  echo "(_ (_ Not) (_ (_ very) (_ good)))" | lexitree predict runs/mini/model

    [bold]Label a file:[/bold]  lexitree predict runs/mini/model trees.txt -o labelled.jsonl

    [bold]A picture:[/bold]  lexitree predict runs/mini/model trees.txt -o trees.svg

    [bold]Text:[/bold]  lexitree predict "Not very good."

    [bold]A column:[/bold]  lexitree predict reviews.csv --column review -o out.csv

    [bold]By another model:[/bold]  lexitree predict runs/mini/model "Not very good." --parser builtin

    Trees are brackets, one a line or spread over lines, or .jsonl. For the model deptree they are dependency trees:
    .toks with .dparents beside it, or .jsonl with parents. Their own labels are not looked at (write _ where there is
    none). Each line of JSON is one sentence; each phrase has start and end (words), label, probabilities,
    head (the number of its head word), head_word and head_weight (its share of the phrase's head vector), and with
    --head-weights also head_weights, the shares of all its words.
    A picture has all sentences below each other: colours are labels, boxes hold head words, thick lines lead to them,
    and hovering shows probabilities.

    What does not begin with a bracket is text, one a line, and needs a parser, which models of the package have. Each
    line of JSON is then one text with its sentences and phrases, whose start and end count characters. With --column,
    rows come out as they went in with label and probability added. With --resume, a stopped run is gone on with: a
    torn last line is cut off.
    """
    from lexitree.cli.console import show_skipped
    from lexitree.cli.text_inputs import Inputs
    from lexitree.cli.text_labelling import LabellerSetup
    from lexitree.trees.brackets import ReadReport

    arguments = read_arguments(context, model, inputs or [], model_name)
    setup = LabellerSetup(
        arguments, parser, device, backend, precision, batch_size, one_sentence, head_weights
    )
    if head_weights:
        refuse_head_weights({"--nodes root": nodes == "root", "--column": column is not None})
    report = ReadReport()
    source = Inputs(arguments.inputs, input_kind, encoding, on_error, report)
    if column is None and source.hold_trees():
        refuse_for_trees(
            {
                "--phrases": phrases,
                "--resume": resume,
                "--prefix": bool(prefix),
                "--one-sentence": one_sentence,
                "--jobs": jobs > 1,
            }
        )
        form = OTHER_NAMES.get(form, form) if form else None
        predict_trees(setup.load(), source, output, form, nodes, head_weights=head_weights)
        show_skipped(report.num_errors, report.errors)
        return
    from contextlib import ExitStack

    from lexitree.cli.predict_texts import TextJob
    from lexitree.cli.text_workers import TextWorkers

    refuse_for_text({"--nodes root": nodes == "root"})
    with ExitStack() as resources:
        labeller = setup.open(resources) if jobs == 1 else resources.enter_context(TextWorkers(setup, jobs))
        job = TextJob(labeller, source, output, column, prefix, phrases, head_weights)
        job.run(None if form is None else TEXT_FORMS[form], resume=resume)
    show_skipped(report.num_errors, report.errors, what="rows")


def refuse_head_weights(options: dict[str, bool]) -> None:
    """Where no phrase is written out, there are no weights to give."""
    from lexitree.errors import ConfigError

    wrong = [option for option, is_given in options.items() if is_given]
    if wrong:
        raise ConfigError(f"--head-weights needs the JSON of phrases, which {wrong[0]} does not give")


def refuse_for_trees(options: dict[str, bool]) -> None:
    """Options that would have no effect are errors."""
    from lexitree.errors import ConfigError

    wrong = [option for option, is_given in options.items() if is_given]
    if wrong:
        raise ConfigError(
            f"{', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} for text, and the input is trees",
            remedy="If it is text that begins with a bracket, say --input text.",
        )


def refuse_for_text(options: dict[str, bool]) -> None:
    from lexitree.errors import ConfigError

    wrong = [option for option, is_given in options.items() if is_given]
    if wrong:
        raise ConfigError(f"{', '.join(wrong)} is for trees, and the input is text")


def predict_trees(
    predictor: Predictor,
    source: Inputs,
    output: Path | None,
    form: Format | None,
    nodes: Literal["all", "root"],
    *,
    head_weights: bool = False,
) -> None:
    """Label trees, one prediction after the other."""
    from lexitree.cli.console import output as screen
    from lexitree.cli.console import show_tree
    from lexitree.cli.streams import open_output
    from lexitree.errors import ConfigError

    form = form or _default_form(output, screen.is_terminal)
    if form not in TREE_FORMATS:
        raise ConfigError(f"the format {form} is for text", remedy=f"For trees: {', '.join(TREE_FORMATS)}.")
    if head_weights and form != "jsonl":
        raise ConfigError(f"--head-weights is for JSON, not for {form}", remedy="Add --format json.")
    config = predictor.model.config
    names = dict(zip(config.labels, config.label_set.names, strict=True))
    with open_output(output) as write:
        predictions = predictor.predict_all(source.trees(), nodes=nodes)
        if form in ("svg", "html"):
            write(_whole_file(predictions, form, config.labels, names))
        for prediction in predictions:
            if form == "draw" and output is None:
                show_tree(prediction.named_tree(names), prediction.notes(), names.values())
            else:
                for line in _lines(prediction, form, names, head_weights):
                    write(line + "\n")


def _default_form(output: Path | None, on_screen: bool) -> Format:
    if output is not None and output.suffix in FORMATS_OF_FILES:
        return FORMATS_OF_FILES[output.suffix]
    return "draw" if output is None and on_screen else "jsonl"


def _whole_file(
    predictions: Iterable[Prediction], form: Format, labels: tuple[str, ...], names: dict[str, str]
) -> str:
    """All predictions in one picture or on one page, whose size is known only when all are there."""
    from lexitree.views.page import explain_trees, explanation_page
    from lexitree.views.svg import draw_svg

    if form == "html":
        return explanation_page(explain_trees([prediction.explained() for prediction in predictions]))
    return draw_svg([prediction.picture() for prediction in predictions], labels, names)


def _lines(prediction: Prediction, form: Format, names: dict[str, str], head_weights: bool) -> Iterator[str]:
    """A prediction in a format, line by line."""
    from lexitree.trees.brackets import tree_to_brackets

    if form == "jsonl":
        yield json.dumps(prediction.as_dict(head_weights=head_weights), ensure_ascii=False)
    elif form == "brackets":
        yield tree_to_brackets(prediction.tree)
    else:
        yield from prediction.draw(names)
        yield ""
