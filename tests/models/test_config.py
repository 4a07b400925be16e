"""A model's settings: contradictions are rejected when it is built."""

from __future__ import annotations

from typing import Any

import pytest

from lexitree.errors import ConfigError
from lexitree.models.config import ModelConfig

GOOD: dict[str, Any] = {"labels": ["a", "b"]}


def test_round_trip() -> None:
    config = ModelConfig.from_dict({**GOOD, "hidden": 7, "label_names": {"a": "first"}})
    assert ModelConfig.from_dict(config.as_dict()) == config
    assert config.label_name("a") == "first"
    assert config.label_name("b") == "b"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden": 0}, "hidden must be at least 1"),
        ({"output": -1}, "output must be at least 0"),
        ({"hidden": "many"}, "wrong kind"),
        ({"hidden": True}, "wrong kind"),
        ({"dropout": 1.0}, "dropout"),
        ({"labels": []}, "at least one label"),
        ({"labels": ["a", "a"]}, "no label twice"),
        ({"labels": "ab"}, "wrong kind"),
        ({"labels": [1, 2]}, "wrong kind"),
        ({"head_method": "X"}, "head_method must be one of G, L, R, A"),
        ({"binarization": "up"}, "binarization"),
        ({"supervision": "some"}, "supervision"),
        ({"binarization": "head", "supervision": "all"}, "head-outward"),
        ({"bias_init": "one"}, "bias_init"),
        ({"colour": "red"}, "unknown settings: colour"),
    ],
)
def test_bad_settings_are_errors(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ModelConfig.from_dict({**GOOD, **change})
