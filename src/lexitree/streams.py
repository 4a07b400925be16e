"""Standard streams that can write everything: UTF-8 into pipes, and similar signs on screens that lack some."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import TextIO, TypeGuard


def open_missing_streams() -> None:
    """Let standard streams that the caller has closed, or that a program without a console lacks, take everything."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open until the end


def write_utf8(stream: TextIO) -> None:
    """Write UTF-8 to a standard stream, whatever the locale says; a terminal keeps its encoding."""
    if stream.isatty():
        write_always(stream)
    elif _lacks_characters(stream):
        stream.reconfigure(encoding="utf-8")


def write_always(stream: TextIO) -> None:
    """Replace characters that the encoding of a standard stream lacks, as those of Windows do, rather than crash.

    Lines and arrows of tables and trees become similar signs; others are shown as escapes, such as `\\u6620`.
    """
    if _lacks_characters(stream):
        stream.reconfigure(errors=_SIMILAR_SIGNS)


def _lacks_characters(stream: TextIO) -> TypeGuard[io.TextIOWrapper]:
    return isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8"


_SIMILAR_SIGNS = "lexitree-similar-signs"
_SIMILAR = dict(zip("├└│─━←→–—−±…·○’“”", '|`|-*<>---~..o\'""', strict=True))
"""One character for each, so that columns stay in line."""


def _replace_signs(error: UnicodeError) -> tuple[str, int]:
    """What is written in place of characters that cannot be encoded; a handler for `codecs.register_error`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    plain = (_SIMILAR.get(sign, sign).encode("ascii", "backslashreplace").decode() for sign in lacking)
    return "".join(plain), error.end


codecs.register_error(_SIMILAR_SIGNS, _replace_signs)
