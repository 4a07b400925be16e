"""Plants faults in a copy of this checkout, one at a time, and checks that the gate finds each of them.

    LEXITREE_DATA=data python tests/gate/plant.py

Exit status: 0 if the gate passes without a fault and fails with each, 1 otherwise.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from checkouts import HERE, ROOT


class Fault(NamedTuple):
    """A mistake, and the way to run that shows it."""

    about: str
    file: str
    old: str
    new: str
    way: str
    kind: str
    """What the gate then calls different."""


FAULTS = (
    Fault(
        "The kernel takes the head of the part that is farther from the phrase.",
        "lexitree/kernels/node_features.c",
        "takes_right = is_nearer_to_right(",
        "takes_right = !is_nearer_to_right(",
        "kernels",
        "heads",
    ),
    Fault(
        "A verb phrase with a prepositional phrase in it is binarized around that.",
        "lexitree/trees/head_rules.py",
        '"VP": _rule(*_in_turn("left", "TO VBD',
        '"VP": _rule(*_in_turn("left", "PP TO VBD',
        "no-kernels",
        "binary trees",
    ),
    Fault(
        "Probabilities are off by 1e-5.",
        "lexitree/models/array_classifier.py",
        "return softmax(scores)",
        "return softmax(scores) + np.float32(1e-5)",
        "no-torch",
        "probabilities",
    ),
    Fault(
        "The gradient of the head gate has the wrong sign.",
        "lexitree/ops/levelwise/heads.py",
        "return dwords, dz.t() @ pairs",
        "return dwords, -dz.t() @ pairs",
        "gradients",
        "gradients",
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=50, help="sentences of each kind that are compared")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gate-faults-") as folder:
        sound = Path(folder, "sound")
        shutil.copytree(ROOT / "src" / "lexitree", sound / "lexitree")
        is_sound = run_gate(sound, options.sentences, sorted({fault.way for fault in FAULTS})).returncode == 0
        print("without a fault:", "the gate passes" if is_sound else "THE GATE FAILS", flush=True)
        caught = [try_fault(fault, sound, options.sentences) for fault in FAULTS]
    return 0 if is_sound and all(caught) else 1


def try_fault(fault: Fault, sound: Path, sentences: int) -> bool:
    """Whether the gate finds a fault; what it says is printed."""
    planted = sound.with_name("planted")
    shutil.copytree(sound, planted)
    path = planted / fault.file
    path.write_text(with_fault(path.read_text(encoding="utf-8"), fault), encoding="utf-8")
    done = run_gate(planted, sentences, [fault.way])
    shutil.rmtree(planted)
    said = [line for line in done.stdout.splitlines() if line.startswith(f"  - {fault.kind}: ")]
    caught = done.returncode == 1 and bool(said)
    print(
        f"{fault.about} {'found' if caught else 'NOT FOUND'}",
        *(said or [done.stderr])[:2],
        sep="\n",
        flush=True,
    )
    return caught


def with_fault(text: str, fault: Fault) -> str:
    """The text of a file with a fault."""
    times = text.count(fault.old)
    if times != 1:
        raise ValueError(f"{fault.file}: {fault.old!r} occurs {times} times, not once")
    return text.replace(fault.old, fault.new)


def run_gate(source: Path, sentences: int, ways: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Compare another source folder with the yardstick."""
    command = [sys.executable, str(HERE), "answers", "--present", str(source)]
    options = ["--sentences", str(sentences), "--ways", *ways]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
