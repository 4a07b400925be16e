"""The command `lexitree`: collects the subcommands, runs the one that was asked for, and shows errors."""

from __future__ import annotations

import atexit
import gc
import inspect
import os
import re
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

# Threads that wait by spinning slow each other down as soon as a core is shared. OpenMP reads this once, when torch
# is first imported, which the commands do only after this line.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import typer

from lexitree.cli.console import messages, printable, show_error
from lexitree.errors import LexitreeError, explain_missing, find_memory_error
from lexitree.plugins import Registry, Source, blame
from lexitree.processes import Terminated, interrupt_on_signals
from lexitree.streams import open_missing_streams, write_always, write_utf8
from lexitree.version import __version__

COMMANDS = {
    "train": "train.train_command",
    "sweep": "sweep.sweep_command",
    "evaluate": "evaluate.evaluate_command",
    "predict": "predict.predict_command",
    "explain": "explain.explain_command",
    "parse": "parse.parse_command",
    "search": "search.search_command",
    "drivers": "drivers.drivers_command",
    "serve": "serve.serve_command",
    "models": "models.models_command",
    "info": "models.info_command",
    "calibrate": "calibrate.calibrate_command",
    "pack": "pack.pack_command",
    "trees": "trees.app",
    "vectors": "vectors.app",
    "data": "data_command.app",
    "parser": "parser.app",
    "demo": "demo.demo_command",
}
"""The commands of this package and their places in `lexitree.cli`, in the order of the help."""

TRACEBACK_VARIABLE = "LEXITREE_TRACEBACK"
COMPLETION_VARIABLE = "_LEXITREE_COMPLETE"
"""Set by the shell's completion, which Typer installs with `--install-completion`."""


def _import_built_in(home: str) -> Any:
    module, _, attribute = home.partition(".")
    return getattr(import_module(f"lexitree.cli.{module}"), attribute)


def _admit(name: str, value: Any, source: Source) -> Callable[[], Any]:
    if not callable(value):
        raise TypeError("must be a function or a Typer app")
    return lambda: value


ALL_COMMANDS: Registry[Callable[[], Any]] = Registry(
    "command", {name: partial(_import_built_in, home) for name, home in COMMANDS.items()}, _admit
)
"""The commands of this package and of others, each as a function that imports it."""


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
    chosen = ALL_COMMANDS.working() if names is None else ((name, ALL_COMMANDS[name]) for name in names)
    for name, load in chosen:
        command = load()
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
    messages.out(printable(str(message)), highlight=False)


def _collect_seldom() -> None:
    """Look for garbage less often, and not once more at the end.

    Importing torch makes half a million objects that all stay: looking through them again and again would take a
    quarter of a second of a start that takes two.
    """
    gc.set_threshold(10_000, 10, 10)
    atexit.register(gc.freeze)


def _typed_words() -> list[str]:
    """The command line; while the shell completes it, what is typed so far."""
    if COMPLETION_VARIABLE not in os.environ:
        return sys.argv
    return (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()


def main() -> None:
    """Run the command line and exit.

    The exit status is 0 when all went well, 1 for a user's error, 2 for wrong usage and 70 for an error in lexitree.
    A command that was stopped has 128 plus the number of the signal: 130 by Ctrl-C, 143 by SIGTERM, and 141 if
    the reader of its output has closed the pipe.
    """
    _collect_seldom()
    open_missing_streams()
    # What is piped is UTF-8 on all systems, also where pipes have another encoding by default.
    write_utf8(sys.stdout)
    write_always(sys.stderr)
    warnings.showwarning = _show_warning
    interrupt_on_signals()
    try:
        asked = [name for name in _typed_words()[1:2] if name in ALL_COMMANDS]
        try:
            make_app(asked or None)(prog_name="lexitree")
        except SystemExit:
            # Here, and not when Python ends: a full disk or a closed pipe can still be reported.
            sys.stdout.flush()
            raise
    except BaseException as error:
        sys.exit(_report(error))


def _report(error: BaseException) -> int | str | None:
    """Show an error in one message, and return the exit status."""
    stopped = _find_interruption(error)
    if isinstance(stopped, KeyboardInterrupt):
        return 128 + (stopped.number if isinstance(stopped, Terminated) else signal.SIGINT)
    if stopped is not None:
        _discard_output()
        return _NOBODY_READS
    if isinstance(error, SystemExit):
        return error.code
    if isinstance(error, OSError):
        error = _describe_os_error(error)
    if isinstance(error, ModuleNotFoundError):
        error = explain_missing(error, "This command")
    shown = error if isinstance(error, LexitreeError) else find_memory_error(error)
    show_error(shown or _internal_error(error))
    return 1 if shown else _INTERNAL_ERROR


_NOBODY_READS = 128 + 13  # SIGPIPE, which Windows lacks
_INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h


def _find_interruption(error: BaseException) -> KeyboardInterrupt | BrokenPipeError | None:
    """Find what stopped the command: Typer turns it into an exit, with a status that depends on its version."""
    cause: BaseException | None = error
    while cause is not None and isinstance(cause, SystemExit | typer.Exit | typer.Abort):
        cause = cause.__context__
    return cause if isinstance(cause, KeyboardInterrupt | BrokenPipeError) else None


def _describe_os_error(error: OSError) -> LexitreeError:
    """Name the file of an error: standard output if its buffer cannot be written either, as on a full disk."""
    place = error.filename
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _discard_output()
        place = place or "the output"
    problem = error.strerror or str(error) or type(error).__name__
    return LexitreeError(f"{place}: {problem}" if place else problem)


def _discard_output() -> None:
    """Send what is still in the buffer of standard output nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _internal_error(error: BaseException) -> LexitreeError:
    """The last resort: an error that no one thought of, with its traceback in a file or on standard error."""
    trace = "".join(traceback.format_exception(error))
    where = ""
    if not os.environ.get(TRACEBACK_VARIABLE):
        with suppress(OSError):
            handle, where = tempfile.mkstemp(prefix="lexitree-", suffix=".traceback.txt")
            with open(handle, "w", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(trace)
            where = f"in {where}"
    if not where:
        sys.stderr.write(trace)
    summary = "".join(traceback.format_exception_only(error)).strip()
    owner = blame(error)
    return LexitreeError(
        f"internal error: {summary}",
        remedy=f"This is an error in {owner or 'lexitree'}: please report it with the traceback {where or 'above'}",
    )


if __name__ == "__main__":
    main()
