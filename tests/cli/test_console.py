"""What commands show: errors that cannot steer a terminal, and output in UTF-8."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.cli.console import printable, show_error, show_skipped
from lexitree.errors import FileError, Place, TableError
from tests.cli.conftest import Call, assert_users_error

STEERING = "\x1b]0;title\x07\x1b[2J\r\u202e\x9b\udcff"


def test_only_characters_that_are_seen_are_printed() -> None:
    assert printable("café – 映画\nline 2") == "café – 映画\nline 2"
    assert printable(STEERING + "\t") == r"\x1b]0;title\x07\x1b[2J\r\u202e\x9b\udcff\t"


def test_names_and_input_do_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show_error(FileError(f"a{STEERING}.txt", STEERING, remedy=f"No {STEERING}."))
    show_skipped(1, [TableError(Place(f"b{STEERING}", 7), STEERING)])
    shown = capsys.readouterr().err
    assert shown.count(r"\x1b]0;title\x07") == 5
    assert all(character.isprintable() for character in shown.replace("\n", ""))


def test_a_file_of_a_steering_name(call: Call, tmp_path: Path) -> None:
    found = call("trees", "statistics", tmp_path / "a\x1b[2J.txt")
    assert_users_error(found, r"a\x1b[2J.txt")
    assert "\x1b" not in found.err
