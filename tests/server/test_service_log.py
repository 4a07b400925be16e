"""The log: one JSON object per line, whatever is logged."""

from __future__ import annotations

import json
import logging
import sys

from lexitree.server.serving import JsonFormatter


def written(message: str, **extra: object) -> str:
    record = logging.makeLogRecord({"msg": message, "levelname": "INFO", **extra})
    return JsonFormatter().format(record)


def test_a_line_is_json() -> None:
    values = json.loads(written("request", request_id="a", ms=1.5, text=("x",)))
    assert values.pop("time").endswith("+00:00")
    assert values == {"level": "info", "message": "request", "request_id": "a", "ms": 1.5, "text": ["x"]}


def test_what_other_libraries_add_for_themselves_is_left_out() -> None:
    assert "_library_clock" not in json.loads(written("request", _library_clock=1))


def test_nothing_can_look_like_another_line() -> None:
    line = written("request", path="/\n{}\u2028\x1b[31m\ud800")
    assert line.isascii()
    assert line.isprintable()


def test_tracebacks_are_part_of_the_line() -> None:
    try:
        raise ZeroDivisionError("why")
    except ZeroDivisionError:
        line = written("failed", exc_info=sys.exc_info())
    assert "ZeroDivisionError: why" in json.loads(line)["traceback"]
    assert "\n" not in line
