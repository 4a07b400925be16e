"""Recipes by file or by name; a name is that of a recipe of lexitree or of another package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from lexitree.errors import ConfigError
from lexitree.installation import install_package_command
from lexitree.plugins import Registry, Source
from lexitree.suggestions import close_names, did_you_mean
from lexitree.tasks.classify.recipe import Recipe

_PACKAGE = Path(__file__).parents[2]
_PAPER = ("lexitree-paper", "paper")
"""The package of the paper's recipes and its folder in the repository."""


def _admit(name: str, value: Any, source: Source) -> Mapping[str, Recipe]:
    del name, source
    if not isinstance(value, Mapping):
        raise TypeError("must be a mapping of names to recipes")
    return cast(Mapping[str, Recipe], value)


RECIPE_TABLES: Registry[Mapping[str, Recipe]] = Registry("recipe table", admit=_admit)
"""The recipes that other packages add, a table for each package."""


def own_recipes() -> dict[str, Path]:
    """The recipes of lexitree for classifiers: their names and files."""
    # A wheel has the folder inside the package, a checkout at its root.
    folder = next((each for each in (_PACKAGE, _PACKAGE.parents[1]) if (each / "recipes").is_dir()), _PACKAGE)
    return {path.stem: path for path in sorted((folder / "recipes").glob("*.toml"))}


def find_recipe(recipe: str | Path) -> Recipe:
    """Read a recipe.

    Args:
        recipe: A TOML file, or the name of a recipe of lexitree or of another package.

    Raises:
        ConfigError: There is no recipe of that name.
        FileError: The file cannot be read or holds settings that are not accepted.
    """
    path, name = Path(recipe), str(recipe)
    if path.suffix == ".toml" or path.name != name or path.is_file():
        return Recipe.from_toml(path)
    own = own_recipes()
    if name in own:
        return Recipe.from_toml(own[name])
    tables = [table for _, table in RECIPE_TABLES.working()]
    for table in tables:
        if name in table:
            return table[name]
    known = [*own, *(each for table in tables for each in table)]
    remedy = did_you_mean(close_names(name, known)) or f"The recipes are: {', '.join(known)}."
    remedy += " A recipe of your own is a file whose name ends in .toml."
    if "paper" not in RECIPE_TABLES:
        remedy += f"\nThe paper's recipes are in another package: {install_package_command(*_PAPER)}"
    raise ConfigError(f"unknown recipe '{name}'", remedy=remedy)
