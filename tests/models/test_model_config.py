"""A model's settings: contradictions are rejected when it is built."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lexitree.errors import ConfigError
from lexitree.models.model_config import ModelConfig

GOOD: dict[str, Any] = {"labels": ["a", "b"]}


def test_round_trip() -> None:
    config = ModelConfig.from_dict({**GOOD, "hidden": 7, "label_names": {"a": "first"}})
    assert ModelConfig.from_dict(config.as_dict()) == config
    assert config.label_set.name_of("a") == "first"
    assert config.label_set.name_of("b") == "b"


FINER = {"10": "b", "9": "a", "neither": "", "1": "b"}


def test_finer_labels_keep_their_order() -> None:
    config = ModelConfig.from_dict({**GOOD, "finer_labels": FINER})
    assert config.labels == ("a", "b")
    assert config.label_set.trained_ids == ("10", "9", "neither", "1")
    assert config.label_set.score_groups == ((1,), (0, 3))
    again = ModelConfig.from_dict(json.loads(json.dumps(config.as_dict())))
    assert again == config
    assert again.label_set.trained_ids == config.label_set.trained_ids


def test_without_finer_labels_it_is_trained_with_its_answers() -> None:
    config = ModelConfig.from_dict(GOOD)
    assert config.label_set.trained_ids == config.labels
    assert config.label_set.score_groups == ((0,), (1,))


def test_settings_from_before_there_were_finer_labels() -> None:
    config = ModelConfig.from_dict(GOOD)
    old = config.as_dict()
    assert old.pop("finer_labels") == {}
    assert ModelConfig.from_dict(old) == config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden": 0}, "hidden must be at least 1"),
        ({"output": -1}, "output must be at least 0"),
        ({"hidden": "many"}, "hidden must be a whole number, not 'many'"),
        ({"hidden": True}, "hidden must be a whole number"),
        ({"dropout": 1.0}, "dropout"),
        ({"labels": []}, "at least one label"),
        ({"labels": ["a", "a"]}, "same item twice"),
        ({"labels": "ab"}, "labels must be a list of strings"),
        ({"labels": [1, 2]}, "labels must be a list of strings"),
        ({"finer_labels": {"x": "a", "y": "b", "z": "c"}}, "count for c, but the model answers with a, b"),
        ({"finer_labels": {"x": "a", "y": ""}}, "no finer label counts for b"),
        ({"finer_labels": {"x": ""}}, "no finer label counts for a, b"),
        ({"finer_labels": {"": "a", "x": "b"}}, "must have a name"),
        ({"finer_labels": {"x": "a", "y": None}}, "a table of strings"),
        ({"finer_labels": {1: "a", 2: "b"}}, "a table of strings"),
        ({"finer_labels": ["a", "b"]}, "a table of strings"),
        ({"head_method": "X"}, "head_method must be one of G, L, R, A"),
        ({"binarization": "up"}, "binarization"),
        ({"supervision": "some"}, "supervision"),
        ({"binarization": "head", "supervision": "all"}, "head-outward"),
        ({"bias_init": "one"}, "bias_init"),
        ({"colour": "red"}, "unknown setting: colour"),
    ],
)
def test_bad_settings_are_errors(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ModelConfig.from_dict({**GOOD, **change})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "head"),
        ({"binarization": "left"}, "left"),
        ({"supervision": "root"}, "right"),
        ({"supervision": "root", "binarization": "head"}, "head"),
    ],
)
def test_how_parses_are_split(settings: dict[str, Any], expected: str) -> None:
    assert ModelConfig.from_dict({**GOOD, **settings}).parse_binarization == expected
