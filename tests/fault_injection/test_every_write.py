"""A disk that fails or fills up, or a process that is killed, at any moment of any write loses and litters nothing."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.fault_injection.operations import all_operations
from tests.fault_injection.random_kills import COMMANDS, kill_at_random
from tests.fault_injection.sweep import Call, find_unsynced, run_sweep

needs_compiler = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None,
    reason="faults are injected on Linux, by a library that needs a C compiler (cc)",
)


@needs_compiler
def test_a_few_faults(tmp_path: Path) -> None:
    (report,) = run_sweep(tmp_path, "--only", "save_model", "--sample", "9").values()
    assert report.violations == []
    assert sum(report.faults.values()) == 9


@needs_compiler
@pytest.mark.slow
def test_a_few_faults_in_every_operation(tmp_path: Path) -> None:
    reports = run_sweep(tmp_path, "--sample", "2")
    assert {name: report.violations for name, report in reports.items() if report.violations} == {}
    assert sum(sum(report.faults.values()) for report in reports.values()) == 2 * len(reports)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", [operation.name for operation in all_operations("")])
def test_every_fault(name: str, tmp_path: Path) -> None:
    report = run_sweep(tmp_path, "--only", name)[name]
    assert report.violations == []
    assert report.faults["KILL"] == report.faults["FAIL"] == report.faults["FILL"] == report.num_calls > 5
    assert report.faults["TEAR"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_kills_at_random_moments(name: str, tmp_path: Path) -> None:
    report = kill_at_random(name, tmp_path, num_kills=10)
    assert report.num_kills == 10
    assert report.num_finished > 0
    assert report.violations == []


def test_names_that_reach_the_disk_before_the_bytes_are_found() -> None:
    folder = Path("/f")
    written = [Call("write", "/f/.x.part", "", "7"), Call("fsync", "/f/.x.part", "", "7")]
    renamed = [Call("rename", "/f/.x.part", "/f/x", "0"), Call("fsync", "/f", "", "1")]
    assert [*find_unsynced([*written, *renamed], folder)] == []
    assert [*find_unsynced([written[0], *renamed], folder)] == [
        "x gets its name before its bytes are on disk"
    ]
    assert [*find_unsynced([*written, renamed[0]], folder)] == ["the name of x may not be on disk in the end"]
