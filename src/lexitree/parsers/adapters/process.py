"""Runs a command and moves its input and output in threads, so that no full pipe can block both sides."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from lexitree.errors import ParserError

try:
    import fcntl
    import termios
except ImportError:  # Windows: then a command counts as hungry once the pipe has taken all.
    fcntl = termios = None

CHUNK_BYTES = 1 << 16
_MAX_WAITING_CHUNKS = 64
"""Chunks of output that may wait to be read; a command that writes more has to wait."""

_KEPT_COMPLAINTS = 4_096
"""Number of last bytes of standard error kept for error messages."""

_GRACE_SECONDS = 2.0
"""How long a command may take to end after SIGTERM."""


class CommandProcess:
    """One run of a command; three threads move its bytes, and every method returns in bounded time."""

    def __init__(
        self,
        command: Sequence[str] | str,
        *,
        folder: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start the command: a sequence is a program and its arguments, a string is run by the shell."""
        self._process = _start(command, folder, environment)
        self._owner = os.getpid()
        # Also when the interpreter exits or the object is garbage-collected. If this process is killed, the command
        # finds its input closed.
        self._kill = weakref.finalize(self, _kill_group, self._process, self._owner)
        self._num_sent = 0
        self._num_written = 0
        self._input: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._output: queue.Queue[bytes] = queue.Queue(_MAX_WAITING_CHUNKS)
        self._complaints = bytearray()
        self._is_closing = threading.Event()
        self._has_ended_output = False
        self.last_sign_of_life = time.monotonic()
        self._threads = [
            threading.Thread(target=work, daemon=True)
            for work in (self._write_input, self._read_output, self._read_complaints)
        ]
        for thread in self._threads:
            thread.start()

    def send(self, data: bytes) -> None:
        """Queue bytes; they are written as the command reads them."""
        self._num_sent += len(data)
        self._input.put(data)

    def end_input(self) -> None:
        """Close the command's input once everything is written."""
        self._input.put(None)

    def receive(self, seconds: float) -> bytes | None:
        """Return the next output; None if there is none within the time, b"" at the end."""
        if self._has_ended_output or self._is_closing.is_set():
            return b""
        try:
            chunk = self._output.get(timeout=seconds) if seconds > 0 else self._output.get_nowait()
        except queue.Empty:
            return None
        self._has_ended_output = not chunk
        return chunk

    @property
    def is_hungry(self) -> bool:
        """Whether the command has read everything it was sent, as far as the system can tell."""
        stdin = self._process.stdin
        if self._num_written < self._num_sent or stdin is None or stdin.closed:
            return False
        if fcntl is None or termios is None:
            return True
        with contextlib.suppress(OSError, ValueError):
            unread = fcntl.ioctl(stdin.fileno(), termios.FIONREAD, bytes(4))
            return not any(unread)
        return True

    @property
    def is_ours(self) -> bool:
        """Whether this process has started the command; a forked one has neither its threads nor its answers."""
        return self._owner == os.getpid()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait(self, seconds: float) -> int | None:
        """Return the exit code, or None if the command still runs after the given time."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def complaints(self) -> str:
        """Return the end of standard error."""
        if not self.is_running:
            self._threads[-1].join(_GRACE_SECONDS)
        return bytes(self._complaints).decode("utf-8", "replace").strip()

    def close(self) -> None:
        """End the command and its children, by force if necessary."""
        if not self.is_ours:
            return
        self._is_closing.set()
        self._input.put(None)
        self._kill()
        for thread in self._threads:
            thread.join(_GRACE_SECONDS)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _write_input(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        # A command that has ended reads no more; its output and exit code tell why.
        with contextlib.suppress(OSError, ValueError):
            while (data := self._input.get()) is not None and not self._is_closing.is_set():
                _write_whole(stdin, data)
                self._num_written += len(data)
                self.last_sign_of_life = time.monotonic()
        with contextlib.suppress(OSError):
            stdin.close()

    def _read_output(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        chunk = b"."
        while chunk and not self._is_closing.is_set():
            chunk = _read_chunk(stdout)
            self.last_sign_of_life = time.monotonic()
            while not self._is_closing.is_set():
                with contextlib.suppress(queue.Full):
                    self._output.put(chunk, timeout=0.1)
                    break

    def _read_complaints(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        while chunk := _read_chunk(stderr):
            self._complaints += chunk
            del self._complaints[:-_KEPT_COMPLAINTS]


def _start(
    command: Sequence[str] | str, folder: str | Path | None, environment: Mapping[str, str] | None
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command if isinstance(command, str) else list(command),
            shell=isinstance(command, str),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=folder,
            env=None if environment is None else {**os.environ, **environment},
            # In its own group, so that it ends as a whole, by us and not by Ctrl-C in the terminal.
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        program = command if isinstance(command, str) else next(iter(command), "")
        reason = getattr(error, "strerror", None) or error
        raise ParserError(
            f"the command {program!r} cannot be started ({reason})",
            remedy="Give the path of a program; pipes need shell=True.",
        ) from error


def _write_whole(stream: IO[bytes], data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[stream.write(rest) :]


def _read_chunk(stream: IO[bytes]) -> bytes:
    try:
        return stream.read(CHUNK_BYTES)
    except (OSError, ValueError):
        return b""


def _kill_group(process: subprocess.Popen[bytes], owner: int) -> None:
    """Ask the command and its children to end, then kill them; in a forked process, leave them to their owner."""
    if os.getpid() != owner:
        return
    _signal_group(process, signal.SIGTERM)
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
    finally:  # Ctrl-C does not save it either.
        _signal_group(process, getattr(signal, "SIGKILL", signal.SIGTERM))
        process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            # Children may outlive the group's leader, so the group is signalled in any case.
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
