"""The package of examples/plugin: trained by a recipe, saved, loaded, and used by the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
import torch

import lexitree
from lexitree.cli.main import main
from lexitree.errors import ModelFileError
from lexitree.saving.model_folder import CONFIG_FILE
from lexitree.tasks.classify.prepared_run import RunResult
from lexitree.tasks.classify.recipe import Recipe, TrainingConfig
from tests.installed import install_example
from tests.test_results import SCRIPTS

MODEL = {"model": "tree-rnn", "head_method": "norm", "keep": 0.25, "hidden": 12, "word_size": 12, "output": 0}
TEXT = "Tomorrow will be sunny."


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        install_example(patch, tmp_path_factory.mktemp("site"))
        yield


@pytest.fixture(scope="module")
def run(package: None, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    training = TrainingConfig(epochs=3, learning_rate=0.02)
    recipe = Recipe(corpus="weather", model=MODEL, teacher="forecaster", training=training)
    return lexitree.train(recipe, tmp_path_factory.mktemp("runs") / "weather")


def call(*arguments: object, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sys, "argv", ["lexitree", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0


def test_it_trains_by_a_recipe_and_comes_back(run: RunResult) -> None:
    assert run.dev.root.accuracy > 0.9
    state = torch.get_rng_state()
    loaded = lexitree.from_pretrained(run.folder / "model")
    assert torch.equal(torch.get_rng_state(), state)
    assert loaded.config.as_dict().items() >= MODEL.items()
    assert loaded.what_runs == {"mix_heads": "levelwise"}
    tree = lexitree.load_corpus("weather").test[0]
    predicted = lexitree.load(run.folder / "model").predict(tree)
    assert predicted.label == tree.label
    # The head word comes from the package's own method.
    assert predicted.head() in tree.words
    assert sum(predicted.head_weights() or ()) == pytest.approx(1)


def test_the_folder_says_what_it_needs(run: RunResult, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = run.folder / "model"
    package = {"module": "lexitree_weather", "package": "lexitree-weather", "version": "0.1"}
    assert json.loads((folder / CONFIG_FILE).read_text())["plugins"] == [
        {"kind": "model", "name": "tree-rnn", **package},
        {"kind": "head method", "name": "norm", **package},
    ]
    assert (
        "needs the head method norm of the package lexitree-weather 0.1" in (folder / "README.md").read_text()
    )
    monkeypatch.setattr(sys, "path", sys.path[1:])
    with pytest.raises(
        ModelFileError, match="needs the model 'tree-rnn' of the package lexitree-weather"
    ) as caught:
        lexitree.load(folder)
    assert caught.value.remedy == "Install it: pip install lexitree-weather"


@pytest.mark.usefixtures("package")
def test_the_command_line_knows_its_parts(
    run: RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call("models", "--json", patch=monkeypatch)
    rows = {row["model"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["tree-rnn"]["package"] == "lexitree-weather"
    assert rows["bicontree"]["package"] is None
    call("models", patch=monkeypatch)
    assert "tree-rnn" in capsys.readouterr().out
    call("info", run.folder / "model", patch=monkeypatch)
    assert "the model tree-rnn of lexitree-weather" in capsys.readouterr().out
    call("data", "list", "--json", patch=monkeypatch)
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["weather"]["found"] == "in the package lexitree-weather 0.1"
    assert rows["weather"]["what"] == "Short weather reports, fair or foul, made for this example"
    written = tmp_path / "reports.md"
    call(
        "predict", run.folder / "model", TEXT, "--parser", "right-branching", "-o", written, patch=monkeypatch
    )
    assert written.read_text().startswith("- **fair** (")


def test_a_setting_of_its_own_is_checked(package: None) -> None:
    for setting, problem in (
        ("keep=2", "at most 1"),
        ("kep=0.1", "unknown setting: kep"),
        ("hidden=0", "whole number"),
    ):
        name, _, value = setting.partition("=")
        with pytest.raises(lexitree.LexitreeError, match=problem):
            Recipe().with_values({"model.model": "tree-rnn", f"model.{name}": float(value)})
    with pytest.raises(lexitree.LexitreeError, match="unknown setting: keep"):
        Recipe(model={"model": "bicontree", "keep": 0.1})


@pytest.mark.slow
def test_pip_installs_it_in_a_fresh_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Listed, trained, saved, loaded and used, each in a process of its own; then uninstalled."""
    pytest.importorskip("setuptools", "70.1", reason="older ones need the package wheel to build")
    monkeypatch.syspath_prepend(SCRIPTS)
    said = import_module("record_tour").run_plugin_steps(tmp_path)
    assert "tree-rnn" in said["models"]
    assert "lexitree-weather" in said["models"]
    assert "model: runs/weather/model" in said["train"]
    assert said["predict"].startswith("- **fair** (")
    assert "needs the model 'tree-rnn' of the package lexitree-weather 0.1" in " ".join(
        said["without"].split()
    )
