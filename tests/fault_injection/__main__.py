"""Record in results/fault-injection.json what faults at every file-system call and kills at random moments do.

python -m tests.fault_injection --kills 100
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "scripts"))

from result_records import describe_run, write_record
from tests.fault_injection.random_kills import COMMANDS, SEED, kill_at_random
from tests.fault_injection.sweep import run_sweep


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100, help="kills of training, and of prediction")
    options = parser.parse_args()
    # The commit is that of the code that starts, whatever happens to the files while it runs.
    record = {**describe_run({}), "what": "faults at every file-system call, and kills at random moments"}
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(os.path.realpath(folder))
        faults = run_sweep(work)
        kills = {}
        for name in COMMANDS:
            share = options.kills if name.startswith("train") else options.kills // (len(COMMANDS) - 1)
            (work / name).mkdir()
            kills[name] = kill_at_random(name, work / name, share)
            print(f"{name}: {kills[name]}", file=sys.stderr)
    violations = [text for report in (*faults.values(), *kills.values()) for text in report.violations]
    record |= {
        "seeds": [SEED],
        "seconds": round(time.monotonic() - start),
        "num_faults": sum(sum(report.faults.values()) for report in faults.values()),
        "num_kills": sum(report.num_kills for report in kills.values()),
        "num_violations": len(violations),
        "faults": {name: asdict(report) for name, report in faults.items()},
        "kills": {name: asdict(report) for name, report in kills.items()},
    }
    print(write_record("fault-injection", record).name)
    return bool(violations)


if __name__ == "__main__":
    sys.exit(main())
