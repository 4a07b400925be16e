"""`lexitree reproduce`: the paper's experiments, each by its name, as a table beside the paper's figures."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lexitree.cli.options import DataOption, DeviceOption, JsonOption, flag

if TYPE_CHECKING:
    from lexitree.reproduction.experiments import Experiment, PlannedRun
    from lexitree.reproduction.tables import ScoreTable
    from lexitree.training.recipe import Recipe
    from lexitree.training.seeds import OnEvent


def reproduce_command(
    name: Annotated[
        str | None, typer.Argument(help="The experiment; without one, all of them are listed.")
    ] = None,
    smoke: Annotated[
        bool, flag("--smoke", text="A trial of seconds: embedded corpora, tiny models, one epoch.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this run of the experiment; may be given several times.")
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
    device: DeviceOption = "auto",
    precision: Annotated[
        str, typer.Option(help="float32, or tf32: faster on a GPU, fewer digits.")
    ] = "float32",
    folder: Annotated[
        Path, typer.Option("--output", "-o", help="Where runs go: checkpoints and models.")
    ] = Path("runs/reproduce"),
    results: Annotated[Path, typer.Option(help="Where records go: a small file a run.")] = Path("results"),
    as_json: JsonOption = False,
) -> None:
    """Run one of the paper's experiments and print its table beside the paper's figures.

    [bold]See what there is:[/bold]  lexitree reproduce

    [bold]Try one in seconds:[/bold]  lexitree reproduce main-table --smoke

    [bold]Run it:[/bold]  lexitree reproduce main-table --vectors glove.840B.300d.zip --device cuda

    Each run (a system with all its seeds) leaves a record; what is recorded is not run again, and a run that was cut
    goes on where it was. So the same command can be given until all is done.
    """
    from lexitree.cli.console import choose_device, output, parse_seeds
    from lexitree.reproduction.experiments import find_experiment
    from lexitree.reproduction.runner import Settings, run_experiment
    from lexitree.reproduction.tables import make_table, read_records

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
        device="cpu" if table else choose_device(device),
        precision=precision,
        smoke=smoke,
        again=again,
    )
    if table:
        records = read_records(experiment, results / "smoke" if smoke else results)
    else:
        records = run_experiment(experiment, settings, watch=_watch)
    made = make_table(experiment, records)
    if as_json:
        output.print_json(data=_as_dict(experiment, made))
    else:
        _show(experiment, made)


def _keep_only(experiment: Experiment, only: list[str] | None) -> Experiment:
    """The experiment with the named runs alone."""
    import dataclasses

    from lexitree.errors import ConfigError

    if not only:
        return experiment
    known = [run.name for run in experiment.runs]
    unknown = [name for name in only if name not in known]
    if unknown:
        raise ConfigError(
            f"{experiment.name} has no run called {', '.join(unknown)}",
            remedy=f"Its runs are: {', '.join(dict.fromkeys(known))}.",
        )
    rows = {
        system: {task: run for task, run in tasks.items() if run.name in only}
        for system, tasks in experiment.rows.items()
    }
    return dataclasses.replace(experiment, rows={system: tasks for system, tasks in rows.items() if tasks})


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
    from lexitree.reproduction.experiments import list_experiments
    from lexitree.reproduction.tables import read_records

    experiments = list_experiments()
    if as_json:
        output.print_json(
            data=[
                {
                    "name": experiment.name,
                    "title": experiment.title,
                    "about": experiment.about,
                    "runs": list(dict.fromkeys(run.name for run in experiment.runs)),
                    "recorded": sorted(read_records(experiment, results)),
                }
                for experiment in experiments
            ]
        )
        return
    listing = Table("experiment", "what", "recorded", title="the paper's experiments")
    for experiment in experiments:
        names = {run.name for run in experiment.runs}
        done = len(read_records(experiment, results))
        listing.add_row(experiment.name, f"{experiment.title}: {experiment.about}", f"{done} of {len(names)}")
    output.print(listing)


def _show(experiment: Experiment, made: ScoreTable) -> None:
    from rich.table import Table

    from lexitree.cli.console import output

    listing = Table(title=experiment.title, caption="; ".join(made.notes))
    for number, column in enumerate(made.columns):
        listing.add_column(column, justify="left" if number == 0 else "right")
    for row in made.rows:
        listing.add_row(*row)
    output.print(listing)


def _as_dict(experiment: Experiment, made: ScoreTable) -> dict[str, Any]:
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "rows": [dict(zip(made.columns, row, strict=True)) for row in made.rows],
        "notes": list(made.notes),
    }
