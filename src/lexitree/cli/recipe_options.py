"""The options that all training commands share, among them --recipe, --set and --help-settings."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from lexitree.cli.options import flag

if TYPE_CHECKING:
    from lexitree.settings import DeclaredSetting, Settings

Recipe = TypeVar("Recipe", bound="Settings")

RunFolderOption = Annotated[
    Path, typer.Option("--output", "-o", help="Folder of the run: checkpoint, metrics, model, scores.")
]
ResumeOption = Annotated[bool, flag("--resume", text="Continue an interrupted run.")]
QuietOption = Annotated[bool, flag("--quiet", "-q", text="Print only the result.")]
MinutesOption = Annotated[
    float | None,
    typer.Option(
        help="Start no epoch that would end later than this; --resume continues.", min=0, show_default=False
    ),
]
RecipeOption = Annotated[
    Path | None,
    typer.Option("--recipe", help="A TOML file of settings; other options override it.", show_default=False),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change any setting, such as training.averaging=0.99; can be repeated.",
        show_default=False,
    ),
]


def help_settings(home: str) -> Any:
    """The option --help-settings of a command whose recipe class is at `home`, such as `package.module:Class`."""

    def show(is_given: bool) -> None:
        if is_given:
            module, _, name = home.partition(":")
            width = min(shutil.get_terminal_size().columns, 100)
            typer.echo("\n".join(_settings_page(getattr(import_module(module), name), width)))
            raise typer.Exit

    return typer.Option(
        "--help-settings",
        metavar="",
        help="List all settings with defaults, ranges and help, and exit.",
        callback=show,
        is_eager=True,
    )


def plan_recipe(recipe: Recipe, values: Mapping[str, object], assignments: Sequence[str] | None) -> Recipe:
    """A recipe with the options that were given, and then with what --set says."""
    given = {
        name: str(value) if isinstance(value, Path) else value
        for name, value in values.items()
        if value is not None
    }
    return recipe.with_values({**given, **recipe.parse_assignments(assignments or ())})


def _settings_page(recipe: type[Settings], width: int) -> Iterator[str]:
    """All settings of a recipe, by table."""
    tables: dict[str, list[DeclaredSetting]] = {"": []}
    for each in recipe.describe():
        tables.setdefault(each.name.rpartition(".")[0], []).append(each)
    yield "Give settings in a recipe (TOML), or as --set NAME=VALUE."
    for table, settings in tables.items():
        name = table.removesuffix("[]")
        title = f"[[{name}]]" if table != name else f"[{name}]"
        yield ""
        yield from [] if not table else [f"{title}  {recipe.declared()[name].setting.help}", ""]
        for each in settings:
            yield from _setting_lines(each, width)


def _setting_lines(declared: DeclaredSetting, width: int) -> Iterator[str]:
    from lexitree.settings import REQUIRED

    if declared.default is REQUIRED:
        default = "required"
    else:
        default = "none" if declared.default is None else json.dumps(declared.default)
    accepted = ", ".join(filter(None, (declared.kind, declared.setting.range())))
    yield f"  {declared.name} = {default}  ({accepted})"
    indent = " " * 6
    yield from textwrap.wrap(declared.setting.help, width, initial_indent=indent, subsequent_indent=indent)
