"""Records tell which code made them, and changed files cannot be hidden behind a commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lexitree.learning import provenance
from lexitree.learning.provenance import (
    commit,
    committed_digest,
    describe_code,
    source_digest,
)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, in place of this one."""
    monkeypatch.delenv("LEXITREE_COMMIT", raising=False)
    monkeypatch.setattr(provenance, "_ROOT", tmp_path)
    package = tmp_path / "src" / "package"
    package.mkdir(parents=True)
    (package / "code.py").write_text("x = 1\n")
    (package / "naïve file.txt").write_text("a\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *author, *command], cwd=tmp_path, check=True)
    return tmp_path


def test_the_digest_is_that_of_the_commit_until_a_file_changes(repository: Path) -> None:
    digest = source_digest()
    assert digest == committed_digest("HEAD")
    package = repository / "src" / "package"
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "code.pyc").write_bytes(b"compiled")
    assert source_digest() == digest
    (package / "new.py").write_text("y = 2\n")
    assert source_digest() != digest
    (package / "new.py").unlink()
    (package / "code.py").write_text("x = 2\n")
    assert source_digest() != digest
    assert committed_digest("HEAD") == digest


def test_a_commit_that_is_told_cannot_hide_changed_files(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = commit()
    assert len(told) == 12
    monkeypatch.setenv("LEXITREE_COMMIT", told)
    assert commit() == told
    (repository / "src" / "package" / "code.py").write_text("x = 2\n")
    assert commit() == f"{told}+changes"
    monkeypatch.delenv("LEXITREE_COMMIT")
    assert commit() == f"{told}+changes"


def test_records_and_pages_are_no_changes(repository: Path) -> None:
    clean = commit()
    for folder in ("results", "docs", "paper/results", "paper/docs"):
        (repository / folder).mkdir(parents=True)
        (repository / folder / "new.json").write_text("{}\n")
    assert commit() == clean
    (repository / "recipe.toml").write_text("epochs = 1\n")
    assert commit() == f"{clean}+changes"


def test_without_a_history_the_digest_tells(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told, digest = commit(), source_digest()
    (repository / ".git").rename(repository / "history")
    monkeypatch.setenv("LEXITREE_COMMIT", told)
    assert committed_digest(told) is None
    assert describe_code() == {"commit": told, "source": digest}
    (repository / "src" / "package" / "code.py").write_text("x = 2\n")
    changed = describe_code()
    assert changed["commit"] == told
    (repository / "history").rename(repository / ".git")
    assert changed["source"] != committed_digest(told) == digest
    monkeypatch.delenv("LEXITREE_COMMIT")
    monkeypatch.setenv("PATH", "")
    assert commit().startswith("lexitree ")
