"""Environments that hold a wheel of lexitree and what it requires, and nothing else: what `pip install` would leave."""

from __future__ import annotations

import re
import subprocess
import venv
import zipfile
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement

from tests.command import environment

ROOT = Path(__file__).parents[1]


def build_wheel(folder: Path) -> Path:
    """The wheel of this repository, built by hatchling in this process: nothing is downloaded."""
    return Path(next(iter(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"]))))


class SmallEnvironment:
    """A virtual environment with an unpacked wheel and links to the distributions that it requires.

    Args:
        folder: Where to make it.
        wheel: The wheel.
        extras: Extras of lexitree that are installed too.
    """

    def __init__(self, folder: Path, wheel: Path, extras: Sequence[str] = ()) -> None:
        venv.create(folder, symlinks=True)
        (self.packages,) = folder.glob("lib/python*/site-packages")
        self.python = folder / "bin" / "python"
        with zipfile.ZipFile(wheel) as opened:
            opened.extractall(self.packages)
        (described,) = self.packages.glob("lexitree-*.dist-info")
        self.distributions = {
            found.metadata["Name"]: found for found in _required(PathDistribution(described), extras)
        }
        for found in self.distributions.values():
            _link(found, self.packages)

    def run(self, *arguments: object, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run the Python of this environment, apart from what this process has in its own."""
        return subprocess.run(
            [self.python, "-I", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            env=self.variables(),
            cwd=cwd,
            timeout=120,
            check=False,
        )

    def variables(self) -> dict[str, str]:
        """The variables of a plain terminal, less those that lead Python or lexitree elsewhere."""
        return {name: value for name, value in environment().items() if not name.startswith("PYTHON")}


def _required(root: Distribution, extras: Sequence[str]) -> Iterator[Distribution]:
    """What a distribution requires, and what that requires, each once; of extras only those asked for."""
    waiting = [(root, frozenset(extras))]
    seen = set(waiting)
    names: set[str] = set()
    for owner, chosen in waiting:
        for text in owner.requires or ():
            needed = Requirement(text)
            if needed.marker and not any(needed.marker.evaluate({"extra": each}) for each in (*chosen, "")):
                continue
            is_root = _plain(needed.name) == _plain(root.metadata["Name"])
            found = root if is_root else distribution(needed.name)
            if not is_root and _plain(needed.name) not in names:
                names.add(_plain(needed.name))
                yield found
            # A distribution may be required twice, with other extras.
            if (step := (found, frozenset(needed.extras))) not in seen:
                seen.add(step)
                waiting.append(step)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _link(found: Distribution, packages: Path) -> None:
    """Link what a distribution has put into the folder of packages; its scripts stay outside."""
    tops = {path.parts[0] for path in found.files or ()} - {"..", "__pycache__"}
    for top in tops:
        link = packages / top
        if not link.exists():
            link.symlink_to(str(found.locate_file(top)))
