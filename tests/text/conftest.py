"""Fixtures of the text tests: the real data where it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def real_data() -> Path:
    """The folder with the real corpora."""
    folder = Path(os.environ.get("LEXITREE_DATA") or "nowhere")
    if not (folder / "sst").is_dir():
        pytest.skip("LEXITREE_DATA does not lead to the corpora")
    return folder
