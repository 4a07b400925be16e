"""The list of faults that `make faults` plants fits the code and the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import planting

FAULTS = planting.read_faults(planting.LIST)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_fits_the_code_and_has_tests(fault: object) -> None:
    """Its snippet occurs exactly once in its file, and its tests exist."""
    planting.check_faults([fault], planting.ROOT)


def test_no_fault_is_planted_twice() -> None:
    changes = [(fault.file, fault.old, fault.new) for fault in FAULTS]
    assert len(set(changes)) == len(changes) >= 85


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"old": "no such code"}, "occurs 0 times"),
        ({"old": "self"}, "not once"),
        ({"new": "return ("}, "no longer valid Python"),
        ({"file": "src/lexitree/missing.py"}, "missing file"),
        ({"tests": ("tests/test_missing.py::test_it",)}, "missing test"),
    ],
)
def test_a_stale_fault_is_named(change: dict[str, object], said: str) -> None:
    values = {name: getattr(FAULTS[0], name) for name in ("name", "about", "file", "old", "new", "tests")}
    with pytest.raises(planting.ListError, match=f"{FAULTS[0].name}: .*{said}"):
        planting.check_faults([planting.Fault(**{**values, **change})], planting.ROOT)


def test_a_list_with_two_faults_of_one_name_is_refused(tmp_path: Path) -> None:
    entry = '[[fault]]\nname = "a"\nabout = ""\nfile = "f"\nold = "x"\nnew = "y"\ntests = ["t"]\n'
    (tmp_path / "faults.toml").write_text(entry * 2)
    with pytest.raises(planting.ListError, match="duplicate fault: a"):
        planting.read_faults(tmp_path / "faults.toml")


def test_a_planted_fault_is_removed_again(tmp_path: Path) -> None:
    fault = planting.Fault("a", "", "module.py", "x = 1", "x = 2", ("t",))
    path = tmp_path / "module.py"
    path.write_text("x = 1\n")
    with planting.Copy(tmp_path).planted(fault):
        assert path.read_text() == "x = 2\n"
    assert path.read_text() == "x = 1\n"
