"""Injects a fault at every file-system call of an operation, and checks what it leaves.

This is a program of its own, which `run_sweep` starts with the shim loaded. It imports the library once and forks a
process for every fault.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import gc
import importlib
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import torch

from lexitree.errors import LexitreeError
from lexitree.pipeline import loading
from tests.corpora.file_server import Behaviour, serve
from tests.fault_injection.operations import Content, Operation, Step, all_operations, make_archive
from tests.pipeline.stubs import RightBranching

SHIM = Path(__file__).with_name("shim.c")
ROOT = Path(__file__).parents[2]

Fault = IntEnum("Fault", ["NONE", "FAIL", "FILL", "KILL", "TEAR"], start=0)
"""The faults of the shim, by its numbers."""
REMOVALS = ("unlink", "unlinkat", "rmdir")


class Call(NamedTuple):
    """A file-system call that changes something."""

    name: str
    path: str
    new_path: str
    file: str
    """The number of the open file, 0 for a call by path."""


@dataclass(frozen=True)
class Report:
    """The outcome of a sweep over one operation."""

    num_calls: int
    faults: dict[str, int]
    """How many faults of each kind were injected."""
    violations: list[str]


def run_sweep(work: Path, *options: str) -> dict[str, Report]:
    """Compile the shim and sweep over all operations in a process that has it loaded.

    Args:
        work: An empty folder.
        options: Options of this program.
    """
    library = work / "shim.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SHIM, "-ldl"], check=True)
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    with serve(Behaviour(make_archive())) as server:
        finished = subprocess.run(
            [sys.executable, "-m", "tests.fault_injection.sweep", library, server.url, work, *options],
            env={**kept, "LD_PRELOAD": str(library)},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            check=True,
        )
    return {name: Report(**report) for name, report in json.loads(finished.stdout).items()}


class Sweep:
    """The faults of one operation, each in a fresh copy of the same folder."""

    def __init__(self, shim: ctypes.CDLL, operation: Operation, work: Path) -> None:
        self.shim = shim
        self.operation = operation
        self.template, self.folder = work / "template", work / "folder"
        self.template.mkdir()
        in_child(operation.prepare, self.template)
        if operation.interrupted:
            self._interrupt(operation.interrupted)
        self.old, _ = in_child(self._content, self.template)
        self.calls = self._trace(operation.run)
        self.new, _ = in_child(self._content, self.folder)

    def close(self) -> None:
        for folder in (self.template, self.folder):
            shutil.rmtree(folder)

    def _interrupt(self, step: Step) -> None:
        """Begin with what a process leaves that was killed while it wrote."""
        writes = [number for number, call in enumerate(self._trace(step), 1) if call.name == "write"]
        self._inject(step, Fault.TEAR, writes[len(writes) // 2])
        shutil.rmtree(self.template)
        self.folder.rename(self.template)

    def run(self, sample: int | None) -> Report:
        """Inject all faults, or so many of them."""
        faults = [*every_fault(self.calls)]
        step = max(1.0, len(faults) / (sample or len(faults)))
        chosen = [faults[int(place * step)] for place in range(int(len(faults) / step))]
        violations = [*find_unsynced(self.calls, self.folder)]
        for fault, number in chosen:
            call = self.calls[number - 1]
            where = f"{fault.name} at call {number}, {call.name} {Path(call.path).relative_to(self.folder)}"
            violations += [f"{where}: {problem}" for problem in self._try(fault, number)]
        violations = [text.replace(f"{self.folder}/", "") for text in violations]
        return Report(len(self.calls), dict(Counter(fault.name for fault, _ in chosen)), violations)

    def _trace(self, step: Step) -> list[Call]:
        """Do the operation without a fault; its calls."""
        ended = self._inject(step, Fault.NONE, 0)
        assert ended, "it was killed"
        problem, text, modules = ended
        assert problem is None, problem
        for name in modules:
            # So that no later process has to import it again.
            importlib.import_module(name)
        calls = [Call(*line.split("\t")) for line in text.splitlines()]
        seen = {call.file for call in calls}
        before = {path.relative_to(self.template) for path in self.template.rglob("*")}
        for path in self.folder.rglob("*"):
            is_new = path.is_file() and path.stat().st_size and path.relative_to(self.folder) not in before
            assert not is_new or str(path.stat().st_ino) in seen, f"the shim does not see who writes {path}"
        return calls

    def _inject(self, step: Step, fault: Fault, number: int) -> tuple[str | None, str, list[str]] | None:
        """Do the operation in a fresh folder; see `_run_armed`."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.template, self.folder)
        return in_child(self._run_armed, step, fault, number)

    def _run_armed(self, step: Step, fault: Fault, number: int) -> tuple[str | None, str, list[str]]:
        """How it ended, the calls, and the modules that were imported."""
        self.shim.arm(str(self.folder).encode(), number, int(fault))
        problem = describe_end(step, self.folder)
        self.shim.disarm()
        modules = [name for name in sys.modules if name.startswith(("lexitree.", "typer."))]
        return problem, self.shim.calls().decode(), modules

    def _content(self, folder: Path) -> tuple[Content, str]:
        try:
            return self.operation.content(folder), ""
        except LexitreeError as error:
            return None, f"the output cannot be read ({error.message})"

    def _try(self, fault: Fault, number: int) -> list[str]:
        """Inject one fault; what is wrong afterwards."""
        is_kill = fault in (Fault.KILL, Fault.TEAR)
        ended = self._inject(self.operation.run, fault, number)
        if (ended is None) != is_kill:
            return ["it was not reached" if is_kill else "the process was killed"]
        problem = ended[0] if ended else None
        wrong = [problem] if problem and problem.startswith("raised") else []
        # What cannot be removed remains.
        may_litter = fault is Fault.FAIL and self.calls[number - 1].name in REMOVALS
        is_done = ended is not None and problem is None
        return wrong + in_child(self._check, ended is None, is_done, may_litter)

    def _check(self, is_killed: bool, is_done: bool, may_litter: bool) -> list[str]:
        """What is wrong with the folder, and after the operation is run again."""
        operation = self.operation
        found, problem = self._content(self.folder)
        if not problem and not operation.is_whole(found, self.old, self.new):
            problem = "the output is not whole"
        elif is_done and found != self.new:
            problem = "it succeeded with another output"
        problems = [problem] if problem else []
        if not is_killed and not may_litter:
            before = {path.name for path in operation.litter(self.template)}
            problems += [
                f"left {name}" for name in {path.name for path in operation.litter(self.folder)} - before
            ]
        if problem := describe_end(operation.run_again, self.folder):
            return [*problems, f"run again, it {problem}"]
        found, problem = self._content(self.folder)
        if found != self.new:
            problems.append(f"run again, {problem or 'it gives another output'}")
        if operation.removes_old_litter:
            problems += [f"run again, it left {path.name}" for path in operation.litter(self.folder)]
        return problems


def in_child(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a forked process; its result, or None if it was killed."""
    reader, writer = os.pipe()
    # Looking for garbage would copy all the memory that the processes share.
    gc.freeze()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with open(writer, "wb") as stream:
                pickle.dump(function(*arguments), stream)
            code = 0
        finally:
            if code:
                sys.excepthook(*sys.exc_info())
            os._exit(code)
    os.close(writer)
    with open(reader, "rb") as stream:
        result = stream.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), f"a process ended with exit code {code}"
    return pickle.loads(result) if code == 0 else None


def describe_end(step: Step, folder: Path) -> str | None:
    """Do something; None if it succeeds."""
    try:
        step(folder)
    except LexitreeError as error:
        return f"failed: {error.message}"
    except Exception as error:
        return f"raised {error!r}"
    return None


def every_fault(calls: Sequence[Call]) -> Iterator[tuple[Fault, int]]:
    for number, call in enumerate(calls, 1):
        yield from ((fault, number) for fault in (Fault.FAIL, Fault.FILL, Fault.KILL))
        if call.name == "write":
            yield Fault.TEAR, number


def find_unsynced(calls: Sequence[Call], folder: Path) -> Iterator[str]:
    """Find what a power cut could damage: a file or folder that gets its name before its bytes are on disk."""
    unsynced: dict[str, str] = {}
    renamed: dict[str, str] = {}
    for call in calls:
        if call.name == "write":
            unsynced[call.file] = call.path
        elif call.name in ("fsync", "fdatasync"):
            unsynced.pop(call.file, None)
            renamed.pop(call.path, None)
        elif call.name == "rename":
            new = Path(call.new_path)
            inside = [file for file, path in unsynced.items() if f"{path}/".startswith(f"{call.path}/")]
            for file in inside:
                del unsynced[file]
            if not any(part.startswith(".") for part in new.relative_to(folder).parts):
                renamed[str(new.parent)] = new.name
                if inside:
                    yield f"{new.name} gets its name before its bytes are on disk"
    yield from (f"the name of {name} may not be on disk in the end" for name in renamed.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", help="the compiled shim")
    parser.add_argument("url", help="the address to download from")
    parser.add_argument("work", type=Path, help="an empty folder")
    parser.add_argument("--sample", type=int, help="only so many faults per operation")
    parser.add_argument("--only", help="only this operation")
    options = parser.parse_args()
    shim = ctypes.CDLL(options.library)
    shim.calls.restype = ctypes.c_char_p
    torch.set_num_threads(1)
    loading.open_parser = lambda spec: RightBranching()
    output = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    reports: dict[str, Any] = {}
    for operation in all_operations(options.url):
        if options.only in (None, operation.name):
            sweep = Sweep(shim, operation, options.work.resolve())
            reports[operation.name] = dataclasses.asdict(sweep.run(options.sample))
            sweep.close()
    with open(output, "w", encoding="utf-8") as stream:
        json.dump(reports, stream)


if __name__ == "__main__":
    main()
