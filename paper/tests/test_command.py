"""`lexitree reproduce`: experiments are listed, tried at their smoke size, and shown beside the paper's figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lexitree.cli.main import make_app
from lexitree.errors import ConfigError, LexitreeError
from lexitree_paper.runner import Settings, default_results

runner = CliRunner()
app = make_app()


def test_without_a_name_all_experiments_are_listed(tmp_path: Path) -> None:
    result = runner.invoke(app, ["reproduce", "--results", str(tmp_path), "--json"])
    assert result.exit_code == 0
    listed = json.loads(result.stdout)
    assert {"main-table", "questions", "training-time", "collins-overlap", "accuracy-by-length"} <= {
        experiment["name"] for experiment in listed
    }
    assert all(experiment["recorded"] == [] for experiment in listed)
    assert "main-table" in runner.invoke(app, ["reproduce", "--results", str(tmp_path)]).stdout


@pytest.mark.slow
def test_a_run_at_its_smoke_size(tmp_path: Path) -> None:
    where = ["--smoke", "-o", str(tmp_path / "runs"), "--results", str(tmp_path / "results"), "--json"]
    command = ["reproduce", "head-methods", "--only", "sst-bicontree-L", *where, "--device", "cpu"]
    result = runner.invoke(app, command)
    assert result.exit_code == 0, result.output
    (table,) = json.loads(result.stdout)["tables"]
    (row,) = table["rows"]
    assert row["5-class root, the paper"] == "51.1"
    assert row["5-class root"].endswith("(one seed)")
    # The table alone runs nothing, and knows the same.
    again = runner.invoke(app, [*command, "--table"])
    assert json.loads(again.stdout)["tables"] == [table]


def test_an_unknown_run_names_those_there_are(tmp_path: Path) -> None:
    result = runner.invoke(
        app, ["reproduce", "head-methods", "--only", "sst-svm", "--results", str(tmp_path)]
    )
    assert isinstance(result.exception, ConfigError)
    assert "sst-bicontree-L" in str(result.exception)


def test_what_an_experiment_cannot_do_is_told(tmp_path: Path) -> None:
    analysis = ["reproduce", "collins-overlap", "--results", str(tmp_path)]
    result = runner.invoke(app, [*analysis, "--only", "sst-bicontree"])
    assert "analyses all its runs together" in str(result.exception)
    result = runner.invoke(app, [*analysis, "--sentence", "(_ good)"])
    assert "head-pictures" in str(result.exception)
    result = runner.invoke(app, [*analysis, "--table"])
    assert "nothing recorded yet" in result.stdout


def test_a_malformed_sentence_is_told_before_anything_is_trained(tmp_path: Path) -> None:
    where = ["-o", str(tmp_path / "runs"), "--results", str(tmp_path / "results")]
    for given in (["--sentence", "(_ (_ not) (_ bad"], ["--sentences", str(tmp_path / "none.txt")]):
        result = runner.invoke(app, ["reproduce", "head-pictures", "--smoke", *where, *given])
        assert isinstance(result.exception, LexitreeError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["heads", "table"])
def test_an_unknown_experiment_is_told(name: str) -> None:
    result = runner.invoke(app, ["reproduce", name])
    assert isinstance(result.exception, ConfigError)
    assert "main-table" in str(result.exception)


def test_records_go_to_the_clone_or_beside_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_results() == Path("results")
    assert Settings(folder=tmp_path, results=Path("results")).pictures_folder == Path("results")
    for folder in ("paper/results", "paper/docs/images"):
        (tmp_path / folder).mkdir(parents=True)
    assert default_results() == Path("paper/results")
    assert Settings(folder=tmp_path, results=default_results()).pictures_folder == Path("paper/docs/images")
