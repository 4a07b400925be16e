"""Runs side by side: each in a process of its own, results as they come, the first error ends the others."""

from __future__ import annotations

import os

import pytest

from lexitree.errors import ConfigError, LexitreeError
from lexitree.processes import run_in_processes


def work(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def fail(number: int) -> int:
    if number:
        raise ConfigError(f"number {number}")
    return number


def vanish(_: int) -> None:
    os._exit(3)


def test_one_job_needs_no_other_process() -> None:
    results = dict(run_in_processes(work, [(1,), (2,), (3,)], jobs=1))
    assert results == {0: (1, os.getpid()), 1: (4, os.getpid()), 2: (9, os.getpid())}
    assert dict(run_in_processes(work, [], jobs=4)) == {}


def test_several_jobs_are_processes() -> None:
    results = dict(run_in_processes(work, [(number,) for number in range(4)], jobs=2))
    assert {number: result for number, (result, _) in results.items()} == {0: 0, 1: 1, 2: 4, 3: 9}
    assert os.getpid() not in {process for _, process in results.values()}


def test_an_error_is_the_users_to_see() -> None:
    with pytest.raises(ConfigError, match="number"):
        list(run_in_processes(fail, [(0,), (1,), (2,)], jobs=2))


def test_a_process_that_vanishes_is_said() -> None:
    with pytest.raises(LexitreeError, match="was killed"):
        list(run_in_processes(vanish, [(0,), (1,)], jobs=2))
