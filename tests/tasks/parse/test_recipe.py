"""Recipes of parsers: the two that come along, what is read from files, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lexitree.errors import ConfigError, CorpusNotFoundError, FileError
from lexitree.parsers.parser_config import ParserConfig
from lexitree.tasks.parse.data import load_parser_data, sentence_key
from lexitree.tasks.parse.recipe import SMALL_SIZES, ParserRecipe, TreebankPlan
from lexitree.trees.brackets import tree_to_brackets
from lexitree.trees.tree import Tree
from tests.tiny_parser import mini_recipe

FOLDER = Path(__file__).parents[3] / "recipes" / "parsing"
TRAIN = {"name": "a", "path": "a.txt", "held_out": 0.5}


def recipe_of(*plans: dict[str, Any], **settings: Any) -> ParserRecipe:
    return ParserRecipe.from_dict({"treebanks": list(plans), **settings})


@pytest.mark.parametrize("name", ["parser", "parser-shipped"])
def test_the_recipes_that_come_along(name: str) -> None:
    path = FOLDER / f"{name}.toml"
    recipe = ParserRecipe.from_toml(path)
    header = path.read_text().split("\n\n")[0]
    assert f"lexitree parser train --recipe recipes/parsing/{name}.toml" in header
    tests = {plan.name: plan for plan in recipe.treebanks if plan.part == "test"}
    assert set(tests) == {"MCTB review", "QuestionBank test", "WSJ 00", "GUM test", "GUM test2"}
    assert tests["QuestionBank test"].first == 3500
    trained = [plan for plan in recipe.treebanks if plan.part == "train"]
    assert not any("review" in plan.path or "test" in plan.path for plan in trained)
    assert {plan.files for plan in trained} <= {"", "wsj_01"}
    assert all(0 < plan.last <= 3500 for plan in trained if "questionbank" in plan.path)


def test_the_shipped_parser_is_small_and_of_gum_and_mctb_only() -> None:
    recipe = ParserRecipe.from_toml(FOLDER / "parser-shipped.toml")
    paths = [plan.path for plan in recipe.treebanks if plan.part == "train"]
    assert all(path.startswith(("treebanks/gum", "treebanks/mctb")) for path in paths)
    config = ParserConfig.from_dict({"labels": ("S",), "tags": ("NN",), **recipe.model})
    assert {name: getattr(config, name) for name in SMALL_SIZES} == SMALL_SIZES


@pytest.mark.parametrize(
    ("plans", "settings", "problem"),
    [
        ([], {}, "no treebank to train on"),
        ([{"name": "a", "path": "a"}], {}, "no trees for development"),
        ([TRAIN, TRAIN], {}, "same name"),
        ([{**TRAIN, "part": "exam"}], {}, "part must be one of train, dev, test"),
        ([{**TRAIN, "weight": 0.0}], {}, r"\[treebanks\] \[number 1\] weight must be above 0"),
        ([{**TRAIN, "held_out": 1.0}], {}, "held_out must be"),
        ([{**TRAIN, "part": "dev"}], {}, "only a training treebank"),
        ([{**TRAIN, "first": 5, "last": 3}], {}, "no trees from 5 to 3"),
        ([{**TRAIN, "recurring_in": [1]}], {}, "two whole numbers"),
        ([{**TRAIN, "recurring_in": ["a", "b"]}], {}, "a list of whole numbers"),
        ([{**TRAIN, "path": 3}], {}, "path must be a string"),
        ([{**TRAIN, "colour": "red"}], {}, "colour"),
        ([{"name": "a"}], {}, "missing setting: path"),
        (["a"], {}, "a list of tables"),
        ([TRAIN], {"unheard": 1}, "unheard"),
        ([TRAIN], {"training": {"epochs": 0}}, "epochs must be at least 1"),
        ([TRAIN], {"training": {"epochs": True}}, "epochs must be a whole number"),
        ([TRAIN], {"training": {"learning_rate": 0}}, "learning_rate must be above 0"),
        ([TRAIN], {"training": {"averaging": 1.0}}, "averaging must be"),
        ([TRAIN], {"training": {"seed": -1}}, "seed must be at least 0"),
        ([TRAIN], {"training": 3}, "training must be a table"),
        ([TRAIN], {"model": {"hidden": 0}}, "hidden must be"),
        ([TRAIN], {"model": {"labels": ["S"]}}, "follows from the data"),
    ],
)
def test_what_cannot_be(plans: list[Any], settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        recipe_of(*plans, **settings)


def test_a_recipe_comes_back_from_its_values() -> None:
    recipe = mini_recipe(epochs=7)
    assert ParserRecipe.from_dict(recipe.as_dict()) == recipe


@pytest.mark.parametrize("text", ["treebanks = 3", "not toml", "", "[[treebanks]]\nname = 3\npath = 'a'"])
def test_a_file_that_is_no_recipe(tmp_path: Path, text: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(FileError, match=r"recipe\.toml"):
        ParserRecipe.from_toml(path)
    with pytest.raises(FileError, match="cannot be read"):
        ParserRecipe.from_toml(tmp_path / "none.toml")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    trees = [
        f"(ROOT (NP-SBJ (NN w{number}) (-NONE- *T*) (NN x) (NN y) (NN z)))" for number in (0, 1, 2, 3, 1, 5)
    ]
    (tmp_path / "bank.txt").write_text("\n".join(trees) + "\n")
    (tmp_path / "named.txt").write_text(
        "".join(f"wsj_0{n % 2}\t( {tree} )\n" for n, tree in enumerate(trees))
    )
    return tmp_path


def names(recipe: ParserRecipe, data: Path) -> dict[str, list[str]]:
    parts = load_parser_data(recipe, data).parts
    return {bank.name: [tree.words[0] for tree in bank.trees] for banks in parts.values() for bank in banks}


def test_the_parts_of_a_file(data: Path) -> None:
    recipe = recipe_of(
        {"name": "train", "path": "bank.txt", "last": 4},
        {"name": "dev", "path": "named.txt", "files": "wsj_01", "part": "dev"},
        {"name": "test", "path": "bank.txt", "first": 4, "recurring_in": [0, 4], "part": "test"},
    )
    assert names(recipe, data) == {
        "train": ["w0", "w1", "w2", "w3"],
        "dev": ["w1", "w3"],
        "test": ["w5"],
    }
    loaded = load_parser_data(recipe, data)
    assert tree_to_brackets(loaded.train[0].trees[0]) == "(NP (NN w0) (NN x) (NN y) (NN z))"
    assert set(loaded.checksums) == {"bank.txt", "named.txt"}
    assert all(len(checksum) == 64 for checksum in loaded.checksums.values())


def test_what_is_held_out_is_not_trained_on_and_always_the_same(data: Path) -> None:
    recipe = recipe_of({"name": "bank", "path": "bank.txt", "held_out": 0.34})
    found = names(recipe, data)
    assert len(found["bank (held out)"]) == 2
    assert sorted(found["bank"] + found["bank (held out)"]) == ["w0", "w1", "w1", "w2", "w3", "w5"]
    assert names(recipe, data) == found


def test_what_is_tested_is_neither_trained_on_nor_tuned_on(data: Path) -> None:
    recipe = recipe_of(
        {"name": "train", "path": "bank.txt"},
        {"name": "dev", "path": "bank.txt", "part": "dev", "last": 3},
        {"name": "test", "path": "bank.txt", "part": "test", "first": 1, "last": 2},
    )
    assert names(recipe, data) == {"train": ["w0", "w2", "w3", "w5"], "dev": ["w0", "w2"], "test": ["w1"]}
    assert load_parser_data(recipe, data).left_out == {"train": 2, "dev": 1}


def test_short_sentences_are_anybodys(data: Path) -> None:
    (data / "bank.txt").write_text("(S (UH Yes) (. .))\n")
    plans = ({"name": part, "path": "bank.txt", "part": part} for part in ("train", "dev", "test"))
    assert load_parser_data(recipe_of(*plans), data).left_out == {"train": 0, "dev": 0}


def test_sentences_are_the_same_whatever_their_case_and_punctuation() -> None:
    first, second = Tree.flat(["What", "is", "dew", "point", "?"]), Tree.flat(["what", "is", "dewpoint"])
    assert sentence_key(first) == sentence_key(second)
    assert sentence_key(Tree.flat(["?", "!"])) != sentence_key(Tree.flat(["."]))


def test_missing_files_and_empty_parts(data: Path) -> None:
    with pytest.raises(CorpusNotFoundError, match="--data"):
        load_parser_data(recipe_of({**TRAIN, "path": "none.txt"}), data)
    with pytest.raises(CorpusNotFoundError, match="no part 'none'"):
        load_parser_data(recipe_of({**TRAIN, "path": "mini-questions/none"}), data)
    with pytest.raises(FileError, match="no trees"):
        load_parser_data(recipe_of({**TRAIN, "path": "bank.txt", "first": 50}), data)


def test_plans_have_defaults() -> None:
    plan = TreebankPlan(name="a", path="b")
    assert (plan.part, plan.weight, plan.style) == ("train", 1.0, "")
