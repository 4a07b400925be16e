"""`lexitree serve`: where its settings come from, and what it says when it cannot start."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from lexitree.server import serving
from lexitree.server.service_settings import ServiceSettings
from tests.cli.conftest import Call, Finished, assert_users_error


@pytest.fixture
def serve(call: Call, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command up to where it would serve; gives what it wrote and the settings."""
    served: list[ServiceSettings] = []

    def note(settings: ServiceSettings, tell_ready: Any) -> None:
        served.append(settings)
        tell_ready(4711)

    monkeypatch.setattr(serving, "serve", note)

    def run(*options: object) -> tuple[Finished, ServiceSettings | None]:
        served.clear()
        return call("serve", *options), served[0] if served else None

    return run


def test_it_says_where_it_is_and_how_to_stop_it(serve: Any) -> None:
    finished, settings = serve("--host", "0.0.0.0")
    assert finished.code == 0
    assert "Loading sentiment ..." in finished.err
    assert "Ready: http://localhost:4711 (Ctrl-C stops)" in finished.err
    assert settings == ServiceSettings(host="0.0.0.0")


def test_options_come_before_variables_and_variables_before_the_file(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, token = tmp_path / "service.toml", tmp_path / "token"
    file.write_text('port = 1\nworkers = 2\nwait_ms = 3\nmodels = ["questions"]\n[limits]\nwords = 7\n')
    token.write_text("\nsecret\n")
    monkeypatch.setenv("LEXITREE_SERVE_PORT", "4")
    monkeypatch.setenv("LEXITREE_SERVE_WORKERS", "5")
    _, settings = serve(
        *("--config", file, "--port", 6, "-m", "sentiment", "-m", "mine=runs/mine", "--token-file", token),
        *("--set", "limits.characters=9", "--device", "cpu"),
    )
    assert (settings.port, settings.workers, settings.wait_ms) == (6, 5, 3)
    assert settings.sources == {"sentiment": "sentiment", "mine": "runs/mine"}
    assert (settings.token, settings.device) == ("secret", "cpu")
    assert (settings.limits.words, settings.limits.characters) == (7, 9)


def test_what_cannot_be_set_is_a_users_error(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.write_text("\n")
    assert_users_error(serve("--set", "port=70000")[0], "port must be at least 0 and at most 65,535")
    assert_users_error(serve("--set", "prot=1")[0], "unknown setting: prot", "port")
    assert_users_error(serve("--token-file", empty)[0], "holds no token", "openssl rand")
    assert_users_error(serve("--token-file", tmp_path / "missing")[0], "missing")
    monkeypatch.setenv("LEXITREE_SERVE_PROT", "1")
    assert_users_error(serve()[0], "LEXITREE_SERVE_PROT", "LEXITREE_SERVE_PORT")


@pytest.mark.parametrize("module", ["uvicorn", "starlette", "httptools", "prometheus_client"])
def test_a_missing_extra_is_named(serve: Any, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    finished, settings = serve()
    assert_users_error(finished, module.replace("_", "-"), "[serve]")
    assert settings is None


def test_the_help_teaches(call: Call) -> None:
    finished = call("serve", "--help")
    for part in ("lexitree serve", "curl", "LEXITREE_SERVE_PORT", "--help-settings", "Ctrl-C", "/metrics"):
        assert part in finished.out
    listed = call("serve", "--help-settings").out
    assert "drain_seconds = 30.0" in listed
    assert "limits.words = 2000" in listed
