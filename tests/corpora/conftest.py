"""Fixtures of the corpora tests: the real data where it is, and an environment that knows of none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lexitree.corpora.corpus import Corpus
from lexitree.corpora.sst import load_sst


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with the real corpora."""
    folder = os.environ.get("LEXITREE_DATA")
    if not folder:
        pytest.skip("LEXITREE_DATA is not set: it names the folder with the real corpora")
    return Path(folder)


@pytest.fixture(scope="session")
def real_sst(real_data: Path) -> Corpus:
    """The Stanford Sentiment Treebank with five labels."""
    return load_sst(real_data)


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment without real data; gives the (empty) cache folder."""
    cache = tmp_path / "cache"
    monkeypatch.delenv("LEXITREE_DATA", raising=False)
    monkeypatch.setenv("LEXITREE_CACHE", str(cache))
    return cache
