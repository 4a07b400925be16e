"""The table of rows names what exists, repeats nothing, and gives lexitree its recipes."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.installed import write_metadata
from typer.testing import CliRunner

from lexitree.cli.main import make_app
from lexitree.cli.options import plan_recipe
from lexitree.corpora.named import find_entry
from lexitree.models.registries import ENCODERS
from lexitree.tasks.classify.recipe import own_recipes
from lexitree_paper.rows import ROWS, TABLE, dotted, read_recipe

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TABLES = tomllib.loads(resources.files("lexitree_paper").joinpath(TABLE).read_text(encoding="utf-8"))
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
"""The rows of the paper's main table and of the systems it quotes, each with five classes and with two."""

each_row = pytest.mark.parametrize("name", ROWS)


def test_every_system_of_the_paper_has_a_recipe_for_both_tasks() -> None:
    systems = {f"{task}-{system}" for task in ("sst", "sst-binary") for system in SYSTEMS}
    assert systems <= {*ROWS, *own_recipes()}
    assert not set(ROWS) & set(own_recipes()), "a name is that of one recipe"


@each_row
def test_a_row_says_what_it_is_and_names_a_known_model_and_corpus(name: str) -> None:
    row = ROWS[name]
    assert row.about
    assert row.recipe.model.get("model", "bicontree") in ENCODERS
    assert find_entry(row.recipe.corpus) is not None


@each_row
def test_a_row_states_only_what_differs_from_its_base(name: str) -> None:
    settings = {key: value for key, value in TABLES[name].items() if key not in ("about", "base", "target")}
    base = read_recipe(TABLES[name]["base"]).as_dict() if "base" in TABLES[name] else {}
    for setting, value in dotted(settings):
        table, _, inner = setting.rpartition(".")
        assert (base.get(table, {}) if table else base).get(inner, ...) != value, setting


def test_lexitree_trains_a_row_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pip installs, the entry points, leads to the table."""
    write_metadata(tmp_path, PROJECT["name"], PROJECT["entry-points"])
    monkeypatch.syspath_prepend(str(tmp_path))
    planned: list[Any] = []

    def stop(*arguments: Any) -> None:
        planned.append(plan_recipe(*arguments))
        raise typer.Exit

    monkeypatch.setattr("lexitree.cli.train.plan_recipe", stop)
    command = ["train", "--recipe", "sst-contree-lex-tuned", "-o", str(tmp_path / "run")]
    result = CliRunner().invoke(make_app(["train"]), command, env={"LEXITREE_DATA": ""})
    assert result.exit_code == 0, result.output
    assert planned == [ROWS["sst-contree-lex-tuned"].recipe]
