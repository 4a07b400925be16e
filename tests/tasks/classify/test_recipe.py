"""Recipes: read from TOML, refused with a reason, and settings checked when they are given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lexitree.errors import ConfigError, FileError
from lexitree.tasks.classify.recipe import Recipe, TrainingConfig

TOML = """
corpus = "sst"
vectors = "glove.npz"
all_vectors = true

[model]
model = "contree"
hidden = 75

[training]
epochs = 3
learning_rate = 1
seed = 7
"""


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(TOML)
    assert Recipe.from_toml(tmp_path / "r.toml") == Recipe(
        corpus="sst",
        vectors="glove.npz",
        all_vectors=True,
        model={"model": "contree", "hidden": 75},
        training=TrainingConfig(epochs=3, learning_rate=1, seed=7),
    )


def test_the_defaults_are_the_papers_protocol() -> None:
    assert TrainingConfig().as_dict() == {
        "epochs": 30,
        "batch_size": 25,
        "choose_by": "main",
        "learning_rate": 1e-3,
        "schedule": "constant",
        "warm_up": 0.0,
        "final_rate": 0.0,
        "clip": 0.0,
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 1e-8,
        "decay": 1e-6,
        "decay_kind": "decoupled",
        "train_words": True,
        "word_rate": 1.0,
        "encoder_rate": 3e-5,
        "layer_decay": 1.0,
        "root_weight": 1.0,
        "teacher_weight": 0.5,
        "class_weights": "none",
        "head_entropy": 0.0,
        "distinct_phrases": False,
        "averaging": 0.0,
        "patience": 0,
        "seed": 1,
    }


def test_values_round_trip() -> None:
    recipe = Recipe(corpus="x", model={"hidden": 5}, training=TrainingConfig(decay_kind="l2"))
    assert Recipe.from_dict(recipe.as_dict()) == recipe
    taught = Recipe(teacher="runs/t", teacher_trees=("a.txt", "b.txt"))
    assert Recipe.from_dict(json.loads(json.dumps(taught.as_dict()))) == taught
    assert recipe.with_seed(4).training.seed == 4
    assert recipe.with_seed(1) == recipe


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("corpus = ", "is not a TOML file"),
        ("corpus = 'a'\ncorpus = 'b'", "is not a TOML file"),
        ("\x00", "is not a TOML file"),
        ("a = " + "[" * 5000, "is not a TOML file"),
        ("corpse = 'sst'", "unknown setting: corpse\nDid you mean corpus?"),
        ("[training]\nepoch = 3", "[training] unknown setting: epoch\nDid you mean epochs?"),
        ("[training]\nepochs = 'ten'", "epochs must be a whole number, not 'ten'"),
        ("[training]\nepochs = 2.5", "epochs must be a whole number, not 2.5"),
        ("[training]\nepochs = true", "epochs must be a whole number, not True"),
        ("[training]\ntrain_words = 1", "train_words must be true or false, not 1"),
        ("[training]\ndecay = nan", "decay must be at least 0 and below 1, not nan"),
        ("training = 3", "training must be a table of settings, not 3"),
        ("model = 'contree'", "model must be a table of settings, not 'contree'"),
        ("corpus = 5", "corpus must be a string, not 5"),
        ("on_error = 'ignore'", "on_error must be one of raise, skip, not 'ignore'"),
        ("min_count = 0", "min_count must be at least 1"),
        ("teacher_trees = 'a.txt'", "teacher_trees must be a list of strings, not 'a.txt'"),
        ("teacher = 't'\nteacher_trees = [3]", "teacher_trees must be a list of strings, not (3,)"),
        ("teacher_trees = 3", "teacher_trees must be a list of strings, not 3"),
        ("teacher_trees = ['a.txt']", "there are trees for a teacher, but no teacher"),
        ("teacher = 't'\n[training]\ndistinct_phrases = true", "distinct_phrases goes by labels"),
        ("[training]\nteacher_weight = 1.5", "teacher_weight must be at least 0 and at most 1, not 1.5"),
        ("[model]\nlabels = ['a']", "[model] labels follows from the data and cannot be set"),
        ("[model]\nhidden = 0", "[model] hidden must be at least 1 and at most 65,536, not 0"),
        ("[model]\nhiden = 5", "[model] unknown setting: hiden\nDid you mean hidden?"),
        ("[encoder]\nlayers = 'mix'", "there is no encoder for these settings: layers"),
        ("[encoder]\nname = 3", "[encoder] name must be a string, not 3"),
        ("[model.finer_labels]\na = 'b'", "[model] finer_labels follows from the data and cannot be set"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "r.toml"
    path.write_text(content)
    with pytest.raises(FileError, match=r"r\.toml") as caught:
        Recipe.from_toml(path)
    assert problem in str(caught.value)


def test_missing_and_undecodable_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read"):
        Recipe.from_toml(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="is not a TOML file"):
        Recipe.from_toml(tmp_path / "bytes.toml")


@pytest.mark.parametrize(
    "settings",
    [
        {"epochs": 0},
        {"batch_size": 0},
        {"learning_rate": 0.0},
        {"learning_rate": float("inf")},
        {"learning_rate": float("nan")},
        {"epsilon": -1.0},
        {"beta1": 1.0},
        {"beta2": -0.1},
        {"decay": 1.0},
        {"decay_kind": "none"},
        {"seed": -1},
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(settings))):
        TrainingConfig(**settings)
