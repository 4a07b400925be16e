"""Names and paths that someone may have meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.suggestions import close_names, close_paths, did_you_mean, suggest_files, suggest_path


def test_names_that_are_spelled_alike() -> None:
    known = ["sentiment", "sentiment-binary", "questions"]
    assert close_names("sentimnt", known) == ["sentiment", "sentiment-binary"]
    assert close_names("Question", known) == ["questions"]
    assert close_names("SENTIMENT", known, most=1) == ["sentiment"]
    assert close_names("parser", known) == []


def test_what_is_said_of_them() -> None:
    assert did_you_mean([]) == ""
    assert did_you_mean(["a"]) == "Did you mean a?"
    assert did_you_mean(["a", "b", "a"]) == "Did you mean a or b?"


def test_paths_with_one_name_that_is_spelled_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs" / "mine" / "model").mkdir(parents=True)
    (tmp_path / "runs" / "mien2").mkdir()
    (tmp_path / "reviews.csv").touch()
    monkeypatch.chdir(tmp_path)
    assert close_paths("review.csv") == ["reviews.csv"]
    assert close_paths(Path("Reviews.CSV")) == ["reviews.csv"]
    assert close_paths("runs/mien/model") == [str(Path("runs/mine/model"))]
    assert close_paths(tmp_path / "run") == [str(tmp_path / "runs")]
    assert close_paths("nothing/of/the/kind") == []


def test_without_anything_alike_the_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert suggest_path("a.txt") == f"It was looked for in {tmp_path}."
    assert suggest_path("b/a.txt") == f"It was looked for in {tmp_path / 'b'}, which does not exist."
    (tmp_path / "b.txt").touch()
    assert suggest_path("a.txt") == "Did you mean b.txt?"


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "~nobody-of-this-name/a", "/", "\ud800/b"])
def test_names_that_cannot_be_are_no_error(path: str) -> None:
    assert close_paths(path) == []
    assert isinstance(suggest_path(path), str)


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    assert suggest_files(tmp_path) == "It is a folder without files."
    (tmp_path / "b").mkdir()
    (tmp_path / "c.txt").touch()
    assert suggest_files(tmp_path) == f"It is a folder. Name a file in it, such as {tmp_path / 'c.txt'}"
    assert suggest_files(tmp_path / "none") == ""
