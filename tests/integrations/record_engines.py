"""Record in results/engines.json that engines label the rows that one process labels, also if some of them is killed.

python -m tests.integrations.record_engines                  # all engines
python -m tests.integrations.record_engines --engine ray     # one; the rows of the others are kept
python -m tests.integrations.record_engines --engine ray --rows 600 --group-rows 50 --no-record
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "scripts"))

from result_records import ROOT, describe_run, read_record, write_record

# The workers of engines are processes of their own.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))

from tests.integrations.engine_tables import TEXTS_FILE, outcome, texts_file


def run_ray(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Two nodes on this machine; an actor and then a node are killed."""
    from tests.integrations.ray_cluster import label_with_deaths

    return label_with_deaths(folder, options.rows, options.group_rows)


def run_spark(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Two workers on this machine; one is killed."""
    from tests.integrations.local_spark import label_with_death

    return label_with_death(folder, options.rows, options.group_rows)


ENGINES: dict[str, Callable[[Path, argparse.Namespace], dict[str, Any]]] = {
    "ray": run_ray,
    "spark": run_spark,
}
"""What labels a table and compares it (`compare_rows`); each is a row of the record."""
DEATHS = {"ray": 2, "spark": 1}
"""How many are killed meanwhile."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engine", action="append", choices=ENGINES, help="can be repeated; default: all")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--group-rows", type=int, default=500, help="rows per row group")
    parser.add_argument("--no-record", action="store_true", help="only print what happens")
    options = parser.parse_args()
    wanted = options.engine or list(ENGINES)
    described = describe_run({TEXTS_FILE: texts_file()})
    known = {row["engine"]: row for row in (read_record("engines") or {"rows": []})["rows"]}
    for name in wanted:
        with tempfile.TemporaryDirectory(prefix="lexitree-") as folder:
            found = ENGINES[name](Path(folder), options)
        known[name] = {
            "engine": name,
            "outcome": outcome(found, DEATHS[name]),
            **found,
            "killed": ", ".join(found["killed"]),
            "number of near-ties": len(found["near-ties of the parser"]),
            "commit": described["commit"],
        }
        print(json.dumps(known[name]), flush=True)
    if not options.no_record:
        record = {
            **described,
            "what": "a table of Parquet, labelled by engines and by one process",
            "seeds": [1],
            "rows": [known[name] for name in ENGINES if name in known],
        }
        print(write_record("engines", record).name)
    return any(known[name]["outcome"] != "equal" for name in wanted)


if __name__ == "__main__":
    sys.exit(main())
