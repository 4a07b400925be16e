"""`lexitree parser`: train a constituency parser and score it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from lexitree.cli.console import output, percent, show_skipped
from lexitree.cli.options import (
    DataOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    KBestOption,
    MinutesOption,
    OnErrorOption,
    QuietOption,
    ResumeOption,
    RunFolderOption,
    SetOption,
    StyleOption,
    complete_models,
    flag,
    help_settings,
    plan_recipe,
)
from lexitree.errors import FileError
from lexitree.settings import MAX_PROCESSES

app = typer.Typer(
    no_args_is_help=True,
    help="Constituency parsing: train a parser on Penn treebanks, and score it; lexitree parse parses text with it.",
)
ParserArgument = Annotated[
    str,
    typer.Argument(
        metavar="PARSER",
        help="A parser: `parser`, which comes with the package, or the directory of a saved one.",
        autocompletion=complete_models,
    ),
]


@app.command("train")
def train_command(
    folder: RunFolderOption,
    recipe: Annotated[Path, typer.Option(help="A TOML file of settings; other options override it.")],
    assignments: SetOption = None,
    list_settings: Annotated[bool, help_settings("lexitree.tasks.parse.recipe:ParserRecipe")] = False,
    data: DataOption = None,
    resume: ResumeOption = False,
    quiet: QuietOption = False,
    epochs: Annotated[int | None, typer.Option(help="Passes over the training trees.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed than the recipe's.")] = None,
    minutes: MinutesOption = None,
    small: Annotated[
        bool, flag("--small", text="Use the sizes of a parser of about 15 MB in place of the recipe's.")
    ] = False,
    threads: Annotated[int, typer.Option(help="CPU threads.", min=1, max=MAX_PROCESSES)] = 1,
    device: DeviceOption = "auto",
) -> None:
    """Train a parser, keep the best epoch by development F1, and score it on the recipe's test treebanks.

    [bold]On a GPU:[/bold]  lexitree parser train --recipe recipes/parsing/parser.toml -o runs/parser --device cuda

    The run leaves model/ (the parser), result.json (scores, settings, checksums), metrics.jsonl (a line per epoch)
    and checkpoint.safetensors. --resume continues a run that was interrupted at any moment.
    """
    from lexitree.cli.train_runs import run_parser
    from lexitree.ops.devices import choose_device
    from lexitree.ops.openmp import openmp_threads
    from lexitree.tasks.parse.recipe import ParserRecipe, small_sizes

    planned = ParserRecipe.from_toml(recipe)
    sizes = {f"model.{name}": size for name, size in small_sizes(planned).items()} if small else {}
    planned = plan_recipe(planned, {**sizes, "training.epochs": epochs, "training.seed": seed}, assignments)
    with openmp_threads(threads):
        run_parser(
            planned,
            folder,
            quiet=quiet,
            data=data,
            device=choose_device(device),
            minutes=minutes,
            resume=resume,
        )


@app.command("evaluate")
def evaluate_command(
    parser: ParserArgument,
    trees: Annotated[Path, typer.Argument(help="Gold Penn trees; - reads standard input.")],
    kbest: KBestOption = 1,
    style: StyleOption = None,
    as_json: JsonOption = False,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
) -> None:
    """Parse the words of gold trees and compare: labelled F1 as evalb counts it, tags and complete matches.

    Traces, function tags and ROOT are removed from the gold trees first; their tags tell what is punctuation. With
    --kbest 8 also the F1 of the best among the 8 most probable trees of each sentence.
    """
    from lexitree.parsers.penn_spans import clean_trees
    from lexitree.parsers.saved_parser import load_parser
    from lexitree.pipeline.inputs import read_tree_files
    from lexitree.tasks.parse.task import score_parser
    from lexitree.trees.brackets import ReadReport

    report = ReadReport()
    gold = list(clean_trees(read_tree_files([trees], encoding, on_error, report)))
    if not gold:
        raise FileError(trees, "has no trees")
    loaded = load_parser(parser, device=device, style=style)
    scores = score_parser(loaded, gold, k=kbest).as_dict()
    show_skipped(report.num_errors, report.errors)
    if as_json:
        output.file.write(json.dumps({"style": loaded.style, **scores}) + "\n")
        return
    output.print(
        f"{scores['sentences']:,} sentences:  F1 [bold]{percent(scores['f1'])}[/bold]"
        f"  precision {percent(scores['precision'])}  recall {percent(scores['recall'])}"
        f"  tags {percent(scores['tags'])}  complete {percent(scores['complete_match'])}"
        + (f"  best of {kbest} {percent(scores['oracle_f1'])}" if kbest > 1 else "")
    )
