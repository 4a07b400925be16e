"""Processes that work for another: Ctrl-C is not theirs, they end with it, and how they ended is told in words."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lexitree.processes import Terminated, how_it_ended, interrupt_on_signals, uninterrupted_children
from tests.command import environment, is_alive, leftovers, processes_below, wait_until

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
    assert how_it_ended(-40) == "was killed (signal 40)", "a signal without a name"


CLEAN_UP = """
import os, signal, sys, time
from lexitree.processes import Terminated, interrupt_on_signals
interrupt_on_signals()
try:
    try:
        os.kill(os.getpid(), signal.{first})
        time.sleep(60)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)
        print("cleaned up")
except Terminated as stopped:
    sys.exit(stopped.number)
"""


@pytest.mark.parametrize("first", ["SIGTERM", "SIGHUP"])
def test_a_second_signal_does_not_break_off_the_cleaning_up(first: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", CLEAN_UP.format(first=first)],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert (finished.returncode, finished.stdout) == (signal.Signals[first], "cleaned up\n"), finished.stderr


def test_a_later_signal_is_heard_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal that came while Python could not raise anything must not make the process immune."""
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    try:
        interrupt_on_signals()
        with pytest.raises(Terminated):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        now += 11
        with pytest.raises(Terminated):
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGHUP, before[1])


def test_what_was_ignored_stays_ignored() -> None:
    code = "import signal; from lexitree.processes import *; interrupt_on_signals(); signal.raise_signal(1)"
    finished = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        check=False,
    )
    assert finished.returncode == 0


def test_a_signal_can_be_sent_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(Terminated(15))).number == 15


POOL = """
import sys, time
from pathlib import Path
from lexitree.processes import interrupt_on_signals, run_in_processes

def work(folder, number):
    part = Path(folder, f"{number}.part")
    part.touch()
    try:
        time.sleep(600)
    finally:
        part.unlink()

if __name__ == "__main__":
    interrupt_on_signals()
    list(run_in_processes(work, [(sys.argv[1], number) for number in range(3)], jobs=2))
"""


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
    wait_until(lambda: len(leftovers(tmp_path)) == 2)
    workers = processes_below(parent.pid)
    assert len(workers) >= 2
    parent.send_signal(number)
    complaints = parent.communicate()[1]
    wait_until(lambda: not any(map(is_alive, workers)))
    assert not leftovers(tmp_path)
    if number != signal.SIGKILL:
        assert complaints.count("Traceback") == 1
        assert "Process SpawnProcess" not in complaints
