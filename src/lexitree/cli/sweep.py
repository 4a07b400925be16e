"""`lexitree sweep`: try other settings of a recipe and keep those with the best development score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from lexitree.cli.console import parse_seeds
from lexitree.cli.options import (
    BackendOption,
    DeviceOption,
    QuietOption,
    ResumeOption,
    SetOption,
    help_settings,
    plan_recipe,
)
from lexitree.settings import MAX_COUNT, MAX_PROCESSES

_Recipe = Annotated[
    Path,
    typer.Argument(metavar="RECIPE", help="The recipe whose settings are varied: a TOML file or a name."),
]
_Space = Annotated[
    Path, typer.Argument(metavar="SPACE", help="What is varied and how, a TOML file; see above.")
]
_Folder = Annotated[
    Path, typer.Option("--output", "-o", help="Folder of the sweep: its trials, the report, the best recipe.")
]
_Trials = Annotated[
    int | None,
    typer.Option(
        help="Number of trials. Default: every point of a grid, or 20.",
        min=1,
        max=MAX_COUNT,
        show_default=False,
    ),
]
_Seeds = Annotated[
    str | None,
    typer.Option(
        help="Seeds of each trial, whose scores are averaged: 3, 1,2,5 or 1-5. Default: 1.",
        show_default=False,
    ),
]
_Jobs = Annotated[int, typer.Option(help="Trials that run at the same time.", min=1, max=MAX_PROCESSES)]
_Engine = Annotated[
    Literal["local", "ray"], typer.Option(help="Processes on this machine (local), or Ray Tune (ray).")
]
_Address = Annotated[
    str | None,
    typer.Option(help="With --engine ray: the cluster. Default: Ray is started here.", show_default=False),
]
_Threads = Annotated[int, typer.Option(help="CPU threads of each trial.", min=1, max=MAX_PROCESSES)]
_Precision = Annotated[
    Literal["float32", "tf32"], typer.Option(help="Full precision, or faster and less exact on a GPU (tf32).")
]
_SETTINGS = ("lexitree.tasks.classify.recipe:Recipe", "lexitree.sweeps.search_space:SweepSettings")


def sweep_command(
    recipe: _Recipe,
    space: _Space,
    folder: _Folder,
    trials: _Trials = None,
    seeds: _Seeds = None,
    jobs: _Jobs = 1,
    engine: _Engine = "local",
    address: _Address = None,
    assignments: SetOption = None,
    list_settings: Annotated[bool, help_settings(*_SETTINGS)] = False,
    resume: ResumeOption = False,
    quiet: QuietOption = False,
    threads: _Threads = 1,
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
    precision: _Precision = "float32",
) -> None:
    """Try other settings of a recipe; the best by development score become a recipe of their own.

    [bold]Example:[/bold]  lexitree sweep recipe.toml space.toml -o runs/sweep --trials 30 --seeds 1-3 --jobs 2

    [bold]A space of ranges and choices:[/bold]  \\[space] "training.learning_rate" = {low = 1e-4, high = 1e-2,
    log = true} and "model.dropout" = \\[0.2, 0.3, 0.4]; with \\[sweep] sampler = "grid", every combination of
    choices is tried.

    [bold]Variants by name:[/bold]  \\[variants.wide] "model.hidden" = 300

    [bold]Afterwards:[/bold]  lexitree train --recipe runs/sweep/best.toml -o runs/best

    A trial that is worse than the median of the others at the same epoch is stopped. The test split is never used.
    --resume continues a sweep that was interrupted at any moment, and ends with the same trials if --jobs is
    the same.
    """
    from lexitree.cli.sweep_runs import run_sweep
    from lexitree.ops.devices import choose_device
    from lexitree.sweeps.search_space import read_space
    from lexitree.tasks.classify.recipe import find_recipe

    planned = plan_recipe(find_recipe(recipe), {}, assignments)
    changes = {"trials": trials, "seeds": tuple(parse_seeds(seeds)) if seeds else None}
    chosen = read_space(space, planned, {name: value for name, value in changes.items() if value is not None})
    run_sweep(
        planned,
        chosen,
        folder,
        engine=engine,
        address=address,
        resume=resume,
        quiet=quiet,
        jobs=jobs,
        options={
            "device": choose_device(device),
            "backend": backend,
            "threads": threads,
            "precision": precision,
        },
    )
