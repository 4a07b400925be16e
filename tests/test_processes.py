"""Processes that work for another: Ctrl-C is not theirs, they end with it, and how they ended is told in words."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lexitree.processes import how_it_ended, uninterrupted_children
from tests.command import is_alive, leftovers, processes_below, wait_for

POOL = """
import signal, sys, time
from pathlib import Path
from lexitree.processes import run_in_processes

def work(folder, number):
    part = Path(folder, f"{number}.part")
    part.touch()
    try:
        time.sleep(600)
    finally:
        part.unlink()

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    list(run_in_processes(work, [(sys.argv[1], number) for number in range(3)], jobs=2))
"""
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=str)
def test_workers_end_with_their_parent(tmp_path: Path, number: int) -> None:
    """They are busy for ten minutes; killed or stopped, nobody waits for that, and they clean up."""
    script = tmp_path / "script.py"
    script.write_text(POOL)
    parent = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
        # What runs in the background may have been told to ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    wait_for(lambda: len(leftovers(tmp_path)) == 2)
    workers = processes_below(parent.pid)
    assert len(workers) >= 2
    parent.send_signal(number)
    complaints = parent.communicate()[1]
    wait_for(lambda: not any(map(is_alive, workers)))
    assert not leftovers(tmp_path)
    if number != signal.SIGKILL:
        assert "KeyboardInterrupt" in complaints
        assert "Process SpawnProcess" not in complaints
