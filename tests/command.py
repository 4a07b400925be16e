"""The command line as a user runs it: in a process of its own, with limits where a test asks for them."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from typer.main import get_command

from lexitree.cli.main import make_app

COMMAND = (sys.executable, "-m", "lexitree")


def environment() -> dict[str, str]:
    """A plain terminal of 100 columns, and no real data."""
    kept = {name: value for name, value in os.environ.items() if name != "LEXITREE_DATA"}
    return {**kept, "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}


def run_command(
    *arguments: object,
    stdin: bytes = b"",
    max_address_space: int | None = None,
    max_file_size: int | None = None,
    cwd: Path | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run `lexitree` with arguments; the limits, in bytes, hold for the child only."""

    def limit() -> None:
        if max_address_space is not None:
            resource.setrlimit(resource.RLIMIT_AS, (max_address_space, max_address_space))
        if max_file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_size, max_file_size))

    finished = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        env=environment(),
        preexec_fn=limit,
        cwd=cwd,
        timeout=timeout,
        check=False,
    )
    return subprocess.CompletedProcess(
        finished.args, finished.returncode, finished.stdout.decode(), finished.stderr.decode()
    )


def assert_one_clear_error(finished: subprocess.CompletedProcess[str], *parts: str) -> None:
    """Exit code 1 and a message that names these parts: no traceback, and no second error."""
    assert finished.returncode == 1, finished.stderr
    assert len(re.findall(r"^error:", finished.stderr, re.MULTILINE)) == 1, finished.stderr
    assert "Traceback" not in finished.stderr
    for part in parts:
        assert part in finished.stderr


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_group_alive(group: int) -> bool:
    """Whether any process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content, hidden ones included."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def leftovers(folder: Path) -> Sequence[Path]:
    """What an unfinished write would leave behind."""
    return [*folder.rglob("*.part"), *folder.rglob("*.old")]


def processes_below(number: int) -> list[int]:
    """The processes that a process has started, and those that they have started, while it lives."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found = [number]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


def is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    # A process that has ended and that nobody has waited for is not alive either.
    status = Path(f"/proc/{number}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def find_command(*names: str) -> Any:
    """A command as Typer builds it, with its `params`."""
    found: Any = get_command(make_app(names[:1]))
    for name in names:
        found = found.commands[name]
    return found


def set_options(settings: Mapping[str, object]) -> list[str]:
    """Settings as options of a training command: `--set model.hidden=8` and so on."""
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
