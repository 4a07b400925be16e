"""Commands on screens that lack most characters, as those of Windows do: nothing crashes, and columns stay in line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lexitree.cli import main as main_module
from lexitree.cli.main import main
from tests.cli.conftest import SENTENCE
from tests.test_streams import Terminal


def show(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> tuple[int, str, str]:
    """The exit code of a command, and what its two streams show on such a screen."""
    screens = Terminal(), Terminal()
    monkeypatch.setattr(sys, "argv", ["lexitree", *map(str, arguments)])
    monkeypatch.setattr(sys, "stdout", screens[0])
    monkeypatch.setattr(sys, "stderr", screens[1])
    monkeypatch.setattr(main_module, "interrupt_on_signals", lambda: None)
    with pytest.raises(SystemExit) as stopped:
        main()
    code = stopped.value.code
    return code if isinstance(code, int) else 0, screens[0].shown(), screens[1].shown()


def test_trees_and_tables(
    monkeypatch: pytest.MonkeyPatch, saved_model: Path, treebank: Path, trees_file: Path
) -> None:
    code, out, _ = show(monkeypatch, "predict", saved_model, SENTENCE.strip())
    assert code == 0
    assert " < " in out
    assert "\n|- " in out
    code, out, _ = show(monkeypatch, "trees", "draw", trees_file)
    assert (code, out.count("`- ")) == (0, 3)
    code, out, _ = show(monkeypatch, "evaluate", saved_model, treebank)
    assert code == 0
    assert "confusion matrix" in out
    code, out, _ = show(monkeypatch, "--help")
    assert code == 0
    assert "\\u" not in out


def test_progress_and_errors(monkeypatch: pytest.MonkeyPatch, treebank: Path, tmp_path: Path) -> None:
    (tmp_path / "映画.txt").write_text("(0 (1 ←)")
    code, _, err = show(monkeypatch, "trees", "draw", tmp_path / "映画.txt")
    assert code == 1
    assert "\\u6620\\u753b.txt" in err
    options = ["--epochs", 1, "--set", "model.hidden=2", "--set", "model.word_size=2", "--batch-size", 2]
    code, out, err = show(monkeypatch, "train", treebank, "-o", tmp_path / "run", *options)
    assert code == 0, err
    assert "best epoch 1" in out
    assert "dev root" in err
