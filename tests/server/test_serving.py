"""Services that are stopped, killed and loaded: requests that were accepted are answered."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from lexitree.server.client import Client
from tests.command import COMMAND, assert_one_clear_error, environment, is_alive, wait_until
from tests.pipeline.stubs import tiny_pipeline
from tests.server.running import Gate, RunningCommand, ask, connect, read_all, running_command, running_server

TEXT = {"text": "the film is good"}


def test_accepted_requests_are_answered_while_new_ones_are_refused() -> None:
    gate = Gate()
    with running_server(tiny_pipeline(parser=gate)) as running, ThreadPoolExecutor(1) as pool:
        gate.is_open.clear()
        accepted = pool.submit(ask, running.port, "POST", "/v1/label", TEXT)
        assert gate.is_waiting.wait(30)
        running.server.should_exit = True
        wait_until(lambda: ask(running.port, path="/ready").status == 503)
        refused = ask(running.port, "POST", "/v1/label", TEXT)
        assert (refused.status, refused.json()["status"]) == (503, 503)
        assert int(refused.headers["retry-after"]) >= 1
        assert ask(running.port, path="/live").status == 200
        gate.is_open.set()
        assert accepted.result().status == 200
        running.thread.join(30)
        with pytest.raises(ConnectionRefusedError):
            connect(running.port)


@pytest.mark.slow
def test_what_takes_longer_than_the_drain_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    with running_server(tiny_pipeline(parser=gate), drain_seconds=0.1) as running:
        gate.is_open.clear()
        body = b'{"text": "the film is good"}'
        head = b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        with connect(running.port, head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body) as late:
            assert gate.is_waiting.wait(30)
            running.server.should_exit = True
            assert not read_all(late).startswith(b"HTTP/1.1 200")
        gate.is_open.set()
    assert "1 requests took longer than drain_seconds" in caplog.text


@pytest.mark.slow
def test_unused_connections_do_not_hold_up_the_end() -> None:
    with running_server() as running, connect(running.port) as unused:
        wait_until(lambda: running.server.server_state.connections)
        began = time.monotonic()
        running.server.should_exit = True
        running.thread.join(30)
        assert time.monotonic() - began < 5
        assert read_all(unused) == b""


class Load:
    """Clients that label texts, one after the other on connections that they keep, until told to stop."""

    def __init__(self, port: int, num_clients: int = 8) -> None:
        self.port = port
        self.outcomes: Counter[Any] = Counter()
        self._is_over = Event()
        self._threads = [Thread(target=self._ask, daemon=True) for _ in range(num_clients)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        while not self._is_over.is_set():
            connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
            is_answered = False
            try:
                connection.connect()
                while not self._is_over.is_set():
                    is_answered = False
                    connection.request("POST", "/v1/label", b'{"text": "Not a bad film, all in all."}', _JSON)
                    response = connection.getresponse()
                    is_answered = True
                    response.read()
                    self.outcomes[response.status] += 1
                    if response.will_close:
                        break
            except ConnectionRefusedError:
                self.outcomes["refused"] += 1
                time.sleep(0.01)
            except (OSError, HTTPException) as error:
                # Closed between two requests, which is a client's to repeat; or in the middle of an answer.
                self.outcomes["cut off" if is_answered else type(error).__name__] += 1
            finally:
                connection.close()

    def stop(self) -> Counter[Any]:
        self._is_over.set()
        for thread in self._threads:
            thread.join(60)
        return self.outcomes


_JSON = {"Content-Type": "application/json"}


def metric(port: int, name: str) -> float:
    """The sum of a metric over its labels."""
    page = ask(port, path="/metrics").content.decode()
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", page, re.MULTILINE))


@pytest.fixture(scope="module")
def two_workers() -> Iterator[RunningCommand]:
    with running_command("--workers", 2, "--model", "sentiment", "--model", "questions") as command:
        yield command


@pytest.mark.slow
def test_two_models_and_two_workers(two_workers: RunningCommand) -> None:
    before = metric(two_workers.port, "lexitree_texts_total")
    answered_before = answers_by_worker(two_workers)
    with Client(f"http://127.0.0.1:{two_workers.port}") as client:
        assert [model["name"] for model in client.models()] == ["sentiment", "questions"]
    texts = ["Who wrote it?", "A bad film."] * 20
    models = ["questions", "sentiment"] * 20
    with ThreadPoolExecutor(16) as pool:
        labels = list(pool.map(lambda text, model: label_alone(two_workers.port, text, model), texts, models))
    assert set(labels[::2]) == {"human"}
    assert set(labels[1::2]) <= {"negative", "very negative"}
    # The sum over both workers, whichever is asked for it, and on connections of their own both have worked.
    assert {metric(two_workers.port, "lexitree_texts_total") for _ in range(8)} == {before + 40}
    after = answers_by_worker(two_workers)
    assert all(after[pid] > answered_before.get(pid, 0) for pid in two_workers.workers())


def label_alone(port: int, text: str, model: str) -> str:
    return ask(port, "POST", "/v1/label", {"text": text, "model": model}).json()["document"]["label"]


def answers_by_worker(command: RunningCommand) -> dict[int, int]:
    """How much processor time each worker has used, in clock ticks."""
    return {
        pid: sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
        for pid in command.workers()
    }


@pytest.mark.slow
def test_a_killed_worker_is_replaced_while_the_others_answer(two_workers: RunningCommand) -> None:
    total = metric(two_workers.port, "lexitree_requests_total")
    load = Load(two_workers.port)
    wait_until(lambda: load.outcomes[200] > 20)
    victim, survivor = two_workers.workers()
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: len(set(two_workers.workers()) - {victim}) == 2)
    wait_until(lambda: two_workers.said().count('"message": "ready"') >= 3)
    during = load.outcomes[200]
    wait_until(lambda: load.outcomes[200] > during + 20)
    outcomes = load.stop()
    # Only what the killed worker was doing is lost, at most one request per client.
    assert sum(count for outcome, count in outcomes.items() if outcome != 200) <= 8
    assert is_alive(survivor)
    assert "was killed (SIGKILL)" in two_workers.said()
    # What the killed worker has counted is not forgotten, and what it had waiting is.
    assert metric(two_workers.port, "lexitree_requests_total") >= total + outcomes[200]
    assert metric(two_workers.port, "lexitree_queue_nodes") == 0


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [1, 2])
def test_sigterm_under_load_loses_no_accepted_request(num_workers: int) -> None:
    with running_command("--workers", num_workers) as command:
        load = Load(command.port, 16)
        wait_until(lambda: load.outcomes[200] > 100)
        assert command.stop() == 0
        outcomes = load.stop()
        # What the service has accepted and answered is what the clients have received.
        answered = command.logged("/v1/label")
        assert answered == {status: count for status, count in outcomes.items() if isinstance(status, int)}
        assert set(answered) <= {200, 503}
        assert outcomes["cut off"] == 0
        assert "Traceback" not in command.said()


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [1, 2])
def test_a_second_signal_ends_at_once(num_workers: int) -> None:
    with running_command("--workers", num_workers) as command:
        head = b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        workers = command.workers()
        with connect(command.port, head + b"Content-Length: 1000\r\n\r\n{") as unfinished:
            time.sleep(0.2)
            command.process.send_signal(signal.SIGINT)
            time.sleep(0.5)
            assert command.process.poll() is None
            began = time.monotonic()
            assert command.stop(signal.SIGTERM) == 128 + signal.SIGTERM
            assert time.monotonic() - began < 5
            assert read_all(unfinished) == b""
        wait_until(lambda: not any(map(is_alive, workers)))


@pytest.mark.slow
def test_a_signal_to_the_whole_group_drains_too() -> None:
    """As Ctrl-C in a terminal sends it, and a service manager that does not know which process is the first."""
    with running_command("--workers", 2) as command:
        load = Load(command.port, 4)
        wait_until(lambda: load.outcomes[200] > 20)
        for number in (signal.SIGINT, signal.SIGTERM):
            for pid in command.workers():
                os.kill(pid, number)
        assert command.stop(signal.SIGINT) == 0
        outcomes = load.stop()
        assert command.logged("/v1/label")[200] == outcomes[200]
        assert outcomes["cut off"] == 0


@pytest.mark.slow
def test_a_stalled_client_does_not_hold_up_others() -> None:
    with running_command("--set", "header_seconds=8", "--set", "body_seconds=8") as command:
        slow = [connect(command.port, b"POST /v1/label HTTP/1.1\r\nHost: local") for _ in range(200)]
        head = b"POST /v1/label HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        slow += [connect(command.port, head + b"Content-Length: 99\r\n\r\n{") for _ in range(200)]
        for _ in range(20):
            assert ask(command.port, "POST", "/v1/label", TEXT).status == 200
        assert not select.select(slow, [], [], 0)[0], "all of them are still waited for"
        assert {read_all(each)[:12] for each in slow} == {b"HTTP/1.1 408"}
        for each in slow:
            each.close()


@pytest.mark.slow
def test_a_port_in_use_is_told_before_anything_is_loaded() -> None:
    with running_command() as command:
        for workers in ("1", "2"):
            finished = subprocess.run(
                [*COMMAND, "serve", "--port", str(command.port), "--workers", workers],
                capture_output=True,
                env=environment(),
                text=True,
                check=False,
                timeout=60,
            )
            assert_one_clear_error(finished, f":{command.port}", "in use", "--port")
            assert "model ready" not in finished.stderr


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_model_that_does_not_exist_is_one_clear_error(workers: str) -> None:
    finished = subprocess.run(
        [*COMMAND, "serve", "--port", "0", "--workers", workers, "--model", "sentimen"],
        capture_output=True,
        env=environment(),
        text=True,
        check=False,
        timeout=60,
    )
    assert_one_clear_error(finished, "sentimen", "sentiment")
