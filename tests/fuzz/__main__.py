"""Fuzz for a while, or run one failed case again.

python -m tests.fuzz --seconds 600
python -m tests.fuzz --only brackets --only vectors --seed 7
python -m tests.fuzz --replay runs/fuzz/vectors-0a1b2c3d.json

A case that fails is made small and saved. Exit status: 0 if nothing failed, 1 if something did.
"""

from __future__ import annotations

import argparse
import json
import resource
import shlex
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import torch

from lexitree.errors import LexitreeError
from lexitree.learning.provenance import describe
from tests.fuzz.driver import FAILURES, ROOT, Failure, Fuzzer, peak_mib
from tests.fuzz.targets import TARGETS

CASE_SECONDS = 20.0
SCRATCH = Path("/dev/shm")
"""Cases are many small files, for which a disk takes longer than all else; another place is used where this is none."""
ADDRESS_SPACE = 8 << 30
"""What would take more fails with an error, and not with the machine."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600, help="how long to fuzz (default: 600)")
    parser.add_argument("--seed", type=int, default=1, help="what all cases follow from (default: 1)")
    parser.add_argument("--only", action="append", choices=TARGETS, help="a target; can be repeated")
    parser.add_argument("--failures", type=Path, default=FAILURES, help="where failed cases go")
    parser.add_argument("--record", metavar="NAME", help="write results/NAME.json")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run a saved case again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(
        prefix="lexitree-fuzz-", dir=SCRATCH if SCRATCH.is_dir() else None
    ) as folder:
        fuzzer = Fuzzer(options.seed, Path(folder), case_seconds=CASE_SECONDS)
        if options.replay:
            return replay(fuzzer, Failure.load(options.replay))
        start = time.perf_counter()
        fuzzer.run_for([TARGETS[name] for name in options.only or TARGETS], options.seconds)
        seconds = time.perf_counter() - start
    show(fuzzer, seconds, options.failures)
    if options.record:
        path = ROOT / "results" / f"{options.record}.json"
        path.write_text(json.dumps(record(fuzzer, seconds), indent=1) + "\n", encoding="utf-8")
    return 1 if fuzzer.failures else 0


def replay(fuzzer: Fuzzer, failure: Failure) -> int:
    """Run one case and show what it raises."""
    error = fuzzer.attempt(TARGETS[failure.target], failure.case)
    if error is not None:
        traceback.print_exception(error)
    return 0 if error is None or isinstance(error, LexitreeError) else 1


def show(fuzzer: Fuzzer, seconds: float, folder: Path) -> None:
    for name, tally in fuzzer.tallies.items():
        print(
            f"{name:16} {tally.cases:9,} cases  {tally.refused:9,} refused  slowest {tally.slowest[0]:6.2f} s"
            f"  most memory {tally.greediest[0]:4} MiB  {len(tally.failures)} failures"
        )
    for failure in fuzzer.failures:
        print(f"\n{failure.target}: {failure.problem} ({failure.count:,} cases)\n  {failure.message}")
        print(f"  {failure.save(folder)}")
    cases = sum(tally.cases for tally in fuzzer.tallies.values())
    print(
        f"\n{cases:,} cases in {seconds:.0f} s, peak memory {peak_mib():,} MiB, {len(fuzzer.failures)} failures"
    )


def record(fuzzer: Fuzzer, seconds: float) -> dict[str, Any]:
    """The record of a run, as results/ holds them."""
    return {
        **describe(
            shlex.join(["python", "-m", "tests.fuzz", *sys.argv[1:]]), (), [fuzzer.seed], embedded="inputs"
        ),
        "what": "damaged inputs that raised anything but one of our own errors",
        "seconds": round(seconds),
        "cases": sum(tally.cases for tally in fuzzer.tallies.values()),
        "peak_mib": peak_mib(),
        "targets": {
            name: {
                "cases": tally.cases,
                "refused": tally.refused,
                "slowest_seconds": tally.slowest[0],
                "most_mib": tally.greediest[0],
                "failures": {problem: failure.count for problem, failure in tally.failures.items()},
            }
            for name, tally in fuzzer.tallies.items()
        },
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    sys.exit(main())
