"""Every recipe reads, names what exists, says how to use it, and repeats no default."""

from __future__ import annotations

import dataclasses
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lexitree.cli.main import make_app
from lexitree.corpora.named import find_entry
from lexitree.models.catalog import ENCODERS
from lexitree.models.model_config import ModelConfig
from lexitree.tasks.classify.config import TrainingConfig
from lexitree.tasks.classify.recipe import Recipe

FOLDER = Path(__file__).parent.parent / "recipes"
RECIPES = sorted(FOLDER.glob("*.toml"))
SYSTEMS = (
    "rntn",
    "bilstm-li",
    "bilstm",
    "contree",
    "contree-li",
    "contree-le",
    "contree-nary",
    "deptree",
    "topdown",
    "contree-lex",
    "bicontree",
)
"""The rows of the paper's main table, each with five classes and with two."""
EXPECTED = {f"{task}-{system}" for task in ("sst", "sst-binary") for system in SYSTEMS} | {"trec-bicontree"}

each_recipe = pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)


def header(path: Path) -> dict[str, str]:
    """`# Name: text` of the comment at the top."""
    comments = [
        line.removeprefix("# ")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("# ")
    ]
    return dict(line.split(": ", 1) for line in comments if ": " in line)


def test_the_folder_holds_the_recipes_of_the_paper() -> None:
    assert {path.stem for path in RECIPES} >= EXPECTED


@each_recipe
def test_it_names_a_known_model_and_corpus(path: Path) -> None:
    recipe = Recipe.from_toml(path)
    assert recipe.model.get("model", "bicontree") in ENCODERS
    assert find_entry(recipe.corpus) is not None
    ModelConfig.from_dict({**recipe.model, "labels": ("0", "1")})


@each_recipe
def test_its_header_says_what_it_needs_and_aims_at(path: Path) -> None:
    assert {"Needs", "Run", "Override", "Target"} <= set(header(path))


@each_recipe
def test_its_command_is_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Recipe] = []

    def remember(recipe: Recipe, *_: object) -> None:
        started.append(recipe)

    monkeypatch.setattr("lexitree.cli.train.train_several", remember)
    monkeypatch.chdir(FOLDER.parent)
    program, *arguments = shlex.split(header(path)["Run"])
    assert program == "lexitree"
    assert f"recipes/{path.name}" in arguments
    result = CliRunner().invoke(make_app(), arguments)
    assert result.exit_code == 0, result.output
    planned = dataclasses.replace(Recipe.from_toml(path), vectors=None)
    assert [dataclasses.replace(recipe, vectors=None, data=None) for recipe in started] == [planned]


@each_recipe
def test_it_states_only_what_differs_from_the_defaults(path: Path) -> None:
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    for given, defaults in (
        (values, Recipe().as_dict()),
        (values.get("model", {}), ModelConfig(labels=("0",)).as_dict()),
        (values.get("training", {}), TrainingConfig().as_dict()),
    ):
        assert [key for key, value in given.items() if value == defaults[key]] == []
