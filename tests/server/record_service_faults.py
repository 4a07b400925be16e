"""Record in results/service-faults.json what clients that misbehave do to `lexitree serve`.

python -m tests.server.record_service_faults
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "scripts"))

from result_records import describe_run, write_record
from tests.server.service_ends import kill_a_worker, terminate_under_load
from tests.server.service_faults import FAULTS, SETTINGS
from tests.server.service_health import Health
from tests.server.service_process import ServiceProcess

ENDS = {"SIGTERM under load": terminate_under_load, "a killed worker": kill_a_worker}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="share of the requests of each fault")
    parser.add_argument("--only", action="append", choices=[*FAULTS, *ENDS], help="a fault; can be repeated")
    parser.add_argument("--no-record", action="store_true", help="only print what happens")
    options = parser.parse_args()
    described = describe_run({})
    rows = asyncio.run(run_faults(options))
    if not options.no_record:
        record = {
            **described,
            "data": {"requests": "embedded"},
            "what": "what becomes of a service whose clients misbehave, and of the requests that it has accepted",
            "seeds": [1],
            "rows": rows,
        }
        print(write_record("service-faults", record).name)
    return any(row["outcome"] != "as before" for row in rows)


async def run_faults(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    wanted = options.only or [*FAULTS, *ENDS]
    with ServiceProcess(**SETTINGS) as service:
        health = await Health.of(service)
        for name in filter(wanted.__contains__, FAULTS):
            row = await attempt(name, lambda name=name: FAULTS[name](service, options.scale))
            rows.append(await attempt(name, health.check, row))
            print(rows[-1], flush=True)
    for name in filter(wanted.__contains__, ENDS):
        rows.append(await attempt(name, ENDS[name]))
        print(rows[-1], flush=True)
    return rows


async def attempt(
    name: str, run: Callable[[], Awaitable[Any]], row: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A row of the record: what was counted, and whether the service is as it was."""
    start = time.monotonic()
    row = row or {"fault": name, "answers": "", "outcome": "as before"}
    try:
        found = await run()
        if isinstance(found, Counter):
            row["answers"] = ", ".join(f"{key}: {number:,}" for key, number in sorted(found.items()))
        else:
            row |= found
    except (AssertionError, OSError, TimeoutError, RuntimeError) as error:
        row["outcome"] = f"{type(error).__name__}: {error}"[:1500]
    row["seconds"] = round(row.get("seconds", 0.0) + time.monotonic() - start, 1)
    return row


if __name__ == "__main__":
    sys.exit(main())
