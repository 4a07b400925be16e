from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.corpora import folders


def test_order_is_data_then_variable_then_cache(monkeypatch: pytest.MonkeyPatch, no_data: Path) -> None:
    assert [folder.path for folder in folders.data_folders()] == [no_data]
    monkeypatch.setenv("LEXITREE_DATA", "/somewhere")
    found = folders.data_folders("/given")
    assert [folder.path for folder in found] == [Path("/given"), Path("/somewhere"), no_data]
    assert [folder.named_by for folder in found] == ["--data", "$LEXITREE_DATA", "downloads"]


def test_cache_follows_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEXITREE_CACHE", raising=False)
    monkeypatch.setattr(folders.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert folders.cache_folder() == Path("/xdg/lexitree")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert folders.cache_folder() == Path.home() / ".cache" / "lexitree"
    monkeypatch.setattr(folders.sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert folders.cache_folder() == Path("/local/lexitree")
