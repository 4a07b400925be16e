"""`lexitree reproduce`: the paper's experiments, each by its name, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lexitree.cli.options import DataOption, DeviceOption, JsonOption, flag

if TYPE_CHECKING:
    from lexitree.learning.seeds import OnEvent
    from lexitree.tasks.classify.recipe import Recipe
    from lexitree_paper.experiments import Experiment, PlannedRun
    from lexitree_paper.report import Report, Table


def reproduce_command(
    name: Annotated[
        str | None, typer.Argument(help="The experiment; without one, all of them are listed.")
    ] = None,
    smoke: Annotated[
        bool, flag("--smoke", text="A trial of seconds: embedded corpora, tiny models, one epoch.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only this run of the experiment, and its teachers; may be given several times."),
    ] = None,
    table: Annotated[bool, flag("--table", text="Run nothing: the table of what is recorded.")] = False,
    again: Annotated[bool, flag("--again", text="Run what is recorded already as well.")] = False,
    vectors: Annotated[Path | None, typer.Option(help="Word vectors: GloVe 840B, as the paper.")] = None,
    data: DataOption = None,
    seeds: Annotated[
        str | None, typer.Option(help="3, 1,2,5 or 1-5. Default: what the experiment asks for.")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Default: the recipe's.", min=1)] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Seeds trained at the same time. Default: one a core.", min=1)
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(help="reranking: stop after this long; the same command goes on.", min=0),
    ] = None,
    device: DeviceOption = "auto",
    precision: Annotated[
        str, typer.Option(help="float32, or tf32: faster on a GPU, fewer digits.")
    ] = "float32",
    folder: Annotated[
        Path, typer.Option("--output", "-o", help="Where runs go: checkpoints and models.")
    ] = Path("runs/reproduce"),
    results: Annotated[Path, typer.Option(help="Where records go: small files.")] = Path("results"),
    sentence: Annotated[
        list[str] | None,
        typer.Option(help="head-pictures: draw this tree in brackets as well; may be given several times."),
    ] = None,
    sentences: Annotated[
        Path | None, typer.Option(help="head-pictures: draw the trees of this file as well.")
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(
            help="Where pictures go. Default: docs/images; with --smoke, beside the records.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run one of the paper's experiments and print what came out beside the paper's figures.

    [bold]See what there is:[/bold]  lexitree reproduce

    [bold]Try one in seconds:[/bold]  lexitree reproduce main-table --smoke

    [bold]Run it:[/bold]  lexitree reproduce main-table --vectors glove.840B.300d.zip --device cuda

    [bold]Draw your own:[/bold]  lexitree reproduce head-pictures --sentence "(_ (_ not) (_ bad))"

    Each run (a system with all its seeds) leaves a record; what is recorded is not run again, and a run that was cut
    goes on where it was. So the same command can be given until all is done. An analysis (collins-overlap,
    head-pictures, error-analysis, accuracy-by-length) takes the models of such runs, trains those that are missing,
    and leaves a record of its own; with --again it is made anew, of the same models.
    """
    from lexitree.cli.console import output, parse_seeds
    from lexitree.ops.devices import choose_device
    from lexitree_paper.experiments import find_experiment
    from lexitree_paper.kinds import make_report, perform
    from lexitree_paper.runner import Settings
    from lexitree_paper.score_tables import read_records

    if name is None:
        _list_experiments(results, as_json)
        return
    experiment = _keep_only(find_experiment(name), only)
    settings = Settings(
        folder=folder,
        results=results,
        vectors=str(vectors) if vectors else None,
        data=str(data) if data else None,
        seeds=parse_seeds(seeds) if seeds else None,
        epochs=epochs,
        jobs=jobs,
        minutes=minutes,
        device="cpu" if table else choose_device(device),
        precision=precision,
        smoke=smoke,
        again=again,
        sentences=[*(sentence or ()), *_read_sentences(sentences)],
        pictures=pictures,
    )
    if not table:
        perform(experiment, settings, watch=_watch, say=_say)
    report = make_report(experiment, read_records(experiment, settings.records_folder))
    if as_json:
        output.print_json(data=_as_dict(experiment, report))
    else:
        _show(experiment, report, settings.pictures_folder)


def _read_sentences(path: Path | None) -> list[str]:
    """The trees of a file, in brackets."""
    from lexitree.corpora.treebank import read_any
    from lexitree.trees.brackets import tree_to_brackets

    return [] if path is None else [tree_to_brackets(tree) for tree in read_any(path)]


def _keep_only(experiment: Experiment, only: list[str] | None) -> Experiment:
    """The experiment with the named runs alone."""
    from lexitree.errors import ConfigError
    from lexitree_paper.experiments import SCORE_TABLE
    from lexitree_paper.kinds import RERANKING
    from lexitree_paper.reranking.plan import keep_systems

    if not only:
        return experiment
    if experiment.kind == RERANKING:
        return keep_systems(experiment, only)
    if experiment.kind != SCORE_TABLE:
        raise ConfigError(
            f"{experiment.name} is one analysis of all its runs",
            remedy="Leave out --only; it is for tables of scores.",
        )
    known = [run.name for run in experiment.runs]
    unknown = [name for name in only if name not in known]
    if unknown:
        raise ConfigError(
            f"{experiment.name} has no run called {', '.join(unknown)}",
            remedy=f"Its runs are: {', '.join(dict.fromkeys(known))}.",
        )
    return experiment.with_runs(only)


def _say(text: str) -> None:
    from lexitree.cli.console import messages

    messages.print(text, soft_wrap=True)


@contextmanager
def _watch(run: PlannedRun, recipe: Recipe) -> Generator[OnEvent, None, None]:
    """The name of the run, and its progress as `lexitree train` shows it."""
    from lexitree.cli.console import messages
    from lexitree.cli.progress import TrainingProgress

    messages.print(f"[bold]{run.name}[/bold]")
    with TrainingProgress(recipe.training.epochs) as progress:
        yield progress.on_event


def _list_experiments(results: Path, as_json: bool) -> None:
    from rich.table import Table

    from lexitree.cli.console import output
    from lexitree_paper.experiments import list_experiments
    from lexitree_paper.score_tables import read_records

    experiments = list_experiments()
    if as_json:
        output.print_json(
            data=[
                {
                    "name": experiment.name,
                    "title": experiment.title,
                    "about": experiment.about,
                    "kind": experiment.kind,
                    "runs": list(dict.fromkeys(run.name for run in experiment.runs)),
                    "recorded": sorted(read_records(experiment, results)),
                }
                for experiment in experiments
            ]
        )
        return
    listing = Table("experiment", "what", "recorded", title="the paper's experiments")
    for experiment in experiments:
        done = f"{len(read_records(experiment, results))} of {len(experiment.record_names)}"
        listing.add_row(experiment.name, f"{experiment.title}: {experiment.about}", done)
    output.print(listing)


def _show(experiment: Experiment, report: Report, pictures: Path) -> None:
    from lexitree.cli.console import output

    if not report.tables:
        output.print(f"{experiment.title}: nothing is recorded yet")
    for table in report.tables:
        _show_table(table, table.title or experiment.title)
    for picture in report.pictures:
        output.print(f"picture: {pictures / picture.file}", soft_wrap=True, markup=False)


def _show_table(table: Table, title: str) -> None:
    from rich import table as rich_table
    from rich.text import Text

    from lexitree.cli.console import output

    listing = rich_table.Table(title=title, caption="; ".join(table.notes))
    for number, column in enumerate(table.columns):
        side = "left" if number < table.num_text_columns else "right"
        listing.add_column(column, justify=side, overflow="fold")
    for row in table.rows:
        # Sentences may hold what rich would take for markup.
        listing.add_row(*map(Text, row))
    output.print(listing)


def _as_dict(experiment: Experiment, report: Report) -> dict[str, Any]:
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "tables": [
            {
                "title": table.title or experiment.title,
                "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
                "notes": list(table.notes),
            }
            for table in report.tables
        ],
        "pictures": [picture.file for picture in report.pictures],
    }
