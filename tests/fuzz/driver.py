"""Runs damaged inputs against targets and keeps what raises anything but one of our own errors."""

from __future__ import annotations

import json
import resource
import signal
import time
import traceback
import zlib
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import hypothesis
import torch
from hypothesis import Phase
from hypothesis.strategies import SearchStrategy

from lexitree.errors import LexitreeError
from tests.fuzz.mutations import Case, mutate_case

ROOT = Path(__file__).parents[2]
OWN_FOLDERS = (ROOT / "src", Path(__file__).parent)
FAILURES = ROOT / "runs" / "fuzz"
"""Where failed cases are saved."""
SHRINKING_SECONDS = 5.0


class TooSlowError(BaseException):
    """A case has run longer than it may; no `except Exception` of the code under test stops it."""


@dataclass(frozen=True, slots=True)
class Target:
    """Something that reads input from outside."""

    name: str
    check: Callable[[Case, Path], object]
    """Reads a case, with a folder to write to; raises a LexitreeError to refuse it, anything else if it fails."""
    seeds: Callable[[], list[Case]]
    """Good inputs, which are damaged to get cases."""
    num_quick: int
    """How many cases the fast tests run."""
    mutate: Callable[[Case, Random, Case], Case] = mutate_case

    def case(self, seed: int, number: int) -> Case:
        """A case, which follows from the seed and its number alone."""
        rng = Random(f"{seed}/{self.name}/{number}")
        seeds = self.seeds()
        return self.mutate(rng.choice(seeds), rng, rng.choice(seeds))


TARGETS: dict[str, Target] = {}


def target(name: str, seeds: Callable[[], list[Case]], num_quick: int, **options: Any) -> Callable[..., Any]:
    """Register a check as a target; for use as a decorator."""

    @cache
    def make_seeds() -> list[Case]:
        torch.manual_seed(1)
        return seeds()

    def register(check: Callable[[Case, Path], object]) -> Callable[[Case, Path], object]:
        TARGETS[name] = Target(name, check, make_seeds, num_quick, **options)
        return check

    return register


def examples(strategy: SearchStrategy[Any], count: int = 20) -> list[Any]:
    """Values of a hypothesis strategy, the same each time."""
    found: list[Any] = []

    @hypothesis.seed(1)
    @hypothesis.settings(
        max_examples=count, database=None, deadline=None, derandomize=False, phases=[Phase.generate]
    )
    @hypothesis.given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found


def write_case(case: Case, folder: Path) -> Path:
    """Put the files of a case into a folder, in place of what an earlier one left there."""
    for path in folder.iterdir():
        path.unlink()
    for name, data in case.items():
        if not name.startswith("="):
            (folder / name).write_bytes(data)
    return folder


@dataclass(slots=True)
class Failure:
    """What went wrong in the same place of the code, perhaps for many cases."""

    target: str
    problem: str
    """The type of the exception and where it was raised."""
    message: str
    seed: int
    number: int
    case: Case
    count: int = 1

    def save(self, folder: Path) -> Path:
        """Write a file that `--replay` reads."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.target}-{zlib.crc32(self.problem.encode()):08x}.json"
        values = {**asdict(self), "case": {name: data.decode("latin-1") for name, data in self.case.items()}}
        path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
        return path

    @classmethod
    def load(cls, path: Path) -> Failure:
        values = json.loads(path.read_text(encoding="utf-8"))
        values["case"] = {name: text.encode("latin-1") for name, text in values["case"].items()}
        return cls(**values)


@dataclass(slots=True)
class Tally:
    """What was found out about one target."""

    cases: int = 0
    refused: int = 0
    """Cases that were answered with one of our errors."""
    slowest: tuple[float, int] = (0.0, 0)
    """Seconds and number of the slowest case."""
    greediest: tuple[int, int] = (0, 0)
    """By how many MiB a case raised the peak of memory, and its number."""
    failures: dict[str, Failure] = field(default_factory=dict[str, Failure])


def problem_of(error: BaseException) -> str:
    """The type of an exception and the last line that it went through: of the library, or else of the check."""
    if isinstance(error, TooSlowError):
        return "TooSlowError"
    frames = traceback.extract_tb(error.__traceback__)
    for folder in OWN_FOLDERS:
        if own := [frame for frame in frames if frame.filename.startswith(str(folder))]:
            return f"{type(error).__name__} at {Path(own[-1].filename).relative_to(ROOT)}:{own[-1].lineno}"
    return type(error).__name__


@contextmanager
def time_limit(seconds: float | None) -> Generator[None]:
    """Stop what takes longer; in the main thread only."""

    def stop(*_: object) -> None:
        raise TooSlowError

    if seconds is None:
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def peak_mib() -> int:
    """The most memory that this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


class Fuzzer:
    """Runs cases and tallies them by target.

    Args:
        seed: What all cases follow from.
        folder: A scratch folder.
        case_seconds: A case that takes longer fails; None for no limit.
    """

    def __init__(self, seed: int, folder: Path, *, case_seconds: float | None = None) -> None:
        self.seed = seed
        self.folder = folder
        self.case_seconds = case_seconds
        self.tallies: dict[str, Tally] = {}

    def run(self, target: Target, numbers: Iterable[int]) -> Tally:
        """Run the cases of these numbers."""
        tally = self.tallies.setdefault(target.name, Tally())
        for number in numbers:
            case = target.case(self.seed, number)
            peak, start = peak_mib(), time.perf_counter()
            error = self.attempt(target, case)
            seconds = time.perf_counter() - start
            tally.cases += 1
            tally.slowest = max(tally.slowest, (round(seconds, 3), number))
            tally.greediest = max(tally.greediest, (peak_mib() - peak, number))
            tally.refused += isinstance(error, LexitreeError)
            if error is not None and not isinstance(error, LexitreeError):
                self._keep(target, tally, number, case, error)
        return tally

    def attempt(self, target: Target, case: Case) -> BaseException | None:
        """Run one case; what it raised, if anything."""
        folder = self.folder / target.name
        folder.mkdir(exist_ok=True)
        try:
            with time_limit(self.case_seconds):
                target.check(case, folder)
        except (Exception, TooSlowError) as error:
            return error
        return None

    def _keep(self, target: Target, tally: Tally, number: int, case: Case, error: BaseException) -> None:
        problem = problem_of(error)
        if problem in tally.failures:
            tally.failures[problem].count += 1
            return
        message = f"{error}"[:300]
        # What a target makes by itself is small, and parts of it may take long or do harm.
        shrinks = target.mutate is mutate_case and not isinstance(error, TooSlowError)
        small = self._shrink(target, case, problem) if shrinks else case
        tally.failures[problem] = Failure(target.name, problem, message, self.seed, number, small)

    def _shrink(self, target: Target, case: Case, problem: str) -> Case:
        """Leave out what the failure does not need."""
        stop = time.perf_counter() + SHRINKING_SECONDS
        for name in case:
            size = 0 if name.startswith("=") else len(case[name])
            while size := size // 2:
                for start in range(0, len(case[name]), size):
                    smaller = {**case, name: case[name][:start] + case[name][start + size :]}
                    error = self.attempt(target, smaller)
                    if error is not None and problem_of(error) == problem:
                        case = smaller
                    if time.perf_counter() > stop:
                        return case
        return case

    def run_for(self, targets: Iterable[Target], seconds: float, *, slice_seconds: float = 0.5) -> None:
        """Run all targets in turns, each for a slice of time, until the time is over."""
        stop = time.perf_counter() + seconds
        waiting = list(targets)
        while time.perf_counter() < stop:
            for each in waiting:
                end = time.perf_counter() + slice_seconds
                number = self.tallies[each.name].cases if each.name in self.tallies else 0
                while time.perf_counter() < min(end, stop):
                    self.run(each, [number])
                    number += 1

    @property
    def failures(self) -> list[Failure]:
        return [failure for tally in self.tallies.values() for failure in tally.failures.values()]
