"""The shell completes the names of models and corpora, at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lexitree.cli.options import complete_corpora, complete_downloads, complete_models
from lexitree.corpora.named import CORPORA
from lexitree.saving.shipped import shipped_names
from tests.command import environment

PROGRAM = """
import sys
from lexitree.cli.main import main
try:
    main()
finally:
    assert "torch" not in sys.modules
    assert "lexitree.cli.train" not in sys.modules
"""


def test_names_that_begin_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "mine" / "model").mkdir(parents=True)
    assert [name for name, _ in complete_models("")] == list(shipped_names())
    (tmp_path / "runs" / "mine" / "model" / "config.json").touch()
    assert [name for name, _ in complete_models("runs/m")] == ["runs/mine/model"]
    assert [name for name, _ in complete_models("sentiment-b")] == ["sentiment-binary"]
    assert [name for name, _ in complete_corpora("")] == list(CORPORA)
    assert complete_corpora("mini-questions-")[0][0] == "mini-questions-fine"
    assert [name for name, _ in complete_downloads("g")] == ["glove-840b", "glove-6b"]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("predict -m q", ["questions"]),
        ("evaluate sentiment mini-q", ["mini-questions", "mini-questions-fine", "mini-questions-subtypes"]),
    ],
)
def test_a_shell_asks(typed: str, found: list[str]) -> None:
    asked = {
        "_LEXITREE_COMPLETE": "complete_bash",
        "COMP_WORDS": f"lexitree {typed}",
        "COMP_CWORD": str(len(typed.split())),
    }
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env=environment() | asked,
        check=True,
    )
    assert finished.stdout.split() == found
    assert finished.stderr == ""
