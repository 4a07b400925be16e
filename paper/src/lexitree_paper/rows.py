"""The recipes of the paper's tables: each is another recipe with a few other settings."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, cast

from lexitree.tasks.classify.recipe import Recipe, find_recipe

TABLE = "rows.toml"


@dataclass(frozen=True, slots=True)
class Row:
    """A recipe and what it is for."""

    about: str
    recipe: Recipe
    target: str
    """What we aim at; empty where the aim is the paper's figure."""


def read_rows() -> dict[str, Row]:
    """Read all rows by name."""
    text = resources.files("lexitree_paper").joinpath(TABLE).read_text(encoding="utf-8")
    rows: dict[str, Row] = {}
    for name, values in tomllib.loads(text).items():
        base, about, target = (values.pop(key, "") for key in ("base", "about", "target"))
        start = rows[base].recipe if base in rows else find_recipe(base) if base else Recipe()
        rows[name] = Row(about, start.with_values(dict(dotted(values))), target)
    return rows


def dotted(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield settings by dotted name, such as `model.hidden`."""
    for name, value in values.items():
        if isinstance(value, dict):
            table = cast(dict[str, Any], value)
            yield from ((f"{name}.{inner}", each) for inner, each in table.items())
        else:
            yield name, value


ROWS = read_rows()
RECIPES = {name: row.recipe for name, row in ROWS.items()}
"""The recipes that this package adds to lexitree."""


def read_recipe(name: str) -> Recipe:
    """Return the recipe of a row, or the one that lexitree knows by the name."""
    return RECIPES[name] if name in RECIPES else find_recipe(name)
