"""Plant known faults in the code, one at a time, and check that the tests catch each of them.

    python -m tests.faults
    python -m tests.faults --only levelwise-head-gate-swapped --only f1-without-recall
    python -m tests.faults --list

`faults.toml` lists mistakes that somebody could make; each replaces one snippet of one file. The faults are planted
in a copy of the repository, so the working tree is never touched. The tests named for a fault run first, up to the
first failure; the whole fast suite runs only where they pass. A snippet that does not occur exactly once in its file
is an error, because the list has to follow the code.

Exit status: 0 if every fault was caught, 1 if one survived, 2 if the list or the unchanged code is at fault.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("faults.toml")

LEFT_OUT = (
    *(".git", ".venv", "__pycache__", ".pytest_cache", ".ruff_cache", ".hypothesis"),
    *("build", "carried", "dist", "runs", "site"),
)
"""Folders that the tests do not need. Compiled code could even hide a fault."""

PYTEST_OPTIONS = ("-x", "-q", "--tb=line", "--assert=plain", "-p", "no:cacheprovider")
"""Stop at the first failure. Plain assertions, because comparing long values for the message can take minutes."""

FAST = ("-m", "not slow")
PASSED, FAILED, INTERRUPTED = 0, 1, 2
"""Exit codes of pytest; it is interrupted by a module that cannot be imported."""

Stage = Literal["mirror", "suite"]
_NOTICED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


class ListError(Exception):
    """The list of faults is wrong, or the tests fail without any fault."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A mistake, and the tests that should catch it."""

    name: str
    about: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    survives_before: bool = False
    """Whether no test caught it when the list was made, before the code was reorganized."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one fault."""

    name: str
    caught: bool
    caught_by: str
    """The test that failed first; "timed out" if the tests did not end, "" if all passed."""
    stage: Stage
    """Whether the tests named for the fault decided it, or the whole suite."""
    seconds: float


Report = Callable[[Outcome], object]
"""Called with each outcome as it comes."""


class Copy:
    """A copy of the repository in which faults are planted and tests run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # With CI, generated examples are the same each time, so a fault is caught always or never. Tests with real
        # data are skipped: what only they catch would go unnoticed on most machines.
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(root / "src"), str(root / "paper" / "src"))),
            "CI": "1",
        }
        self.environment.pop("LEXITREE_DATA", None)

    @contextmanager
    def planted(self, fault: Fault) -> Generator[None]:
        """Within this context, the copy has the fault."""
        path = self.root / fault.file
        sound = path.read_text(encoding="utf-8")
        _write(path, with_fault(sound, fault))
        try:
            yield
        finally:
            _write(path, sound)

    def check_import(self) -> None:
        """Raise an error if the tests would import an installed package and not the copy."""
        command = [sys.executable, "-c", "import lexitree; print(lexitree.__file__)"]
        found = subprocess.run(
            command, cwd=self.root, env=self.environment, capture_output=True, text=True, check=True
        ).stdout.strip()
        if not Path(found).is_relative_to(self.root):
            raise ListError(f"the tests would import {found}, not the copy")

    def test(self, arguments: Sequence[str], seconds: float) -> tuple[int | None, str]:
        """Run pytest; return its exit code (None if it took too long) and what it printed."""
        command = [sys.executable, "-m", "pytest", *PYTEST_OPTIONS, *arguments]
        # A process group of its own, so that processes started by tests can be ended too.
        with (
            tempfile.TemporaryFile() as output,
            subprocess.Popen(
                command,
                cwd=self.root,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process,
        ):
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _kill_group(process)
            output.seek(0)
            return code, output.read().decode(errors="replace")


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _write(path: Path, text: str) -> None:
    """Write a module and remove its compiled code, which Python checks only by size and modification time."""
    path.write_text(text, encoding="utf-8")
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()


def with_fault(text: str, fault: Fault) -> str:
    """The text of a file with a fault; raises a ListError if the fault does not fit the file."""
    times = text.count(fault.old)
    if times != 1:
        raise ListError(
            f"{fault.name}: the snippet occurs {times} times in {fault.file}, not once: {fault.old!r}"
        )
    faulty = text.replace(fault.old, fault.new)
    if fault.file.endswith(".py"):
        try:
            compile(faulty, fault.file, "exec")
        except SyntaxError as error:
            raise ListError(f"{fault.name}: {fault.file} is no longer valid Python ({error})") from error
    return faulty


def read_faults(path: Path) -> list[Fault]:
    """Read a list of faults and check what can be checked without the code."""
    try:
        entries: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["fault"]
        for entry in entries:
            entry["tests"] = tuple(entry["tests"])
        faults = [Fault(**entry) for entry in entries]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise ListError(f"{path.name} cannot be read: {error}") from error
    names = [fault.name for fault in faults]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ListError(f"duplicate fault: {', '.join(sorted(twice))}")
    for fault in faults:
        if not fault.tests or fault.old == fault.new:
            raise ListError(f"{fault.name} needs tests, and a new snippet that differs from the old one")
    return faults


def choose(faults: Sequence[Fault], names: Sequence[str]) -> list[Fault]:
    """The faults with these names, or all of them."""
    if unknown := set(names) - {fault.name for fault in faults}:
        raise ListError(f"unknown fault: {', '.join(sorted(unknown))}")
    return [fault for fault in faults if not names or fault.name in names]


def check_faults(faults: Sequence[Fault], root: Path) -> None:
    """Raise a ListError if a fault no longer fits the code or its tests."""
    for fault in faults:
        if missing := [test for test in fault.tests if not (root / test.partition("::")[0]).exists()]:
            raise ListError(f"{fault.name}: missing test {', '.join(missing)}")
        path = root / fault.file
        if not path.is_file():
            raise ListError(f"{fault.name}: missing file {fault.file}")
        with_fault(path.read_text(encoding="utf-8"), fault)


def check_sound_code(copy: Copy, arguments: Sequence[str], seconds: float) -> None:
    """Check that the tests pass without a fault; otherwise they would seem to catch anything."""
    code, printed = copy.test(arguments, seconds)
    if code != PASSED:
        raise ListError(f"the tests fail without any fault:\n{printed[-3000:]}")


def try_fault(copy: Copy, fault: Fault, arguments: Sequence[str], stage: Stage, seconds: float) -> Outcome:
    """Plant a fault and find the test that catches it first."""
    start = time.perf_counter()
    with copy.planted(fault):
        caught_by = _first_failure(fault, *copy.test(arguments, seconds))
    return Outcome(fault.name, bool(caught_by), caught_by, stage, round(time.perf_counter() - start, 1))


def _first_failure(fault: Fault, code: int | None, printed: str) -> str:
    """What caught the fault, "" if nothing did; raises a ListError if the tests did not run at all."""
    if code is None:
        return "timed out"
    if code == PASSED:
        return ""
    if code < 0:
        return f"ended by signal {-code}"
    noticed = _NOTICED.search(printed)
    if code not in (FAILED, INTERRUPTED) or noticed is None:
        raise ListError(f"{fault.name}: pytest ended with {code} and named no test:\n{printed[-3000:]}")
    return noticed[1]


def show_list(faults: Sequence[Fault], console: Console) -> None:
    table = Table(*(Column(name, overflow="fold") for name in ("fault", "what is wrong", "file", "tests")))
    for fault in faults:
        table.add_row(*map(escape, (fault.name, fault.about, fault.file, "\n".join(fault.tests))))
    console.print(table)


def show_progress(outcome: Outcome, console: Console) -> None:
    caught_by = outcome.caught_by or f"survived the {outcome.stage}"
    console.print(f"{outcome.name}: {caught_by}", markup=False, highlight=False, soft_wrap=True)


def show_outcomes(outcomes: Sequence[Outcome], console: Console) -> None:
    table = Table(
        Column("fault", overflow="fold"),
        Column("caught by", overflow="fold"),
        Column("seconds", justify="right"),
    )
    for outcome in outcomes:
        caught_by = escape(outcome.caught_by) if outcome.caught else "[bold red]SURVIVED[/bold red]"
        table.add_row(outcome.name, caught_by, f"{outcome.seconds:.1f}")
    console.print(table)
    num_caught = sum(outcome.caught for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    console.print(f"{num_caught} of {len(outcomes)} faults were caught, in {seconds:,.0f} seconds.")


@contextmanager
def copied_repository() -> Generator[Copy]:
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        root = Path(folder) / "copy"
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(*LEFT_OUT, "*.egg-info"))
        yield Copy(root)


def run(faults: Sequence[Fault], options: argparse.Namespace, report: Report) -> list[Outcome]:
    """Try all faults with the tests named for them, then those that survive with the whole suite."""
    with copied_repository() as copy:
        copy.check_import()
        outcomes = try_mirrors(copy, faults, options, report)
        survivors = [fault for fault in faults if not outcomes[fault.name].caught]
        if survivors and not options.mirror_only:
            outcomes |= try_suite(copy, survivors, options, report)
    return [outcomes[fault.name] for fault in faults]


def try_mirrors(
    copy: Copy, faults: Sequence[Fault], options: argparse.Namespace, report: Report
) -> dict[str, Outcome]:
    """Try each fault with the tests named for it."""
    tests = sorted({test for fault in faults for test in fault.tests})
    check_sound_code(copy, [*FAST, *tests], options.suite_timeout)
    outcomes: dict[str, Outcome] = {}
    for fault in faults:
        outcomes[fault.name] = try_fault(copy, fault, [*FAST, *fault.tests], "mirror", options.timeout)
        report(outcomes[fault.name])
    return outcomes


def try_suite(
    copy: Copy, faults: Sequence[Fault], options: argparse.Namespace, report: Report
) -> dict[str, Outcome]:
    """Try each fault with the whole fast suite."""
    suite = [*FAST, *(("-n", str(options.workers)) if options.workers else ())]
    check_sound_code(copy, suite, options.suite_timeout)
    outcomes: dict[str, Outcome] = {}
    for fault in faults:
        outcomes[fault.name] = try_fault(copy, fault, suite, "suite", options.suite_timeout)
        report(outcomes[fault.name])
    return outcomes


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="try this fault; repeatable"
    )
    parser.add_argument("--list", action="store_true", help="show the faults and stop")
    parser.add_argument("--mirror-only", action="store_true", help="never run the whole suite")
    parser.add_argument(
        "--timeout",
        type=float,
        default=300,
        metavar="SECONDS",
        help="limit for the tests of one fault (default 300)",
    )
    parser.add_argument(
        "--suite-timeout",
        type=float,
        default=3600,
        metavar="SECONDS",
        help="limit for the suite (default 3600)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=2,
        help="processes for the whole suite (default 2; 0 for none but this one)",
    )
    return parser.parse_args()


def main() -> int:
    options = parse_options()
    console = Console()
    try:
        faults = choose(read_faults(LIST), options.only)
        check_faults(faults, ROOT)
        if options.list:
            show_list(faults, console)
            return 0
        outcomes = run(faults, options, lambda outcome: show_progress(outcome, console))
    except ListError as error:
        Console(stderr=True).print(f"error: {error}", markup=False, highlight=False, soft_wrap=True)
        return 2
    show_outcomes(outcomes, console)
    return 0 if all(outcome.caught for outcome in outcomes) else 1
