"""Record in results/NAME.json which tests passed, failed and were skipped on this machine.

python scripts/record_tests.py --name gpu-tests tests/ops tests/training/test_steps.py
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from result_records import describe_run, write_record


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tests", nargs="+", help="what pytest is given, each in a process of its own")
    parser.add_argument("--name", required=True, help="the record's name")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        reports = [Path(folder) / f"{number}.xml" for number in range(len(options.tests))]
        running = [
            subprocess.Popen([sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", test])
            for test, report in zip(options.tests, reports, strict=True)
        ]
        # One that was ended by a signal has a negative code.
        exit_code = max(abs(process.wait()) for process in running)
        cases = [case for report in reports for case in ElementTree.parse(report).iter("testcase")]
    outcomes: dict[str, Counter[str]] = {}
    for case in cases:
        outcomes.setdefault(case.get("classname", ""), Counter())[outcome(case)] += 1
    record = {
        **describe_run({}),
        "what": "the outcome of tests on a machine",
        "seeds": [],
        "exit_code": exit_code,
        "seconds": sum(float(case.get("time", 0)) for case in cases),
        "outcomes": {name: dict(counts) for name, counts in sorted(outcomes.items())},
    }
    print(write_record(options.name, record).name)
    return exit_code


def outcome(case: ElementTree.Element) -> str:
    for kind in ("failure", "error", "skipped"):
        if case.find(kind) is not None:
            return kind
    return "passed"


if __name__ == "__main__":
    sys.exit(main())
