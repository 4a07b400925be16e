"""Workers that die, that cannot start, and that are stopped."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lexitree.errors import ConfigError, LexitreeError
from lexitree.processes import Terminated
from lexitree.server import supervisor as supervisor_module
from lexitree.server.supervisor import Supervisor
from tests.command import is_alive, wait_until

# Not as a part of `tests`, which imports torch: the workers start more quickly without it.
HERE = Path(__file__).parent
sys.path.append(str(HERE))
worker_bodies: Any = importlib.import_module("worker_bodies")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor_module, "_FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(supervisor_module, "_CLEAN_UP_SECONDS", 0.5)


def make_supervisor(body: Any, *arguments: Any, **options: Any) -> Supervisor:
    defaults: dict[str, Any] = {
        "num_workers": 2,
        "stop_seconds": 5.0,
        "on_ready": lambda: None,
        "on_end": lambda pid: None,
    }
    return Supervisor(body, arguments, **defaults | options)


def meanwhile(action: Callable[[], object]) -> Callable[[], object]:
    """For `on_ready`: do something while the supervisor goes on."""
    return lambda: threading.Thread(target=action, daemon=True).start()


def stop(number: int = signal.SIGTERM) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_lets_all_workers_finish(tmp_path: Path, number: int) -> None:
    ended: list[int] = []
    make_supervisor(
        worker_bodies.wait_for_signal, tmp_path, 0.1, on_ready=lambda: stop(number), on_end=ended.append
    ).run()
    assert sorted(int(path.name) for path in tmp_path.iterdir()) == sorted(ended)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["ended", "ended"]


@pytest.mark.slow
def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    def stop_twice() -> None:
        stop()
        time.sleep(0.1)
        stop()

    start = time.monotonic()
    with pytest.raises(Terminated):
        make_supervisor(
            worker_bodies.wait_for_signal, tmp_path, 60.0, stop_seconds=60.0, on_ready=meanwhile(stop_twice)
        ).run()
    assert time.monotonic() - start < 20
    wait_until(lambda: not any(is_alive(int(path.name)) for path in tmp_path.iterdir()))


@pytest.mark.slow
def test_workers_that_take_too_long_to_end_are_killed(tmp_path: Path) -> None:
    make_supervisor(worker_bodies.wait_for_signal, tmp_path, 60.0, stop_seconds=0.0, on_ready=stop).run()
    wait_until(lambda: not any(is_alive(int(path.name)) for path in tmp_path.iterdir()))


def test_a_killed_worker_is_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ended: list[int] = []

    def kill_one_and_stop() -> None:
        victim = next(tmp_path.iterdir())
        os.kill(int(victim.name), signal.SIGKILL)
        wait_until(lambda: sum(path.read_text() == "started" for path in tmp_path.iterdir()) == 3)
        assert ended == [int(victim.name)]
        stop()

    make_supervisor(
        worker_bodies.wait_for_signal,
        tmp_path,
        0.0,
        on_ready=meanwhile(kill_one_and_stop),
        on_end=ended.append,
    ).run()
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["ended", "ended", "started"]
    assert "was killed (SIGKILL)" in caplog.text


def test_workers_that_never_get_ready_end_the_service(tmp_path: Path) -> None:
    with pytest.raises(LexitreeError, match=r"3 workers in a row .* exit code 7") as raised:
        make_supervisor(worker_bodies.crash_at_start, tmp_path, num_workers=1).run()
    assert "--workers" in raised.value.remedy
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.slow
def test_workers_that_die_after_their_start_are_replaced_ever_more_slowly(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def stop_when_steady() -> None:
        wait_until(lambda: len(list(tmp_path.iterdir())) == 5)
        time.sleep(0.1)
        stop()

    make_supervisor(
        worker_bodies.crash_when_ready, tmp_path, num_workers=1, on_ready=meanwhile(stop_when_steady)
    ).run()
    pauses = [float(str(record.args[2])) for record in caplog.records if isinstance(record.args, tuple)]
    assert pauses == [0.0, 0.01, 0.02, 0.04]


def test_what_a_worker_says_before_it_ends_is_the_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such model") as raised:
        make_supervisor(worker_bodies.refuse_to_start, tmp_path).run()
    assert raised.value.remedy == "Choose another."


@pytest.mark.slow
def test_workers_end_with_their_supervisor(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path; from lexitree.server.supervisor import Supervisor;"
        "from worker_bodies import wait_for_signal\n"
        "if __name__ == '__main__':\n"
        f"    Supervisor(wait_for_signal, (Path({str(tmp_path)!r}), 0.0), num_workers=1, stop_seconds=5,"
        " on_ready=lambda: None, on_end=lambda pid: None).run()"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=HERE)
    wait_until(lambda: [path for path in tmp_path.iterdir() if path.read_text()])
    parent.kill()
    parent.wait()
    (mine,) = tmp_path.iterdir()
    wait_until(lambda: not is_alive(int(mine.name)))
    assert mine.read_text() == "ended"
