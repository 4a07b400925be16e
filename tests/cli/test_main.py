"""The command line's last resort: any error is one message, and a command that is stopped cleans up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import typer

from lexitree.cli import main as main_module
from lexitree.errors import ConfigError
from lexitree.processes import Terminated
from tests.cli.conftest import SENTENCE, Call, assert_users_error
from tests.command import COMMAND, environment, is_group_alive, leftovers, wait_until
from tests.learning.test_kill import train_arguments

MAX_SECONDS = 60


@pytest.fixture
def fail(call: Call, monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], tuple[int, str]]:
    """Run a command that raises an error, and return its exit status and message."""

    def run(error: BaseException) -> tuple[int, str]:
        app = typer.Typer(pretty_exceptions_enable=False)

        @app.command()
        def command() -> None:
            raise error

        monkeypatch.setattr(main_module, "make_app", lambda names: app)
        finished = call()
        assert finished.out == ""
        return finished.code, finished.err

    return run


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (KeyboardInterrupt(), 130),
        (Terminated(signal.SIGTERM), 143),
        (Terminated(signal.SIGHUP), 129),
        (BrokenPipeError(32, "Broken pipe"), 141),
        (typer.Exit(5), 5),
    ],
)
def test_a_command_that_is_stopped_says_nothing(
    fail: Callable[[BaseException], tuple[int, str]], error: BaseException, status: int
) -> None:
    assert fail(error) == (status, "")


TORCH_CPU = (
    "[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9"
)
TORCH_GPU = "CUDA out of memory. Tried to allocate 20.00 GiB.\nMore advice"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConfigError("wrong", remedy="Mend it."), "error: wrong\nMend it."),
        (OSError(28, "No space left on device"), "error: No space left on device\n"),
        (FileNotFoundError(2, "No such file", "a.txt"), "error: a.txt: No such file\n"),
        (OSError("the host is gone"), "error: the host is gone\n"),
        (TimeoutError(), "error: TimeoutError\n"),
        (MemoryError(), "not enough memory: Python has none left\nUse a smaller model"),
        (MemoryError("Unable to allocate 8 EiB"), "not enough memory: Unable to allocate 8 EiB"),
        (RuntimeError(TORCH_CPU), f"not enough memory: {TORCH_CPU}\nUse a smaller model"),
        (RuntimeError(TORCH_GPU), "not enough memory: CUDA out of memory. Tried to allocate 20.00 GiB.\nUse"),
    ],
)
def test_an_error_of_the_user_or_the_machine(
    fail: Callable[[BaseException], tuple[int, str]], error: BaseException, said: str
) -> None:
    status, message = fail(error)
    assert status == 1
    assert said in message
    assert message.count("error:") == 1
    assert "Traceback" not in message


def test_an_error_of_a_file_keeps_what_was_printed_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with (tmp_path / "out.txt").open("w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        print("a result")
        assert main_module._report(PermissionError(13, "Permission denied", "a.txt")) == 1
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == "a result\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_standard_output_that_cannot_be_written_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        print("a result")
        assert main_module._report(OSError(28, "No space left on device")) == 1
    assert capsys.readouterr().err == "error: the output: No space left on device\n"


@pytest.mark.parametrize(
    "error",
    [ValueError("subsection\nnot found"), RecursionError("too deep"), RuntimeError("x"), KeyError("é")],
)
def test_any_other_error_is_one_message_with_its_traceback_in_a_file(
    fail: Callable[[BaseException], tuple[int, str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    error: BaseException,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    status, message = fail(error)
    assert status == 70
    assert message.startswith(f"error: internal error: {type(error).__name__}: ")
    (path,) = tmp_path.iterdir()
    assert f"please report it with the traceback in {path}" in message
    assert "Traceback" not in message
    assert "in command\n    raise error" in path.read_text(encoding="utf-8")


def test_the_traceback_can_be_shown(
    fail: Callable[[BaseException], tuple[int, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv(main_module.TRACEBACK_VARIABLE, "1")
    status, message = fail(ValueError("wrong"))
    assert status == 70
    assert message.index("Traceback") < message.index("error: internal error: ValueError: wrong")
    assert not list(tmp_path.iterdir())


def test_without_a_place_for_the_file_the_traceback_is_shown(
    fail: Callable[[BaseException], tuple[int, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    status, message = fail(ValueError("wrong"))
    assert status == 70
    assert "with the traceback above" in message


def test_a_warning_does_not_steer_the_terminal(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    app = typer.Typer()
    app.command()(lambda: warnings.warn("odd\x1b[2J", stacklevel=1))
    monkeypatch.setattr(main_module, "make_app", lambda names: app)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert call().err == "warning: odd\\x1b[2J\n"


def test_a_model_that_does_not_fit_into_memory(call: Call, tmp_path: Path) -> None:
    finished = call("train", "-o", tmp_path / "run", "--set", "model.hidden=65536")
    assert_users_error(finished, "not enough memory: the parameters need", "model.hidden=65536")
    finished = call("train", "-o", tmp_path / "run", "--set", "model.hidden=100000")
    assert_users_error(finished, "hidden must be at least 1 and at most 65,536, not 100000")


@pytest.mark.parametrize(
    ("encoding", "arguments"),
    [
        ("ascii", ["models"]),
        ("ascii", ["--help"]),
        ("ascii", ["trees", "draw", "-n", "2"]),
        ("cp1252", ["trees", "draw", "-n", "2"]),
        ("cp1252", ["nonsense☃"]),
    ],
)
def test_streams_that_lack_characters(trees_file: Path, arguments: list[str], encoding: str) -> None:
    trees_file.write_text("(S (NP café) (VP ☃))\n(S ☃)\n", encoding="utf-8")
    finished = subprocess.run(
        [*COMMAND, *arguments, *([str(trees_file)] if "draw" in arguments else [])],
        capture_output=True,
        env={**environment(), "PYTHONIOENCODING": encoding},
        check=False,
    )
    assert finished.returncode == (2 if "nonsense☃" in arguments else 0)
    # Results are UTF-8 for whatever reads them; messages are for the terminal.
    assert finished.stdout.decode() or finished.stderr.decode(encoding)
    assert b"Traceback" not in finished.stderr


PRINTING = """
import sys
from lexitree.cli import console, main
assert sys.stdout.encoding != "utf-8", "importing a module changes nothing"
main.make_app = lambda names: lambda **_: print("café – 映画")
main.main()
"""


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1:strict"])
def test_what_is_piped_is_utf8(encoding: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", PRINTING],
        capture_output=True,
        check=True,
        env={**environment(), "PYTHONIOENCODING": encoding},
    )
    assert found.stdout.decode().rstrip() == "café – 映画"


# Signals


@contextmanager
def running(arguments: Sequence[object]) -> Iterator[subprocess.Popen[bytes]]:
    """A command in a process group of its own, which must be empty in the end."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    )
    try:
        with process:
            yield process
        wait_until(lambda: not is_group_alive(process.pid))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_while_waiting_for_input(tmp_path: Path, number: int, status: int) -> None:
    with running(["trees", "convert", "-", "-o", tmp_path / "out.txt"]) as process:
        wait_until(lambda: leftovers(tmp_path))
        process.send_signal(number)
        assert process.wait(MAX_SECONDS) == status
        assert process.communicate() == (b"", b"")
    assert not list(tmp_path.iterdir())


def test_a_signal_while_labelling_a_slow_stream(saved_model: Path, tmp_path: Path) -> None:
    with running(["predict", saved_model, "-", "-o", tmp_path / "out.jsonl"]) as process:
        assert process.stdin is not None
        process.stdin.write(SENTENCE.encode() * 2000)
        process.stdin.flush()
        wait_until(lambda: leftovers(tmp_path))
        for _ in range(5):
            process.terminate()
        assert process.wait(MAX_SECONDS) == 143
        assert process.communicate() == (b"", b"")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("seeds", ["1", pytest.param("1-2", marks=pytest.mark.slow)])
def test_a_signal_while_training(tmp_path: Path, seeds: str) -> None:
    folder = tmp_path / "run"
    arguments = [*train_arguments("sentences", tmp_path, folder), "--seeds", seeds, "--jobs", "2", "-q"]
    with running(arguments) as process:
        # Unlike rglob, os.walk bears that files vanish meanwhile.
        wait_until(lambda: any("checkpoint.safetensors" in files for _, _, files in os.walk(folder)))
        for _ in range(3):
            process.terminate()
        assert process.wait(MAX_SECONDS) == 143
        assert process.communicate() == (b"", b"")
    assert not leftovers(tmp_path)
    assert not list(folder.rglob("result.json"))


def test_a_reader_that_is_gone_before_the_end(trees_file: Path) -> None:
    for arguments in (["--version"], ["trees", "convert", str(trees_file)]):
        with subprocess.Popen(
            [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait() == 141
