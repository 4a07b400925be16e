"""Settings of the service: from a file, from variables and from options, in this order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lexitree.errors import ConfigError, FileError
from lexitree.limits import Limits
from lexitree.server.service_settings import ServiceSettings


def test_the_last_source_counts(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text('port = 1\nhost = "a"\nworkers = 2\n[limits]\nwords = 7\n')
    environment = {"LEXITREE_SERVE_PORT": "2", "LEXITREE_SERVE_WORKERS": "3", "HOME": "/"}
    settings = ServiceSettings.gather(file, environment, {"workers": 4})
    assert (settings.host, settings.port, settings.workers) == ("a", 2, 4)
    assert settings.limits == Limits.for_service().with_values({"words": 7})


def test_variables() -> None:
    environment = {
        "LEXITREE_SERVE_MODELS": "sentiment, mine=runs/mine",
        "LEXITREE_SERVE_CORS": '["https://a.example"]',
        "LEXITREE_SERVE_TOKEN": "12345",
        "LEXITREE_SERVE_LOG_TEXTS": "true",
        "LEXITREE_SERVE_LIMITS_WORDS": "none",
        "LEXITREE_SERVE_LIMITS_BEYOND": "cut",
    }
    settings = ServiceSettings.gather(environment=environment)
    assert settings.sources == {"sentiment": "sentiment", "mine": "runs/mine"}
    assert (settings.cors, settings.token, settings.log_texts) == (("https://a.example",), "12345", True)
    assert (settings.limits.words, settings.limits.beyond) == (None, "cut")
    assert settings.limits.characters == Limits.for_service().characters


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"models": []}, "models is empty"),
        ({"models": ["a=x", "a=y"]}, "same name"),
        ({"token": ""}, "token must be"),
        ({"token": "two words"}, "token must be"),
        ({"token": "schlüssel"}, "token must be"),
        ({"batch_nodes": 10, "queue_nodes": 5}, "batch_nodes"),
        ({"port": 65_536}, "at most 65,535"),
        ({"limits": {"word": 5}}, "word"),
    ],
)
def test_what_is_not_accepted(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ServiceSettings(**values)


def test_typing_errors_are_found(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="LEXITREE_SERVE_PROT") as caught:
        ServiceSettings.gather(environment={"LEXITREE_SERVE_PROT": "1"})
    assert caught.value.remedy == "Did you mean LEXITREE_SERVE_PORT?"
    file = tmp_path / "serve.toml"
    file.write_text("prot = 1")
    with pytest.raises(FileError, match="is not a valid settings file: unknown setting: prot"):
        ServiceSettings.gather(file, {})


def test_the_token_is_not_shown() -> None:
    assert "secret" not in repr(ServiceSettings(token="secret"))


def test_the_help_tells_the_limits_of_a_service() -> None:
    defaults = {each.name: each.default for each in ServiceSettings.describe()}
    assert defaults["limits.words"] == Limits.for_service().words != Limits().words
