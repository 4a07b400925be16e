"""`lexitree sweep`: errors before the first trial, and a sweep that is killed and resumed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lexitree.cli.main import make_app
from lexitree.errors import LexitreeError, MissingExtraError, SpaceError
from lexitree.learning.observers import METRICS_FILE
from tests.command import COMMAND, environment, run_command, wait_until

RECIPE = """
corpus = "mini-questions"
[model]
hidden = 16
word_size = 16
output = 16
[training]
epochs = 3
"""
SPACE = """
[sweep]
random_trials = 4
unstopped_trials = 4
unstopped_epochs = 1
[space]
"training.learning_rate" = { low = 1e-3, high = 0.1, log = true }
"model.dropout" = [0.1, 0.5]
"""
NUM_TRIALS = 12
MAX_SECONDS = 1200


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A recipe and a space."""
    paths = [tmp_path / "recipe.toml", tmp_path / "space.toml"]
    for path, text in zip(paths, (RECIPE, SPACE), strict=True):
        path.write_text(text, encoding="utf-8")
    return list(map(str, paths))


def test_typos_are_found_before_the_first_trial(files: list[str], tmp_path: Path) -> None:
    Path(files[1]).write_text('[space]\n"model.dropot" = [0.1, 0.5]\n', encoding="utf-8")
    result = CliRunner().invoke(make_app(["sweep"]), ["sweep", *files, "-o", str(tmp_path / "runs")])
    assert isinstance(result.exception, SpaceError)
    assert "space.toml:2: [space] [model] unknown setting: dropot" in result.exception.message
    assert result.exception.remedy == "Did you mean dropout?"
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--trials", "0"], "--trials"), (["--seeds", "x"], "seeds"), (["--engine", "spark"], "--engine")],
)
def test_wrong_usage(arguments: list[str], said: str, files: list[str], tmp_path: Path) -> None:
    result = CliRunner().invoke(
        make_app(["sweep"]), ["sweep", *files, "-o", str(tmp_path / "runs"), *arguments]
    )
    assert result.exit_code == 2
    assert said in result.output


def test_a_missing_extra_and_a_missing_corpus_leave_nothing(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["sweep", *files, "-o", str(tmp_path / "runs")]
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "optuna", None)
        result = CliRunner().invoke(make_app(["sweep"]), arguments)
        assert isinstance(result.exception, MissingExtraError)
        assert "sweep" in result.exception.remedy
    pytest.importorskip("optuna", reason="the extra sweep is not installed")
    result = CliRunner().invoke(make_app(["sweep"]), [*arguments, "--set", "corpus=none-of-these"])
    assert isinstance(result.exception, LexitreeError)
    assert not (tmp_path / "runs").exists()


def sweep_command(files: list[str], folder: Path, engine: str) -> list[str]:
    numbers = ["--trials", str(NUM_TRIALS), "--seeds", "1-2", "--device", "cpu"]
    return ["sweep", *files, "-o", str(folder), "--engine", engine, *numbers]


def read_trials(folder: Path) -> list[dict[str, Any]]:
    """All trials without the times."""
    records = json.loads((folder / "trials.json").read_text(encoding="utf-8"))
    return [{name: value for name, value in record.items() if name != "seconds"} for record in records]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_a_killed_sweep_ends_with_the_same_best_trial(engine: str, files: list[str], tmp_path: Path) -> None:
    """Killed while a trial trains its second seed; every trial is the same, not only the best."""
    pytest.importorskip("optuna", reason="the extra sweep is not installed")
    if engine == "ray":
        pytest.importorskip("ray.tune", reason="the extra ray is not installed")
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    finished = run_command(*sweep_command(files, whole, "local"), timeout=MAX_SECONDS)
    assert finished.returncode == 0, finished.stderr
    command = [*COMMAND, *sweep_command(files, cut, engine)]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE) as process:
        # No trial is stopped before its second seed as long as only three have finished.
        middle = cut / "trials" / "0003" / "seed-2" / METRICS_FILE
        wait_until(lambda: middle.exists() or process.poll() is not None, MAX_SECONDS)
        assert process.returncode is None
        process.send_signal(signal.SIGKILL)
    assert not (cut / "trials.json").exists()
    again = run_command(*sweep_command(files, cut, engine), "--resume", timeout=MAX_SECONDS)
    assert again.returncode == 0, again.stderr
    assert "of them done before" in again.stderr
    assert read_trials(cut) == read_trials(whole)
    assert (cut / "best.toml").read_text("utf-8").split("\n\n")[1:] == (whole / "best.toml").read_text(
        "utf-8"
    ).split("\n\n")[1:]
    assert {trial["state"] for trial in read_trials(cut)} >= {"complete", "pruned"}
    trained = run_command("train", "--recipe", cut / "best.toml", "-o", tmp_path / "best", "--quiet")
    assert trained.returncode == 0, trained.stderr
