"""Record in results/service-fuzz.json what damaged requests do to the service.

    python -m tests.fuzz.record_service_fuzz
    python -m tests.fuzz.record_service_fuzz --in-process 20000 --http 2000 --examples 20 --no-record

Requests are given to the application with a tiny model, sent to `lexitree serve` with the shipped model, and made by
schemathesis from the OpenAPI document. Requests that fail are saved; `python -m tests.fuzz --replay FILE` runs one
again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "scripts"))

from result_records import describe_run, write_record
from tests.fuzz.driver import FAILURES
from tests.fuzz.service_runs import AS_DOCUMENTED, Report, run_in_process, run_over_http, run_schemathesis
from tests.server.service_process import ServiceProcess

SEED = 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--in-process", type=int, default=1_000_000, help="requests without sockets")
    parser.add_argument("--http", type=int, default=100_000, help="requests to the shipped model")
    parser.add_argument("--examples", type=int, default=500, help="of schemathesis, for each operation")
    parser.add_argument("--no-record", action="store_true", help="only print what happens")
    options = parser.parse_args()
    described = describe_run({})
    ways: dict[str, dict[str, Any]] = {}
    if options.in_process:
        ways["in process"] = finish(run_in_process(options.in_process, SEED))
    if options.http:
        with ServiceProcess() as service:
            ways["over HTTP"] = finish(run_over_http(service, options.http, SEED))
    if options.examples:
        with tempfile.TemporaryDirectory() as folder, ServiceProcess(**AS_DOCUMENTED) as service:
            found = run_schemathesis(service, options.examples, Path(folder), SEED)
        print(found.pop("output"))
        ways["by schemathesis"] = found
    print(json.dumps(ways, indent=1))
    if not options.no_record:
        record = {
            **described,
            "data": {"requests": "embedded"},
            "what": "damaged requests to a service",
            "seeds": [SEED],
            "ways": ways,
        }
        print(write_record("service-fuzz", record).name)
    return any(
        way["failures"] or way["errors_in_log"] or any(way["leftovers"].values()) for way in ways.values()
    )


def finish(report: Report) -> dict[str, Any]:
    """Save and show what failed."""
    for failure in report.failures.values():
        print(
            f"{failure.problem} ({failure.count:,} requests): {failure.message}\n  {failure.save(FAILURES)}"
        )
    for line in report.log[:20]:
        print(line)
    return report.as_dict()


if __name__ == "__main__":
    sys.exit(main())
