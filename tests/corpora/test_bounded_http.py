"""Servers that mean harm, or hang: each is one error, soon, and leaves nothing behind."""

from __future__ import annotations

import hashlib
import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from lexitree.corpora import bounded_http
from lexitree.corpora.bounded_http import Meter
from lexitree.corpora.download import fetch_package
from lexitree.corpora.locations import Package, RemoteFile
from lexitree.errors import DownloadError

CONTENT = bytes(range(256)) * 8
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
Answer = Callable[[], Iterable[bytes]]


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in the environment must not stand between the test and its server."""
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits a minute in a test."""
    monkeypatch.setattr(bounded_http, "_WINDOW_SECONDS", 0.1)


@contextmanager
def serve(answer: Answer) -> Iterator[str]:
    """A server on this machine that gives every request the same answer, to its end or until the other hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def reply(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.recv(1 << 16)
                for part in answer():
                    connection.sendall(part)

        def listen() -> None:
            with suppress(OSError):
                while True:
                    reply(listening.accept()[0])

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/file.bin"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(10)
    assert not thread.is_alive(), "the connection was not closed"


def fetch(url: str, folder: Path) -> Path:
    digest = hashlib.sha256(CONTENT).hexdigest()
    files = (RemoteFile(url, "some/file.bin", len(CONTENT), digest),)
    return fetch_package(Package("some", "a file", "none", files), folder).paths[0]


def slowly(start: bytes, rest: bytes) -> Iterator[bytes]:
    yield start
    for byte in rest:
        time.sleep(0.02)
        yield bytes([byte])


def redirect(place: str) -> bytes:
    return f"HTTP/1.1 302 Found\r\nLocation: {place}\r\n\r\n".encode(errors="surrogateescape")


HOSTILE: dict[str, tuple[Answer, str]] = {
    "a length of 5,000 digits": (
        lambda: [OK + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n"],
        "offers 9999",
    ),
    "a negative length": (lambda: [OK + b"Content-Length: -1\r\n\r\n"], "interrupted after 0"),
    "another length": (lambda: [OK + b"Content-Length: 7\r\n\r\n"], "offers 7 bytes"),
    "another encoding": (
        lambda: [OK + b"Content-Encoding: gzip\r\n\r\n" + CONTENT],
        "another encoding .gzip",
    ),
    "nothing": (list, "cannot connect|closed connection"),
    "no HTTP": (lambda: [b"\x00\xff" * 500 + b"\r\n\r\n"], "cannot connect"),
    "a status of 5,000 digits": (lambda: [b"HTTP/1.1 " + b"2" * 5_000 + b"\r\n\r\n"], "cannot connect"),
    "a malformed redirect": (lambda: [redirect("http://[")], "redirects to 'http://\\['"),
    "a redirect to a port that is none": (
        lambda: [redirect(f"http://127.0.0.1:{2**64}/")],
        "not a web address",
    ),
    "a redirect to letters for a port": (lambda: [redirect("http://127.0.0.1:port/")], "not a web address"),
    "a redirect to a name that is none": (lambda: [redirect("http://\u00ed\udcff/")], "cannot connect"),
    "a redirect with an absurd length": (
        lambda: [redirect("/").replace(b"\r\n\r\n", f"\r\nContent-Length: {2**63}\r\n\r\n".encode())],
        "more than 5 redirects",
    ),
    "a part that was not asked for": (lambda: [b"HTTP/1. 206\r\n\r\n" + CONTENT], "wrong position"),
    "a redirect with spaces": (lambda: [redirect("http://127.0.0.1/a b\tc")], "cannot connect"),
    "a redirect to a file": (
        lambda: [redirect("file:///etc/passwd")],
        "file:///etc/passwd', which is not a web address",
    ),
    "a redirect to FTP": (lambda: [redirect("ftp://127.0.0.1/file")], "which is not a web address"),
    "a redirect to data": (lambda: [redirect("data:,hello")], "which is not a web address"),
    "a redirect to nowhere": (lambda: [b"HTTP/1.1 302 Found\r\n\r\n"], "which is not a web address"),
    "a redirect to itself": (lambda: [redirect("/file.bin")], "more than 5 redirects"),
    "an endless redirect": (
        lambda: itertools.chain([redirect("/file.bin")], itertools.repeat(b"x" * 1_000)),
        "more than 5 redirects",
    ),
    "an endless error": (
        lambda: itertools.chain([b"HTTP/1.1 500 Oh\r\n\r\n"], itertools.repeat(b"x" * 1_000)),
        "responded with 500",
    ),
    "an endless file": (lambda: itertools.chain([OK + b"\r\n"], itertools.repeat(CONTENT)), "sent more than"),
    "endless headers": (lambda: itertools.chain([OK], itertools.repeat(b"A: b\r\n")), "cannot connect"),
    "an endless header": (
        lambda: itertools.chain([OK, b"A: "], itertools.repeat(b"b" * 1_000)),
        "cannot connect",
    ),
    "endless patience": (
        lambda: itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        "cannot connect .*sends without end",
    ),
    "no chunk": (lambda: [CHUNKED + b"zz\r\n" + CONTENT], "interrupted after 0"),
    "a huge chunk": (lambda: [CHUNKED + b"f" * 5_000 + b"\r\n"], "interrupted after 0"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_server(tmp_path: Path, name: str) -> None:
    answer, problem = HOSTILE[name]
    with serve(answer) as url, pytest.raises(DownloadError, match=problem) as caught:
        fetch(url, tmp_path)
    assert "To do it manually" in caught.value.remedy
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.usefixtures("impatient")
def test_slow_headers_are_not_waited_for(tmp_path: Path) -> None:
    with (
        serve(lambda: slowly(b"", OK + b"A: b\r\n" * 50)) as url,
        pytest.raises(DownloadError, match=r"cannot connect .*too slow"),
    ):
        fetch(url, tmp_path)


@pytest.mark.usefixtures("impatient")
def test_a_slow_server_is_given_up(tmp_path: Path) -> None:
    """What has come is kept, and the next try resumes it."""
    with (
        serve(lambda: slowly(OK + b"\r\n", CONTENT)) as url,
        pytest.raises(DownloadError, match=r"interrupted after .*too slow"),
    ):
        fetch(url, tmp_path)
    part = (tmp_path / "some" / "file.bin.part").read_bytes()
    assert CONTENT.startswith(part)


def test_a_silent_server_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "TIMEOUT_SECONDS", 0.1)
    finished = threading.Event()

    def wait() -> Iterator[bytes]:
        finished.wait(30)
        yield b""

    with serve(wait) as url:
        with pytest.raises(DownloadError, match=r"cannot connect .*timed out"):
            fetch(url, tmp_path)
        finished.set()


@pytest.mark.parametrize(
    "answer",
    [
        lambda: [OK + b"\r\n" + CONTENT],
        lambda: [CHUNKED + b"800\r\n" + CONTENT + b"\r\n0\r\n\r\n"],
        lambda: [CHUNKED + b"-5\r\n" + CONTENT],
        # Whatever comes after the file does not matter any more.
        lambda: itertools.chain(
            [CHUNKED + b"800\r\n" + CONTENT + b"\r\n0\r\n"], itertools.repeat(b"A: b\r\n" * 1_000)
        ),
        lambda: [b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"\r\n" + CONTENT],
    ],
)
def test_odd_answers_that_have_the_file(tmp_path: Path, answer: Answer) -> None:
    with serve(answer) as url:
        assert fetch(url, tmp_path).read_bytes() == CONTENT


def test_a_redirect_is_followed_with_its_range(tmp_path: Path) -> None:
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "file.bin.part").write_bytes(CONTENT[:1_000])
    partial = b"HTTP/1.1 206 Partial\r\nContent-Range: bytes 1000-2047/2048\r\n\r\n"
    with serve(lambda: [partial + CONTENT[1_000:]]) as target, serve(lambda: [redirect(target)]) as url:
        assert fetch(url, tmp_path).read_bytes() == CONTENT


class TestMeter:
    """All by numbers, without a clock."""

    def test_a_slow_line_is_not_too_slow(self) -> None:
        meter = Meter(10**9)
        meter.start()
        for _ in range(3_600):
            meter.note(4_096, 1.0)

    def test_a_pause_is_no_end(self) -> None:
        meter = Meter(10**9)
        meter.start()
        meter.note(1_000_000, 1.0)
        meter.note(0, 59.5)
        with pytest.raises(TimeoutError, match="too slow: 0 bytes per second"):
            meter.note(0, 60.0)

    def test_one_byte_a_second(self) -> None:
        meter = Meter(10**9)
        meter.start()
        for _ in range(59):
            meter.note(1, 1.0)
        with pytest.raises(TimeoutError, match="too slow: 1 bytes per second"):
            meter.note(1, 1.0)

    def test_the_deadline_is_over_all_connections(self) -> None:
        meter = Meter(10**12)
        for _ in range(12):
            meter.start()
            meter.note(10**8, 3_599.0)
        with pytest.raises(TimeoutError, match="more than 12 hours"):
            meter.note(10**8, 60.0)

    def test_the_file_may_come_again_on_another_connection(self) -> None:
        meter = Meter(10**7)
        for _ in range(3):
            meter.start()
            meter.note(10**7 + 10_000, 1.0)
        with pytest.raises(OSError, match="without end"):
            meter.note(1 << 20, 1.0)
