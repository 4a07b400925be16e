"""Fingerprints of what every recipe, run and tuning grid trains, for comparing two states of the repository.

    python paper/tests/recipe_fingerprints.py

writes recipe_fingerprints.json. A fingerprint is a hash of the settings that differ from the defaults.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lexitree.settings import Settings, plain_value
from lexitree.sweeps.search_space import read_space
from lexitree.tasks.classify.recipe import Recipe, own_recipes
from lexitree.tasks.parse.recipe import ParserRecipe
from lexitree_paper.experiments import find_experiment, list_experiments
from lexitree_paper.rerank.recipe import RerankRecipe
from lexitree_paper.rows import ROWS, read_recipe

ROOT = Path(__file__).parents[2]
GRIDS = ROOT / "paper" / "recipes" / "tuning"
STORED = Path(__file__).with_name("recipe_fingerprints.json")


def all_fingerprints() -> dict[str, str]:
    """The fingerprints by name: recipes, runs of experiments and tuning grids."""
    found = {name: fingerprint(read_recipe(name)) for name in (*own_recipes(), *ROWS)}
    for path in sorted((ROOT / "recipes" / "parsing").glob("*.toml")):
        found[f"parsing/{path.stem}"] = fingerprint(ParserRecipe.from_toml(path))
    reranker = find_experiment("reranking").details["recipe"]
    found["reranking/reranker"] = fingerprint(RerankRecipe.from_dict(reranker))
    for experiment in list_experiments():
        found |= {f"runs/{run.name}": fingerprint(run.read()) for run in experiment.runs}
    for path in sorted(GRIDS.glob("*.toml")):
        found |= {f"tuning/{path.stem}/{trial}": value for trial, value in grid_fingerprints(path)}
    return found


def fingerprint(settings: Settings) -> str:
    """A hash of all settings that differ from the defaults."""
    defaults = {name: plain_value(each.default) for name, each in settings.declared().items()}
    text = json.dumps(different(settings.as_dict(), defaults), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def different(values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The values that differ from the defaults, in tables too."""
    return {
        name: different(value, defaults[name])
        if isinstance(value, dict) and isinstance(defaults.get(name), dict)
        else value
        for name, value in values.items()
        if name not in defaults or value != defaults[name]
    }


def grid_fingerprints(path: Path) -> Iterator[tuple[str, str]]:
    """Every trial of the commands at the top of a grid: recipe and variant, and the fingerprint."""
    for command in re.findall(r"^# Run: (.*)$", path.read_text(encoding="utf-8"), re.M):
        words = shlex.split(command)
        name = words[2]
        changes = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
        recipe = read_recipe(name).with_values(Recipe.parse_assignments(changes))
        space = read_space(path, recipe, {})
        for variant, values in space.variants.items():
            yield f"{name}/{variant}", fingerprint(recipe.with_values(values))


if __name__ == "__main__":
    STORED.write_text(json.dumps(all_fingerprints(), indent=0) + "\n", encoding="utf-8")
