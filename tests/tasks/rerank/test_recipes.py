"""The recipes of rerankers read, say how they are used, and repeat no default."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lexitree.cli.main import make_app
from lexitree.tasks.rerank.config import RerankerConfig, RerankTraining
from lexitree.tasks.rerank.recipe import RerankRecipe
from tests.test_recipes import header

ROOT = Path(__file__).parents[3]
RECIPES = sorted((ROOT / "recipes" / "reranking").glob("*.toml"))

each_recipe = pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)


def test_there_is_the_recipe_of_the_experiment() -> None:
    assert "reranker" in {path.stem for path in RECIPES}


@each_recipe
def test_its_command_is_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"Needs", "Run", "Override", "Target"} <= set(header(path))
    started: list[RerankRecipe] = []

    def remember(recipe: RerankRecipe, *_: object, **__: object) -> None:
        started.append(recipe)

    monkeypatch.setattr("lexitree.cli.rerank_runs.train_seeds", remember)
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(header(path)["Run"])
    assert program == "lexitree"
    result = CliRunner().invoke(make_app(["rerank"]), arguments)
    assert result.exit_code == 0, result.output
    assert started[0].training == RerankRecipe.from_toml(path).training
    assert started[0].lists == ("kbest/wsj00.jsonl",)


@each_recipe
def test_it_states_only_what_differs_from_the_defaults(path: Path) -> None:
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    defaults: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (values, RerankRecipe().as_dict()),
        (values.get("model", {}), RerankerConfig(labels=("?",)).as_dict()),
        (values.get("training", {}), RerankTraining().as_dict()),
    ]
    for given, default in defaults:
        assert [key for key, value in given.items() if value == default[key]] == []
