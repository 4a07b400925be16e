"""Recipes by file and by name: those of lexitree, those of another package, and names that nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.errors import ConfigError, FileError, PluginError
from lexitree.installation import install_package_command
from lexitree.plugins import GROUPS, Registry
from lexitree.tasks.classify import recipe
from lexitree.tasks.classify.recipe import RECIPE_TABLES, Recipe, find_recipe, own_recipes
from tests.installed import install

SOURCE = """
from lexitree.tasks.classify.recipe import Recipe

RECIPES = {"of-a-package": Recipe(corpus="trec"), "everyday": Recipe()}
WRONG = "recipes"
"""
HOME = {"mine": "some_recipes:RECIPES"}


def test_a_file_is_read_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("everyday", "mine.toml"):
        Path(name).write_text('corpus = "trec"\n')
        assert find_recipe(Path(name)) == find_recipe(name) == Recipe(corpus="trec")
    for missing in ("other.toml", "folder/everyday"):
        with pytest.raises(FileError, match=missing):
            find_recipe(missing)


def test_lexitree_has_recipes_by_name() -> None:
    assert {"everyday", "everyday-teacher", "everyday-accurate", "questions"} <= set(own_recipes())
    assert find_recipe("questions").corpus == "trec"


def test_another_package_adds_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path, "some-recipes", SOURCE, {GROUPS["recipe table"]: HOME})
    assert find_recipe("of-a-package") == Recipe(corpus="trec")
    assert find_recipe("everyday") != Recipe(), "those of lexitree keep their names"
    with pytest.raises(ConfigError, match="unknown recipe 'of-a-packet'") as caught:
        find_recipe("of-a-packet")
    assert "Did you mean of-a-package?" in caught.value.remedy


def test_a_table_must_be_a_mapping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = {GROUPS["recipe table"]: {"wrong": "some_recipes:WRONG"}}
    install(monkeypatch, tmp_path, "some-recipes", SOURCE, group)
    with pytest.raises(PluginError, match="must be a mapping of names to recipes"):
        RECIPE_TABLES["wrong"]


def test_without_its_package_a_recipe_of_the_paper_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Registry, "_installed", lambda _: {})
    with pytest.raises(ConfigError, match="unknown recipe 'sst-contree'") as caught:
        find_recipe("sst-contree")
    assert caught.value.remedy.endswith(install_package_command("lexitree-paper"))
    with pytest.raises(ConfigError, match="unknown recipe 'x'") as caught:
        find_recipe("x")
    assert f"The recipes are: {', '.join(own_recipes())}." in caught.value.remedy


def test_a_wheel_holds_the_recipes_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lexitree" / "recipes").mkdir(parents=True)
    (tmp_path / "lexitree" / "recipes" / "small.toml").write_text("[training]\nepochs = 2\n")
    monkeypatch.setattr(recipe, "_PACKAGE", tmp_path / "lexitree")
    assert set(own_recipes()) == {"small"}
    assert find_recipe("small").training.epochs == 2
