"""The command `lexitree`: collects the subcommands, runs the one that was asked for, and shows errors."""

from __future__ import annotations

import atexit
import gc
import inspect
import os
import re
import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

# Threads that wait by spinning slow each other down as soon as a core is shared. OpenMP reads this once, when torch
# is first imported, which the commands do only after this line.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import typer

from lexitree.cli.console import messages, show_error
from lexitree.errors import LexitreeError
from lexitree.version import __version__

COMMANDS = {
    "train": "train.train_command",
    "evaluate": "evaluate.evaluate_command",
    "predict": "predict.predict_command",
    "explain": "explain.explain_command",
    "models": "models.models_command",
    "info": "models.info_command",
    "pack": "pack.pack_command",
    "analyze": "analyze.app",
    "trees": "trees.app",
    "vectors": "vectors.app",
    "data": "data_command.app",
    "parser": "parser.app",
    "rerank": "rerank.app",
    "demo": "demo.demo_command",
}
"""The commands of this package and their places in `lexitree.cli`, in the order of the help."""

COMMAND_GROUP = "lexitree.commands"
"""The entry points by which other packages add commands."""


def added_commands() -> dict[str, EntryPoint]:
    """The commands that installed packages add, by name."""
    return {found.name: found for found in entry_points(group=COMMAND_GROUP)}


def _import_command(name: str) -> Any:
    if name not in COMMANDS:
        return added_commands()[name].load()
    module, _, attribute = COMMANDS[name].partition(".")
    return getattr(import_module(f"lexitree.cli.{module}"), attribute)


def make_app(names: Iterable[str] | None = None) -> typer.Typer:
    """Build the command line with these commands; no others are imported, so that a command starts at once."""
    app = typer.Typer(
        name="lexitree",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help=(
            "Phrase-level text classification with head-lexicalized, bidirectional tree LSTMs.\n\n"
            "Give it text or trees; every phrase gets a label, a probability and a learned head word.\n\n"
            "[bold]Start here:[/bold]  lexitree demo\n\n"
            '[bold]Label text:[/bold]  lexitree predict "Not a bad film."\n\n'
            "[bold]Your own data:[/bold]  lexitree train my-treebank/ --output runs/mine, then "
            "lexitree predict runs/mine/model trees.txt"
        ),
    )
    app.callback()(common)
    for name in [*COMMANDS, *added_commands()] if names is None else names:
        command = _import_command(name)
        if isinstance(command, typer.Typer):
            _unwrap_help(command)
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    _unwrap_help(app)
    return app


def _unwrap_help(commands: typer.Typer) -> None:
    """Typer keeps the line breaks of docstrings, but a paragraph should fill the screen's width."""
    if isinstance(commands.info.help, str):
        commands.info.help = _unwrap(commands.info.help)
    for command in commands.registered_commands:
        command.help = _unwrap((command.callback and command.callback.__doc__) or "")


def _unwrap(text: str) -> str:
    return re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(text))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lexitree {__version__}")
        raise typer.Exit


def common(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_show_version,
        is_eager=True,
        metavar="",
        help="Show the version and stop.",
    ),
) -> None:
    del version


def _show_warning(message: Warning | str, *_: object) -> None:
    messages.print("[yellow]warning:[/yellow]", end=" ")
    messages.out(str(message), highlight=False)


def _collect_seldom() -> None:
    """Look for garbage less often, and not once more at the end.

    Importing torch makes half a million objects that all stay: looking through them again and again would take a
    quarter of a second of a start that takes two.
    """
    gc.set_threshold(10_000, 10, 10)
    atexit.register(gc.freeze)


def main() -> None:
    """Run the command line; 0 when all went well, 1 for a user's error, 2 for wrong usage."""
    _collect_seldom()
    warnings.showwarning = _show_warning
    try:
        asked = [name for name in sys.argv[1:2] if name in COMMANDS]
        make_app(asked or None)(prog_name="lexitree")
    except LexitreeError as error:
        show_error(error)
        sys.exit(1)
    except OSError as error:
        # A full disk behind standard output, say. What is still in the buffer cannot be written either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        show_error(LexitreeError(f"{error.filename or 'the output'}: {error.strerror or error}"))
        sys.exit(1)


if __name__ == "__main__":
    main()
