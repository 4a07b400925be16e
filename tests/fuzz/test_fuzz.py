"""A short run of every target, and the fuzzer itself: it finds a planted bug, makes it small, and runs it again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

import pytest

from lexitree.errors import LexitreeError
from tests.fuzz.__main__ import main
from tests.fuzz.driver import FAILURES, Failure, Fuzzer, Target
from tests.fuzz.mutations import Case, mutate_case, mutate_json
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_but_our_own_errors(name: str, tmp_path: Path) -> None:
    fuzzer = Fuzzer(1, tmp_path)
    tally = fuzzer.run(TARGETS[name], range(TARGETS[name].num_quick))
    assert not [f"{each.save(FAILURES)}: {each.problem}: {each.message}" for each in fuzzer.failures]
    assert tally.refused < tally.cases == TARGETS[name].num_quick


def planted(case: Case, folder: Path) -> None:
    """Refuses what is cut off, and does not expect a question mark."""
    if not case["file"].endswith(b"\n"):
        raise LexitreeError("cut off")
    if b"?" in case["file"]:
        raise ValueError("planted")


PLANTED = Target("planted", planted, lambda: [{"file": b"one two three\n" * 9 + b"?\n"}], 10)


def test_a_planted_bug_is_found_and_made_small(tmp_path: Path) -> None:
    fuzzer = Fuzzer(1, tmp_path)
    tally = fuzzer.run(PLANTED, range(50))
    [failure] = fuzzer.failures
    assert failure.problem.startswith("ValueError at tests/fuzz/test_fuzz.py:")
    assert failure.case == {"file": b"?\n"}
    assert 0 < tally.refused == 50 - failure.count
    assert Failure.load(failure.save(tmp_path)) == failure


def test_a_saved_case_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "planted", PLANTED)
    for content, status in ((b"?\n", 1), (b"fine\n", 0), (b"cut", 0)):
        path = Failure("planted", "a", "b", 1, 2, {"file": content}).save(tmp_path)
        monkeypatch.setattr(sys, "argv", ["fuzz", "--replay", str(path)])
        assert main() == status


def test_a_run_writes_its_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(TARGETS, "planted", PLANTED)
    options = ("--only", "planted", "--seconds", "0.2", "--failures", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["fuzz", *options])
    assert main() == 1
    [path] = tmp_path.glob("planted-*.json")
    assert Failure.load(path).case == {"file": b"?\n"}
    assert "1 failures" in capsys.readouterr().out


def test_what_never_ends_is_stopped(tmp_path: Path) -> None:
    def turn(case: Case, folder: Path) -> None:
        while True:
            pass

    fuzzer = Fuzzer(1, tmp_path, case_seconds=0.05)
    fuzzer.run(Target("endless", turn, lambda: [{"file": b"a"}], 1), [0])
    assert [failure.problem for failure in fuzzer.failures] == ["TooSlowError"]


def test_values_that_broke_something_are_drawn() -> None:
    config = json.dumps({"kind": "parser", "config": {"hidden": 8}, "words": ["a"] * 500}).encode()
    damaged = b"".join(mutate_json(config, Random(number), b"") for number in range(1000))
    for odd in ('"kind": {}', '"hidden": []', f'"hidden": {2**63}', f'"hidden": {10**20}'):
        assert odd.encode() in damaged


@pytest.mark.parametrize("name", ["checkpoints", "model folders"])
def test_what_is_behind_a_checksum_is_reached(name: str, tmp_path: Path) -> None:
    """Most cases are not refused for their checksum alone."""
    fuzzer, target = Fuzzer(1, tmp_path), TARGETS[name]
    errors = [str(fuzzer.attempt(target, target.case(1, number))) for number in range(30)]
    assert sum("checksum is wrong" in error for error in errors) < 12
    assert len(set(errors)) > 8


def test_a_case_follows_from_seed_and_number() -> None:
    target = TARGETS["tree JSON"]
    assert target.case(1, 5) == target.case(1, 5) != target.case(2, 5)
    parameter = {"file.json": b'{"a": [1]}', "=kind": b"kept"}
    damaged = [mutate_case(parameter, Random(number), parameter) for number in range(200)]
    assert {case["=kind"] for case in damaged} == {b"kept"}
    assert len({case["file.json"] for case in damaged}) > 100
