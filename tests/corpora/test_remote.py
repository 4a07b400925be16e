from __future__ import annotations

import re

import pytest

from lexitree.corpora.remote import PACKAGES, Package, find_package
from lexitree.errors import CorpusNotFoundError


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
