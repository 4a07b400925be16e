"""The commands called in this process, and models of the smoke size, trained once for all tests of the analyses."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

# Before the modules are imported, the shapes in their signatures become checks.
if importlib.util.find_spec("beartype"):
    install_import_hook(
        [f"lexitree_paper.rerank.{name}" for name in ("batches", "model")], "beartype.beartype"
    )

from tests.cli.conftest import call  # noqa: F401

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
