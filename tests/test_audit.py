"""`make audit`: what lexitree needs is found, and a licence that nobody has looked at is an error."""

from __future__ import annotations

import json
import subprocess
from email.message import Message
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest

from tests import audit_dependencies

Fields = dict[str, str | list[str]]


def make_metadata(fields: Fields) -> Message:
    found = Message()
    for name, values in {"Version": "1.0", **fields}.items():
        for value in [values] if isinstance(values, str) else values:
            found[name] = value
    return found


def collect(**packages: Fields) -> tuple[list[Any], list[str]]:
    def find(name: str) -> Message:
        if name not in packages:
            raise PackageNotFoundError(name)
        return make_metadata(packages[name])

    return audit_dependencies.collect(find)


def test_what_is_needed_directly_or_by_others_is_collected() -> None:
    installed, missing = collect(
        lexitree={
            "Provides-Extra": ["more", "dev"],
            "Requires-Dist": [
                "first>=1",
                'absent; extra == "more"',
                'tool; extra == "dev"',
                'windows; sys_platform == "never"',
            ],
        },
        first={"License-Expression": "MIT", "Requires-Dist": ["Second.Name[fast]", "lexitree"]},
        **{"second-name": {"License": "MIT", "Requires-Dist": ['third; extra == "fast"', "first"]}},
        third={"License": "GPL-3.0"},
    )
    assert [each.name for each in installed] == ["first", "second-name", "third"]
    assert missing == ["absent"]
    assert [each.problem for each in installed] == ["", "", "is under GPL-3.0"]


@pytest.mark.parametrize(
    ("fields", "licence", "is_fine"),
    [
        ({"License-Expression": "Apache-2.0 WITH LLVM-exception AND BSD-3-Clause"}, None, True),
        ({"License-Expression": "MIT OR GPL-2.0-only"}, None, False),
        (
            {"Classifier": ["License :: OSI Approved :: MIT License"], "License": "long text"},
            "MIT License",
            True,
        ),
        ({"Classifier": ["License :: OSI Approved :: GNU General Public License v3 (GPLv3)"]}, None, False),
        ({"License": "Apache License, Version 2.0\nmore"}, "Apache License, Version 2.0", True),
        ({"License": "Proprietary"}, "Proprietary", False),
        ({"License": "SUMMITED"}, "SUMMITED", False),
        ({"Classifier": ["Programming Language :: Python"]}, "", False),
        ({}, "", False),
    ],
)
def test_licences(fields: Fields, licence: str | None, is_fine: bool) -> None:
    found = audit_dependencies.licence_of(make_metadata(fields))
    assert licence is None or found == licence
    assert (audit_dependencies.Dependency("any", "1.0", found).problem == "") == is_fine


def test_a_licence_that_was_reviewed() -> None:
    dependency = audit_dependencies.Dependency("nvidia-cublas", "1.0", "LicenseRef-NVIDIA")
    assert not dependency.problem
    assert "PyTorch" in dependency.review
    assert audit_dependencies.Dependency("any", "1.0", "").problem == "has no licence in its metadata"


def finished(stdout: object, stderr: str = "") -> subprocess.CompletedProcess[str]:
    text = stdout if isinstance(stdout, str) else json.dumps({"dependencies": stdout})
    return subprocess.CompletedProcess([], 1, text, stderr)


def test_what_pip_audit_finds() -> None:
    flaw = {"id": "PYSEC-1", "fix_versions": ["1.1"]}
    listed = [{"name": "a", "version": "1.0", "vulns": [flaw]}, {"name": "b", "version": "1.0", "vulns": []}]
    assert audit_dependencies.read_findings(finished(listed)) == (["a 1.0: PYSEC-1, mended in 1.1"], "")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (finished("", "Traceback\nConnectionError: no network\n"), "ConnectionError: no network"),
        (finished(""), "pip-audit gave no answer"),
        (finished([{"name": "a", "skip_reason": "not found"}]), "1 of 1 packages (not found)"),
    ],
)
def test_an_index_that_cannot_be_reached(
    answer: subprocess.CompletedProcess[str],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(audit_dependencies, "distribution", lambda name: None)
    monkeypatch.setattr(audit_dependencies, "run_pip_audit", lambda dependencies: answer)
    assert audit_dependencies.audit_vulnerabilities([]) == []
    assert f"skipped: {reason}" in capsys.readouterr().out


def test_the_exit_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def no_distribution(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(audit_dependencies, "distribution", no_distribution)
    for licence, status in (("MIT", 0), ("GPL-3.0", 1)):
        monkeypatch.setattr(
            audit_dependencies,
            "collect",
            lambda licence=licence: ([audit_dependencies.Dependency("a", "1", licence)], []),
        )
        assert audit_dependencies.main() == status
        assert "skipped: pip-audit is not installed" in capsys.readouterr().out
