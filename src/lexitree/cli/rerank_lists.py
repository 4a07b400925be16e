"""`lexitree rerank lists`: the recipe of a parser in, honest lists of the sentences it is trained on out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexitree.cli.options import DataOption, DeviceOption, flag
from lexitree.cli.recipe_options import plan_recipe

if TYPE_CHECKING:
    from lexitree.cli.progress import EpochPrinter


def lists_command(
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The file that the lists go to.")],
    recipe: Annotated[
        Path, typer.Option(help="The TOML recipe of the parser, as for `lexitree parser train`.")
    ],
    folder: Annotated[Path, typer.Option("--runs", help="Where the parsers of the folds go.")] = Path(
        "runs/jackknife"
    ),
    folds: Annotated[int, typer.Option(help="Into how many parts the sentences are cut.", min=2)] = 5,
    kbest: Annotated[
        int, typer.Option("--kbest", "-k", help="How many trees a sentence.", min=1, max=1000)
    ] = 8,
    epochs: Annotated[
        int | None, typer.Option(help="How often each parser sees its trees. Default: the recipe's.", min=1)
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="The most that the training of one parser may take.", min=0)
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(help="How many parsers are trained at the same time; one GPU has room for all.", min=1),
    ] = 1,
    quiet: Annotated[bool, flag("--quiet", "-q", text="No progress, only the result.")] = False,
    data: DataOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Write honest lists of the sentences that our own parser is trained on (jack-knifing).

    [bold]Then train on them:[/bold]  lexitree rerank lists lists.jsonl --recipe recipes/parsing/parser.toml
    --device cuda

    A parser has its training sentences by heart: its lists of them are too good, and a reranker would learn to
    trust them. So the training treebanks of the recipe are cut into parts, and each part is parsed by a parser that
    was trained on the others. The same command goes on where it was cut, with as many --jobs as you like.
    """
    from lexitree.cli.console import messages
    from lexitree.cli.console import output as console
    from lexitree.ops.devices import choose_device
    from lexitree.tasks.parse.recipe import ParserRecipe
    from lexitree.tasks.rerank.jackknife import write_jackknife_lists

    planned = plan_recipe(ParserRecipe.from_toml(recipe), {"training.epochs": epochs}, None)
    num_lists = write_jackknife_lists(
        planned,
        folder,
        output,
        num_folds=folds,
        k=kbest,
        jobs=jobs,
        on_fold=lambda fold: None if quiet else messages.print(f"fold {fold} of {folds} is done"),
        data=data,
        device=choose_device(device),
        minutes=minutes,
        observer_of=None if quiet else _observer_of,
    )
    console.print(f"{num_lists:,} lists: {output}", soft_wrap=True)


def _observer_of(fold: int) -> EpochPrinter:
    """Called where the fold is trained, which may be another process."""
    from lexitree.cli.progress import EpochPrinter

    return EpochPrinter(f"fold {fold} ")
