"""`lexitree reproduce`: runs the paper's experiments by name and prints results beside the paper's figures."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lexitree.cli.console import messages, output, parse_seeds, show_table
from lexitree.cli.options import DataOption, DeviceOption, JsonOption, flag, number_option
from lexitree.errors import ConfigError
from lexitree.settings import MAX_COUNT, MAX_PROCESSES

if TYPE_CHECKING:
    from lexitree.learning.seeds import OnEvent
    from lexitree.tasks.classify.recipe import Recipe
    from lexitree_paper.experiments import Experiment, PlannedRun
    from lexitree_paper.report import Report, Table


_Repeated = list[str] | None
_ScaleOption = Annotated[
    bool, flag("--smoke", text="Smoke test: embedded corpora, tiny models, one epoch; takes seconds.")
]
_OnlyOption = Annotated[_Repeated, typer.Option(help="Only this run and its teachers; can be repeated.")]
_TableOption = Annotated[bool, flag("--table", text="Run nothing; print the table of recorded results.")]
_AgainOption = Annotated[bool, flag("--again", text="Also run what is already recorded.")]
_SeedsOption = Annotated[
    str | None, typer.Option(help="Seeds: 3, 1,2,5 or 1-5. Default: those of the experiment.")
]
_JobsOption = Annotated[
    int | None,
    typer.Option(help="Seeds trained at the same time. Default: one per core.", min=1, max=MAX_PROCESSES),
]
_MinutesOption = Annotated[
    float | None,
    number_option("reranking: stop after this time; the same command resumes.", most=MAX_COUNT),
]
_RunsOption = Annotated[Path, typer.Option("--output", "-o", help="Folder for checkpoints and models.")]
_ResultsOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder for records. Default: paper/results in a clone, otherwise results.", show_default=False
    ),
]
_SentenceOption = Annotated[
    _Repeated, typer.Option(help="head-pictures: also draw this tree in brackets; can be repeated.")
]
_PicturesOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder for pictures. Default: paper/docs/images in a clone, otherwise beside the records.",
        show_default=False,
    ),
]


def reproduce_command(
    name: Annotated[
        str | None, typer.Argument(help="The experiment; if omitted, all experiments are listed.")
    ] = None,
    smoke: _ScaleOption = False,
    only: _OnlyOption = None,
    table: _TableOption = False,
    again: _AgainOption = False,
    vectors: Annotated[Path | None, typer.Option(help="Word vectors; the paper uses GloVe 840B.")] = None,
    data: DataOption = None,
    seeds: _SeedsOption = None,
    epochs: Annotated[int | None, typer.Option(help="Default: the recipe's.", min=1, max=MAX_COUNT)] = None,
    jobs: _JobsOption = None,
    minutes: _MinutesOption = None,
    device: DeviceOption = "auto",
    precision: Annotated[
        str, typer.Option(help="float32, or tf32: faster and less exact on a GPU.")
    ] = "float32",
    folder: _RunsOption = Path("runs/reproduce"),
    results: _ResultsOption = None,
    sentence: _SentenceOption = None,
    sentences: Annotated[
        Path | None, typer.Option(help="head-pictures: also draw the trees of this file.")
    ] = None,
    pictures: _PicturesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run one of the paper's experiments and print the results beside the paper's figures.

    [bold]List them:[/bold]  lexitree reproduce

    [bold]Smoke test:[/bold]  lexitree reproduce main-table --smoke

    [bold]Run one:[/bold]  lexitree reproduce main-table --vectors glove.840B.300d.zip --device cuda

    [bold]Draw your own trees:[/bold]  lexitree reproduce head-pictures --sentence "(_ (_ not) (_ bad))"

    Each run (a system with all its seeds) writes a record. Recorded runs are skipped and interrupted ones resumed, so
    the same command can be repeated until everything is done. An analysis (collins-overlap, head-pictures,
    error-analysis, accuracy-by-length) uses the models of such runs, trains missing ones, and writes its own record;
    --again repeats it with the same models.
    """
    from lexitree.ops.devices import choose_device
    from lexitree_paper.experiments import find_experiment
    from lexitree_paper.kinds import make_report, perform
    from lexitree_paper.runner import Settings, default_results
    from lexitree_paper.score_tables import read_records

    results = results or default_results()
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
    """Return the trees of a file, in brackets."""
    from lexitree.corpora.treebank import read_any
    from lexitree.trees.brackets import tree_to_brackets

    return [] if path is None else [tree_to_brackets(tree) for tree in read_any(path)]


def _keep_only(experiment: Experiment, only: list[str] | None) -> Experiment:
    """Return the experiment with the named runs only."""
    from lexitree_paper.experiments import SCORE_TABLE
    from lexitree_paper.kinds import RERANKING
    from lexitree_paper.reranking.plan import keep_systems

    if not only:
        return experiment
    if experiment.kind == RERANKING:
        return keep_systems(experiment, only)
    if experiment.kind != SCORE_TABLE:
        raise ConfigError(
            f"{experiment.name} analyses all its runs together",
            remedy="Omit --only, which is for tables of scores.",
        )
    known = [run.name for run in experiment.runs]
    unknown = [name for name in only if name not in known]
    if unknown:
        raise ConfigError(
            f"{experiment.name} has no run {', '.join(unknown)}",
            remedy=f"Its runs are: {', '.join(dict.fromkeys(known))}.",
        )
    return experiment.with_runs(only)


def _say(text: str) -> None:
    messages.print(text, soft_wrap=True)


@contextmanager
def _watch(run: PlannedRun, recipe: Recipe) -> Generator[OnEvent, None, None]:
    """Show the name of a run and its progress, as `lexitree train` does."""
    from lexitree.cli.train_runs import TrainingProgress

    messages.print(f"[bold]{run.name}[/bold]")
    with TrainingProgress(recipe.training.epochs) as progress:
        yield progress.on_event


def _list_experiments(results: Path, as_json: bool) -> None:
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
    rows: list[list[str]] = []
    for experiment in experiments:
        done = f"{len(read_records(experiment, results))} of {len(experiment.record_names)}"
        rows.append([experiment.name, f"{experiment.title}: {experiment.about}", done])
    show_table(("experiment", "description", "recorded"), rows, title="the paper's experiments", numbers=())


def _show(experiment: Experiment, report: Report, pictures: Path) -> None:
    if not report.tables:
        output.print(f"{experiment.title}: nothing recorded yet")
    for table in report.tables:
        _show_table(table, table.title or experiment.title)
    for picture in report.pictures:
        output.print(f"picture: {pictures / picture.file}", soft_wrap=True, markup=False)


def _show_table(table: Table, title: str) -> None:
    show_table(table.columns, table.rows, title=title, numbers=table.columns[table.num_text_columns :])
    if table.notes:
        output.print("; ".join(table.notes), markup=False)


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
