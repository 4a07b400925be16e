"""A saved model for tests of saved models."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.saving.model_kinds import save_model
from tests.tiny import tiny_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A saved model of the test's own."""
    return save_model(tiny_model(), tmp_path / "model", training={"corpus": "tiny", "note": "a|b\nc"})
