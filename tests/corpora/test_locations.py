from __future__ import annotations

import re
from pathlib import Path

import pytest

from lexitree.corpora import locations as folders
from lexitree.corpora.locations import PACKAGES, Package, find_package
from lexitree.errors import CorpusNotFoundError


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


@pytest.mark.parametrize("package", PACKAGES.values(), ids=list(PACKAGES))
def test_every_file_has_an_address_a_size_and_a_checksum(package: Package) -> None:
    for file in package.files:
        assert file.url.startswith("https://")
        assert file.num_bytes > 0
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)
        for local in file.local_files:
            assert re.fullmatch("[0-9a-f]{64}", local.sha256)
            assert not local.path.startswith("/")
            assert ".." not in local.path


def test_names_and_their_variants() -> None:
    assert find_package("SST-binary").name == "sst"
    assert find_package("sst-polarity").name == "sst"
    assert find_package("glove.840B.300d").name == "glove-840b"
    with pytest.raises(CorpusNotFoundError, match="Did you mean sst"):
        find_package("sstt")
    with pytest.raises(CorpusNotFoundError, match="need no download"):
        find_package("mini-reviews")
