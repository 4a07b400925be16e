"""Check the licences and the known vulnerabilities of the packages that lexitree and its extras need.

python -m tests.audit_dependencies     # or: make audit

A licence that is neither permissive nor listed in REVIEWED, or a known vulnerability, is exit status 1. Packages that
are not installed are named and not checked. Vulnerabilities are looked up by pip-audit; where it is not installed or
cannot reach its index, that part is skipped with the reason.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.metadata import PackageMetadata, PackageNotFoundError, distribution, metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PACKAGE = "lexitree"
TOOLS = ("dev", "docs")
"""Extras for those who work on lexitree; what they install is not needed to use it."""

PERMISSIVE = re.compile(
    r"\b(0BSD|Apache|Boost|BSD|BSL-1\.0|CC0-1\.0|CNRI-Python|HPND|ISC|MIT|MIT-CMU|PSF|Python Software Foundation"
    r"|Unlicense|Zlib)\b",
    re.IGNORECASE,
)
REVIEWED = {
    "tqdm": "MPL-2.0 beside MIT: used as it is, and the MPL asks for changed files only",
    "certifi": "MPL-2.0: a list of certificates, used as it is",
    "nvidia-*": "libraries of CUDA under NVIDIA's terms, which PyTorch installs for GPUs",
    "cuda-*": "libraries of CUDA under NVIDIA's terms, which PyTorch installs for GPUs",
}
"""Packages, by pattern, whose licences are not permissive, and why that is fine."""

FindMetadata = Callable[[str], PackageMetadata]


@dataclass(frozen=True, slots=True)
class Dependency:
    """An installed package."""

    name: str
    version: str
    licence: str

    @property
    def problem(self) -> str:
        """What is wrong with its licence; empty if nothing is."""
        if is_permissive(self.licence) or self.review:
            return ""
        return "has no licence in its metadata" if not self.licence else f"is under {self.licence}"

    @property
    def review(self) -> str:
        """Why its licence is accepted although it is not permissive."""
        return next((reason for pattern, reason in REVIEWED.items() if fnmatch(self.name, pattern)), "")


def licence_of(found: PackageMetadata) -> str:
    """The licence in a package's metadata: an SPDX expression, else its classifiers, else the text's first line."""
    if expression := found.get("License-Expression"):
        return expression
    classifiers = [
        each.rpartition(" :: ")[2] for each in found.get_all("Classifier") or [] if "License ::" in each
    ]
    return " AND ".join(classifiers) or (found.get("License") or "").strip().partition("\n")[0]


def is_permissive(licence: str) -> bool:
    """Whether every part of a licence is known and asks for no more than to be named."""
    parts = re.split(r"\s(?:AND|OR)\s", licence)
    return all(PERMISSIVE.search(part) for part in parts)


def needed_names(found: PackageMetadata, extras: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The packages that a package with some extras needs on this machine, each with its own extras."""
    environments = [{"extra": extra} for extra in ("", *extras)]
    for text in found.get_all("Requires-Dist") or []:
        needed = Requirement(text)
        if needed.marker is None or any(needed.marker.evaluate(each) for each in environments):
            yield canonicalize_name(needed.name), tuple(sorted(needed.extras))


def collect(find: FindMetadata = metadata) -> tuple[list[Dependency], list[str]]:
    """All that is needed, directly or not: the installed packages, and the names of those that are not installed."""
    own = find(PACKAGE)
    extras = tuple(extra for extra in own.get_all("Provides-Extra") or [] if extra not in TOOLS)
    waiting = list(needed_names(own, extras))
    seen = {(PACKAGE, ())}
    installed: dict[str, Dependency] = {}
    missing: set[str] = set()
    while waiting:
        name, its_extras = waiting.pop()
        if (name, its_extras) in seen or name == PACKAGE:
            continue
        seen.add((name, its_extras))
        try:
            found = find(name)
        except PackageNotFoundError:
            missing.add(name)
            continue
        installed[name] = Dependency(name, found["Version"], licence_of(found))
        waiting.extend(needed_names(found, its_extras))
    return sorted(installed.values(), key=lambda each: each.name), sorted(missing)


def run_pip_audit(dependencies: Iterable[Dependency]) -> subprocess.CompletedProcess[str]:
    """Look the packages up; nothing is installed."""
    with tempfile.TemporaryDirectory() as folder:
        pinned = Path(folder, "requirements.txt")
        # The index knows no local versions, such as the +cpu of torch.
        lines = [f"{each.name}=={each.version.partition('+')[0]}\n" for each in dependencies]
        pinned.write_text("".join(lines), encoding="utf-8")
        options = ["--no-deps", "--disable-pip", "--progress-spinner=off", "--format=json", "--timeout=15"]
        command = [sys.executable, "-m", "pip_audit", f"--requirement={pinned}", *options]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def read_findings(finished: subprocess.CompletedProcess[str]) -> tuple[list[str], str]:
    """The known vulnerabilities, and why packages were not looked up, if they were not."""
    try:
        listed: list[Mapping[str, object]] = json.loads(finished.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        reason = (finished.stderr.strip().splitlines() or ["pip-audit gave no answer"])[-1]
        return [], reason
    found = [
        f"{each['name']} {each['version']}: {flaw['id']}, mended in {', '.join(flaw['fix_versions']) or 'no version'}"
        for each in listed
        for flaw in each.get("vulns", ())  # pyright: ignore
    ]
    skipped = [str(each["skip_reason"]) for each in listed if "skip_reason" in each]
    return found, f"{len(skipped)} of {len(listed)} packages ({skipped[0]})" if skipped else ""


def audit_vulnerabilities(dependencies: Iterable[Dependency]) -> list[str]:
    try:
        distribution("pip-audit")
        found, skipped = read_findings(run_pip_audit(dependencies))
    except PackageNotFoundError:
        found, skipped = [], "pip-audit is not installed"
    except subprocess.TimeoutExpired:
        found, skipped = [], "pip-audit did not end"
    if skipped:
        print(f"known vulnerabilities, skipped: {skipped}")
    return found


def main() -> int:
    dependencies, missing = collect()
    for each in dependencies:
        print(
            f"{each.name} {each.version}: {each.licence or '?'}"
            + (f" ({each.review})" if each.review else "")
        )
    if missing:
        print(f"not installed, so not checked: {', '.join(missing)}")
    problems = [f"{each.name} {each.problem}" for each in dependencies if each.problem]
    problems += audit_vulnerabilities(dependencies)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    print(f"{len(dependencies)} packages checked, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
