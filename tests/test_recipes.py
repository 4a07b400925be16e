"""Every file under recipes/ reads, names what exists, says how to use it, and repeats no default."""

from __future__ import annotations

import dataclasses
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from lexitree.cli.main import make_app
from lexitree.cli.options import plan_recipe
from lexitree.corpora.named import find_entry
from lexitree.models.registries import ENCODERS
from lexitree.settings import Settings
from lexitree.sweeps.search_space import SearchSpace
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.parse.recipe import ParserRecipe
from lexitree.tasks.rerank.recipe import RerankRecipe
from lexitree_paper.run_records import read_record
from tests.command import find_command

FOLDER = Path(__file__).parent.parent / "recipes"
TUNING = "tuning"
KINDS: dict[str, tuple[type[Settings], list[str]]] = {
    ".": (Recipe, ["train"]),
    "parsing": (ParserRecipe, ["parser", "train"]),
    "reranking": (RerankRecipe, ["rerank", "train"]),
}
"""By folder: the class of its recipes and the command that takes them."""
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
EXPECTED = {f"{task}-{system}" for task in ("sst", "sst-binary") for system in SYSTEMS} | {
    "trec-bicontree",
    "parsing/parser",
    "parsing/parser-shipped",
    "reranking/reranker",
}


def name_of(path: Path) -> str:
    return str(path.relative_to(FOLDER).with_suffix(""))


def folder_of(path: Path) -> str:
    return str(path.parent.relative_to(FOLDER))


FILES = sorted(FOLDER.rglob("*.toml"))
GRIDS = [path for path in FILES if folder_of(path) == TUNING]
RECIPES = [path for path in FILES if path not in GRIDS]

each_recipe = pytest.mark.parametrize("path", RECIPES, ids=name_of)
each_grid = pytest.mark.parametrize("path", GRIDS, ids=name_of)


def read(path: Path) -> Settings:
    return KINDS[folder_of(path)][0].from_toml(path)


def header(path: Path) -> dict[str, str]:
    """`# Name: text` of the comment at the top."""
    return dict(header_lines(path))


def header_lines(path: Path) -> list[tuple[str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    named = (line.removeprefix("# ").partition(": ") for line in lines if line.startswith("# "))
    return [(name, text) for name, colon, text in named if colon]


def sweeps_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The commands of a grid, with the records of the scores that stand below each."""
    sweeps: dict[str, list[dict[str, Any]]] = {}
    for name, text in header_lines(path):
        if name == "Run":
            sweeps[text] = []
        elif name == "Scores":
            record = read_record(FOLDER.parent / "paper" / "results", Path(text).stem)
            assert record is not None
            sweeps[[*sweeps][-1]].append(record)
    return sweeps


def test_the_folder_holds_the_recipes_of_the_paper() -> None:
    assert {name_of(path) for path in RECIPES} >= EXPECTED
    assert {folder_of(path) for path in FILES} == {*KINDS, TUNING}


@each_recipe
def test_it_reads_and_names_a_known_model_and_corpus(path: Path) -> None:
    recipe = read(path)
    if isinstance(recipe, Recipe):
        assert recipe.model.get("model", "bicontree") in ENCODERS
        assert find_entry(recipe.corpus) is not None


@each_recipe
def test_its_header_says_what_it_needs_and_aims_at(path: Path) -> None:
    """A figure of the paper is not a target of ours."""
    found = set(header(path))
    assert {"Needs", "Run", "Override"} <= found
    assert len(found & {"Paper", "Target"}) == 1


@each_recipe
def test_its_command_runs_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[Any] = []

    def stop(*arguments: Any) -> None:
        planned.append(plan_recipe(*arguments))
        raise typer.Exit

    command = KINDS[folder_of(path)][1]
    monkeypatch.setattr(f"lexitree.cli.{command[0]}.plan_recipe", stop)
    monkeypatch.chdir(FOLDER.parent)
    program, *arguments = shlex.split(header(path)["Run"])
    assert (program, arguments[: len(command)]) == ("lexitree", command)
    assert f"recipes/{path.relative_to(FOLDER)}" in arguments
    result = CliRunner().invoke(make_app(command[:1]), arguments, env={"LEXITREE_DATA": ""})
    assert result.exit_code == 0, result.output
    given = {"vectors", "data", "lists"} & set(read(path).declared())
    as_in_file = {name: getattr(read(path), name) for name in given}
    assert [dataclasses.replace(recipe, **as_in_file) for recipe in planned] == [read(path)]


@each_recipe
def test_its_overrides_can_be_given(path: Path) -> None:
    text = header(path)["Override"]
    command = find_command(*KINDS[folder_of(path)][1])
    options = {option for parameter in command.params for option in parameter.opts}
    assert set(re.findall(r"(?<!\S)--[a-z-]+", text)) <= options
    for setting in re.findall(r"--set ([^\s,;]+)", text):
        recipe = read(path)
        assert recipe.with_values(recipe.parse_assignments([setting])) != recipe


@each_recipe
def test_it_states_only_what_differs_from_the_defaults(path: Path) -> None:
    kind = KINDS[folder_of(path)][0]
    defaults = {each.name: each.default for each in kind.describe()}
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    given = {name: value for name, value in values.items() if not isinstance(value, dict)}
    # A model that starts from another has the other's shape, not the defaults.
    for table in ("training", "encoder") if "start" in values else ("model", "training", "encoder"):
        given |= {f"{table}.{name}": value for name, value in values.get(table, {}).items()}
    assert [name for name, value in given.items() if value == defaults.get(name, ...)] == []


@each_grid
def test_its_commands_sweep_over_its_variants(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them are recipes, and those that are on record are still there."""
    planned: list[SearchSpace] = []
    monkeypatch.setattr(
        "lexitree.cli.sweep_runs.run_sweep", lambda recipe, space, *_, **__: planned.append(space)
    )
    monkeypatch.setattr("lexitree.ops.devices.choose_device", lambda name: name)
    monkeypatch.chdir(FOLDER.parent)
    commands = sweeps_of(path)
    assert commands
    for command, records in commands.items():
        program, *arguments = shlex.split(command)
        grid = f"recipes/{path.relative_to(FOLDER)}"
        assert (program, arguments[0], arguments[2]) == ("lexitree", "sweep", grid)
        result = CliRunner().invoke(make_app(["sweep"]), arguments, env={"LEXITREE_DATA": ""})
        assert result.exit_code == 0, result.output
        for record in records:
            if "grid" in record:
                # Records of former commands have the variants of several recipes.
                variants = record["grid"][Path(arguments[1]).stem]
            else:
                assert record["command"] == command
                variants = record["space"]["variants"]
            assert set(planned[-1].variants) == set(variants)
