"""Processes that work for another: Ctrl-C is not theirs, and how they ended is told in words."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from lexitree.processes import how_it_ended, uninterrupted_children

IS_IGNORED = "import signal, sys; sys.exit(signal.getsignal(signal.SIGINT) != signal.SIG_IGN)"


def test_children_do_not_see_ctrl_c_and_this_process_does_again() -> None:
    before = signal.getsignal(signal.SIGINT)
    with uninterrupted_children():
        assert subprocess.run([sys.executable, "-c", IS_IGNORED], check=False).returncode == 0
    assert signal.getsignal(signal.SIGINT) == before


def test_in_another_thread_nothing_is_changed() -> None:
    def handler_inside() -> object:
        with uninterrupted_children():
            return signal.getsignal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(handler_inside).result() == before


def test_how_a_process_ended() -> None:
    assert "SIGKILL" in how_it_ended(-signal.SIGKILL)
    assert "exit code 1" in how_it_ended(1)
