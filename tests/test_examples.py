"""The programs of examples/ run as they stand."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


SAYS = {
    "quickstart": "accuracy 0.",
    "own_loop": "accuracy 0.",
    "read_text": "(head word: great)",
    "tree_lstm_in_your_model": "off by 0.",
}
"""What each prints when all is well."""


def test_there_are_examples() -> None:
    assert {path.stem for path in EXAMPLES} == set(SAYS)


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_and_says_what_it_found(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path))
    assert SAYS[path.stem] in capsys.readouterr().out
