"""The processes of parsers do not outlive the program that has started them, however it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import is_alive, processes_below, wait_until

PROGRAM = """
import signal, sys
from lexitree.parsers.adapters import CommandParser
signal.signal(signal.SIGTERM, signal.default_int_handler)
parser = CommandParser([sys.executable, sys.argv[1]], stays_open=True)
sentences = [["it", "works"]]
if sys.argv[2] == "busy":
    sentences.append(["wait"])
for tree in parser.parse_all(sentences):
    print(tree, flush=True)
signal.pause()
"""
PARSER = """
import signal, sys, time
{prelude}
for line in sys.stdin:
    if line == "wait\\n":
        time.sleep(600)
    print("(S " + " ".join(f"(W {{word}})" for word in line.split()) + ")", flush=True)
{epilogue}
"""
STUBBORN = {"prelude": "signal.signal(signal.SIGTERM, signal.SIG_IGN)", "epilogue": "time.sleep(600)"}
PLAIN = {"prelude": "", "epilogue": ""}


@pytest.mark.parametrize(
    ("number", "kind", "state"),
    [
        (signal.SIGTERM, PLAIN, "idle"),
        (signal.SIGTERM, PLAIN, "busy"),
        (signal.SIGTERM, STUBBORN, "idle"),
        (signal.SIGKILL, PLAIN, "idle"),
    ],
)
def test_a_parser_ends_with_its_program(
    tmp_path: Path, number: int, kind: dict[str, str], state: str
) -> None:
    """It is stopped, by force if it has to be; when the program is killed, the end of its input ends it."""
    parser = tmp_path / "parser.py"
    parser.write_text(PARSER.format(**kind))
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(parser), state],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert program.stdout is not None
    assert "works" in program.stdout.readline()
    (child,) = processes_below(program.pid)
    program.send_signal(number)
    program.communicate()
    wait_until(lambda: not is_alive(child))
