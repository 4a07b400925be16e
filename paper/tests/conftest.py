"""The models of the smoke size, trained once for all tests of the analyses."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree_paper.experiments import find_experiment
from lexitree_paper.runner import Settings
from lexitree_paper.trained import train_missing


@pytest.fixture(scope="session")
def smoke_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the runs ConTree, ConTree+Lex and BiConTree at the smoke size. Do not write into it."""
    folder = tmp_path_factory.mktemp("smoke")
    settings = Settings(folder=folder / "runs", results=folder / "results", smoke=True, jobs=1)
    systems = train_missing(find_experiment("accuracy-by-length"), settings)
    assert [system.name for system in systems] == ["ConTree", "ConTree+Lex", "BiConTree"]
    return folder / "runs"
