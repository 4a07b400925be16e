"""Standard streams with encodings that lack characters."""

from __future__ import annotations

import io
import sys
from typing import cast

import pytest

from lexitree.streams import open_missing_streams, write_utf8


class Terminal(io.TextIOWrapper):
    """A screen with the characters of an old Windows."""

    def __init__(self, encoding: str = "cp1252") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="\n")

    def isatty(self) -> bool:
        return True

    def shown(self) -> str:
        self.flush()
        return cast(io.BytesIO, self.buffer).getvalue().decode(self.encoding)


DRAWING = "positive 0.98 ← clever\n├─ “fine”\n│  └─ film → 映画\n50.0 ± 1 – −2…\n"


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", DRAWING),
        ("cp1252", "positive 0.98 < clever\n|- “fine”\n|  `- film > \\u6620\\u753b\n50.0 ± 1 – -2…\n"),
        ("ascii", 'positive 0.98 < clever\n|- "fine"\n|  `- film > \\u6620\\u753b\n50.0 ~ 1 - -2.\n'),
    ],
)
def test_a_terminal_shows_what_it_can(encoding: str, shown: str) -> None:
    screen = Terminal(encoding)
    write_utf8(screen)
    screen.write(DRAWING)
    assert screen.shown() == shown


def test_a_pipe_gets_utf_8() -> None:
    pipe = io.TextIOWrapper(io.BytesIO(), encoding="cp1252", newline="\n")
    write_utf8(pipe)
    pipe.write(DRAWING)
    pipe.flush()
    assert cast(io.BytesIO, pipe.buffer).getvalue().decode() == DRAWING


def test_streams_that_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        write_utf8(stream)
        stream.write(DRAWING)
        stream.close()
