"""A saved model for tests of saved models."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.saving.pretrained import save_pretrained
from tests.tiny import tiny_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A saved model of the test's own."""
    return save_pretrained(tiny_model(), tmp_path / "model", training={"corpus": "tiny", "note": "a|b\nc"})
