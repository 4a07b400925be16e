"""`lexitree drivers`: a page, a table or JSON, by the ending of the output, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lexitree.pipeline import loading
from tests.cli.conftest import Call, Finished, assert_users_error, records
from tests.pipeline.stubs import RightBranching


@pytest.fixture
def drivers(call: Call, saved_model: Path, reviews: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setattr(loading, "open_parser", lambda spec: RightBranching())

    def run(*arguments: object, stdin: str = "") -> Finished:
        return call("drivers", reviews, "-m", saved_model, "--parser", "stub", *arguments, stdin=stdin)

    return run


def test_the_output_follows_its_ending(drivers: Call, tmp_path: Path) -> None:
    for name in ("report.html", "report.csv", "report.json"):
        found = drivers("--column", "review", "-o", tmp_path / name, "--by", "id")
        assert (found.code, found.out, found.err) == (0, "", "")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    values = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert (values["num_texts"], values["num_empty"], values["by"]) == (3, 1, "id")
    heads = {row[1] for row in records((tmp_path / "report.csv").read_text(encoding="utf-8"))[1:]}
    assert heads == {driver["head"] for driver in values["drivers"]}
    printed = drivers("--column", "review", "--by", "id", "--json")
    assert json.loads(printed.out) == values


def test_a_table_on_the_screen(drivers: Call) -> None:
    shown = drivers("--column", "review", "--by", "id").out
    assert shown.startswith("3 texts: negative ")
    assert "what makes texts" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_errors(drivers: Call, call: Call, reviews: Path, tmp_path: Path) -> None:
    before = reviews.read_bytes()
    assert_users_error(
        drivers("--column", "review", "-o", tmp_path / "a.png"), "cannot be written as .png", ".html"
    )
    assert_users_error(drivers("--column", "review", "-o", reviews), "is the input as well")
    assert_users_error(drivers("--column", "text"), "there is no column 'text'", "'id', 'review'")
    assert_users_error(drivers("--column", "review", "--by", "town"), "there is no column 'town'")
    assert_users_error(drivers("--column", "review", "--by", "review:month"), "reviews.csv:2", "not a date")
    assert_users_error(call("drivers", tmp_path / "none.csv", "--column", "a"), "none.csv")
    assert reviews.read_bytes() == before
