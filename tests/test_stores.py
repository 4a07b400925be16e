"""Files of stores, by their addresses."""

from __future__ import annotations

import gzip
from pathlib import Path

import fsspec
import pytest

from lexitree.errors import ConfigError, FileError, MissingExtraError
from lexitree.files import read_lines
from lexitree.stores import describe_stored, find_stored, is_address, list_stored, put_stored


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("s3://bucket/a.csv", True),
        ("memory://a", True),
        ("C://reviews", False),
        ("https://example.org/a.csv", False),
        ("data/a.csv", False),
        ("A text: good://", False),
        (Path("s3://bucket/a.csv"), False),
    ],
)
def test_addresses(name: str | Path, expected: bool) -> None:
    assert is_address(name) == expected


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_files_are_put_found_and_read(kind: str, tmp_path: Path) -> None:
    folder = f"{kind}://{tmp_path}/store"
    assert list_stored(folder) == []
    (tmp_path / "local.txt").write_text("one\ntwo\n")
    (tmp_path / "packed").write_bytes(gzip.compress(b"three\n"))
    put_stored(tmp_path / "local.txt", f"{folder}/b/reviews.txt")
    put_stored(tmp_path / "packed", f"{folder}/reviews.txt.gz")
    assert sorted(list_stored(folder)) == ["b", "reviews.txt.gz"]
    assert list_stored(f"{folder}/b") == ["reviews.txt"]
    (found,) = find_stored(f"{folder}/*/*.txt")
    assert found.endswith("/store/b/reviews.txt")
    assert is_address(found)
    assert list(read_lines(found)) == [(1, "one"), (2, "two")]
    assert list(read_lines(f"{folder}/reviews.txt.gz")) == [(1, "three")]
    before = describe_stored(found)
    assert before["size"] == 8
    put_stored(tmp_path / "local.txt", found)
    assert describe_stored(found) != before


def test_what_cannot_be_read_is_named() -> None:
    with pytest.raises(FileError, match=r"memory://none/a\.txt: cannot be read"):
        list(read_lines("memory://none/a.txt"))
    with pytest.raises(FileError, match=r"local\.txt: cannot be written|memory://a"):
        put_stored(Path("/none/local.txt"), "memory://a")


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def url_to_fs(address: str) -> None:
        raise ImportError("Install s3fs to access S3")

    with pytest.raises(ConfigError, match="no such store"):
        find_stored("nowhere://a/*")
    monkeypatch.setattr(fsspec.core, "url_to_fs", url_to_fs)
    with pytest.raises(MissingExtraError, match=r"'s3fs'[^[]*\[stores\]"):
        find_stored("s3://bucket/*.csv")
