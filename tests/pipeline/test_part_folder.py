"""Folders of output, here and in stores, and the files that patterns name."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.errors import FileError
from lexitree.pipeline.part_folder import PartFolder, find_inputs, is_folder_name


@pytest.fixture(params=["local", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> PartFolder:
    return PartFolder(str(tmp_path / "out") if request.param == "local" else f"memory://{tmp_path}/out/")


def test_a_file_appears_when_it_is_complete(folder: PartFolder) -> None:
    assert folder.names() == set()
    with folder.new_file("a.csv/part-00000.csv") as path:
        path.write_text("x\n")
        assert folder.names("a.csv") == set()
    assert folder.names() == {"a.csv"}
    assert folder.names("a.csv") == {"part-00000.csv"}
    with pytest.raises(KeyboardInterrupt), folder.new_file("a.csv/part-00001.csv"):
        raise KeyboardInterrupt
    assert folder.names("a.csv") == {"part-00000.csv"}


def test_an_error_names_the_file(folder: PartFolder) -> None:
    with (
        pytest.raises(FileError, match=r"out/a\.csv: cannot be written \(No space left"),
        folder.new_file("a.csv"),
    ):
        raise OSError(28, "No space left on device")
    assert folder.names() == set()


def test_values_are_read_again(folder: PartFolder) -> None:
    with pytest.raises(FileError, match=r"a\.json: cannot be read"):
        folder.read_json("a.json")
    folder.write_json("a.json", {"a": [1]})
    assert folder.read_json("a.json") == {"a": [1]}
    with folder.new_file("a.json") as path:
        path.write_text("[1]")
    with pytest.raises(FileError, match="does not hold"):
        folder.read_json("a.json")


def test_a_file_is_removed(folder: PartFolder) -> None:
    folder.write_json("a.json", {})
    folder.write_json("b.json", {})
    folder.remove("a.json")
    assert folder.names() == {"b.json"}
    with pytest.raises(FileError, match=r"a\.json: cannot be removed"):
        folder.remove("a.json")


def test_one_process_at_a_time(folder: PartFolder) -> None:
    with folder.locked():
        if not folder.is_stored:
            with pytest.raises(FileError, match="in use by another process"), folder.locked():
                pass


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "a.csv" / ".part-00000.csv.1f.part" / "part-00000.csv"
    left.parent.mkdir(parents=True)
    left.write_text("half")
    folder = PartFolder(str(tmp_path))
    assert folder.names("a.csv") == set()
    folder.remove_unfinished("a.csv")
    assert list((tmp_path / "a.csv").iterdir()) == []


def test_names_of_folders(tmp_path: Path) -> None:
    assert is_folder_name("out/")
    assert is_folder_name("s3://bucket/out")
    assert is_folder_name(tmp_path)
    assert not is_folder_name("out")
    assert not is_folder_name(None)
    assert PartFolder(f"{tmp_path}/").holds(tmp_path / "a" / "b.csv")
    assert not PartFolder(str(tmp_path / "a")).holds(tmp_path / "ab" / "b.csv")
    assert PartFolder("s3://bucket/out").holds("s3://bucket/out/a.csv")
    assert not PartFolder("s3://bucket/out").holds(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("{}/x/a.csv", ["a.csv"]),
        ("{}/*/a.csv", ["x/a.csv", "y/a.csv"]),
        ("{}/./x/*.csv", ["a.csv", "b[1].csv"]),
        ("{}/**/*.csv", ["x/a.csv", "x/b[1].csv", "y/a.csv"]),
        ("{}/x/b[1].csv", ["b[1].csv"]),
        ("{}/x/b[[]1].csv", ["b[1].csv"]),
    ],
)
def test_patterns(tmp_path: Path, pattern: str, names: list[str]) -> None:
    for name in ("x/a.csv", "x/b[1].csv", "y/a.csv", "y/a.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text\n")
    found = find_inputs(pattern.format(tmp_path))
    assert [file.name for file in found] == names
    assert all(file.describe()["size"] == 5 for file in found)


def test_patterns_without_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no file matches"):
        find_inputs(f"{tmp_path}/*.csv")
    with pytest.raises(FileError, match="no file matches"):
        find_inputs(f"memory://{tmp_path}/*.csv")
    (tmp_path / "x").mkdir()
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(FileError, match=r"\.\. stands after the first"):
        find_inputs(f"{tmp_path}/*/../a.csv")
