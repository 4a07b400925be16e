"""Measure what an engine costs: rows per second through it, and through as many plain processes, on the same file.

    python paper/benchmarks/engine_overhead.py --output results/engine-overhead.json
    python paper/benchmarks/engine_overhead.py --system ray --rows 4000 --rounds 1

Plain processes are those of `lexitree predict --jobs`, which share the rows of a part and wait for each other at its
end. Beside them stands a pool of Python, whose processes take whole parts as the workers of engines do. All systems
label the same Parquet file with the same number of processes, one thread each, in turns, each run in a program of its
own. A part of the output is a row group. The steady state begins when as many parts are there as there are processes,
so that all have loaded the model, and ends with the last part. Start-up is the rest: the time of the whole run less
what all rows take in the steady state. Take a quiet machine: on a busy one, the shares say nothing. The
exit status is 1 if an engine does not reach its least share of the speed of plain processes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import root_path  # noqa: F401

# isort: split
from tests.integrations.engine_tables import TEXTS_FILE, some_texts, texts_file, write_table

from environment import describe_run
from lexitree.pipeline.inputs import Inputs
from lexitree.pipeline.labelling import LabellingJob
from lexitree.pipeline.part_engine import PartEngine, RunTasks
from lexitree.pipeline.part_worker import PartResult, PartTask, PartWorker
from lexitree.pipeline.workers import LabellerSettings

OnRows = Callable[[int], object]
"""Called with the number of rows that are labelled and written, whenever a part is."""

PLAIN, POOL = "plain", "pool"
SECONDS_BETWEEN_LOOKS = 0.05
MIN_SHARES = {"ray": 0.85, "spark": 0.75}
"""The least share of the speed of plain processes that an engine should reach."""


def label_plain(table: Path, output: Path, num_workers: int, on_rows: OnRows) -> None:
    """`lexitree predict --jobs N`."""
    label(table, output, on_rows, num_workers=num_workers)


def label_ray(table: Path, output: Path, num_workers: int, on_rows: OnRows) -> None:
    """`lexitree predict --engine ray --jobs N`."""
    from lexitree.integrations.ray_engine import ray_engine

    label(table, output, on_rows, engine=ray_engine(num_workers=num_workers))


def label_pool(table: Path, output: Path, num_workers: int, on_rows: OnRows) -> None:
    """Python's own pool of processes, which label whole parts as the actors of Ray do."""

    @contextmanager
    def engine(worker: PartWorker) -> Generator[RunTasks]:
        context = multiprocessing.get_context("spawn")
        with context.Pool(num_workers) as pool:
            yield lambda tasks: pool.imap_unordered(partial(_label_part, worker), tasks)

    label(table, output, on_rows, engine=engine)


_WORKERS: list[PartWorker] = []
"""The worker of this process, which has the model open."""


def _label_part(worker: PartWorker, task: PartTask) -> PartResult:
    if not _WORKERS:
        _WORKERS.append(worker)
    return _WORKERS[0](task)


def label_spark(table: Path, output: Path, num_workers: int, on_rows: OnRows) -> None:
    """`label_frame` on so many cores of this machine, a row group in a task."""
    from pyarrow import parquet
    from tests.integrations.local_spark import local_spark, row_groups_as_tasks

    from lexitree import Labeller
    from lexitree.integrations.spark_engine import label_frame

    about = parquet.read_metadata(table)
    with local_spark(num_workers, **row_groups_as_tasks(table, about.num_row_groups)) as spark:
        frame = label_frame(spark.read.parquet(str(table)), Labeller(device="cpu"))
        with told_of_tasks(spark, about.row_group(0).num_rows, on_rows):
            frame.write.parquet(str(output))
        on_rows(about.num_rows)


@contextmanager
def told_of_tasks(spark: Any, task_rows: int, on_rows: OnRows) -> Generator[None]:
    """Ask Spark again and again how many tasks are done, until the block ends."""
    tracker, is_over = spark.sparkContext.statusTracker(), threading.Event()

    def ask() -> None:
        num_told = 0
        while not is_over.wait(SECONDS_BETWEEN_LOOKS):
            stages = filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds()))
            num_done = max((stage.numCompletedTasks for stage in stages), default=0)
            for number in range(num_told + 1, num_done + 1):
                on_rows(number * task_rows)
            num_told = max(num_told, num_done)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        is_over.set()
        asking.join()


SYSTEMS: dict[str, Callable[[Path, Path, int, OnRows], None]] = {
    PLAIN: label_plain,
    POOL: label_pool,
    "ray": label_ray,
    "spark": label_spark,
}


def label(
    table: Path, output: Path, on_rows: OnRows, *, num_workers: int = 1, engine: PartEngine | None = None
) -> None:
    job = LabellingJob(
        Inputs([table]),
        f"{output}/",
        LabellerSettings(device="cpu"),
        column="text",
        num_workers=num_workers,
        engine=engine,
    )
    job.run(on_rows)


def engines() -> list[str]:
    """The systems that are compared with plain processes."""
    return [name for name in SYSTEMS if name not in (PLAIN, POOL)]


def main() -> int:
    options = parse_options()
    if options.child:
        run_child(*options.child)
        return 0
    load = os.getloadavg()[0]
    systems = [PLAIN, POOL, *(options.system or engines())]
    with tempfile.TemporaryDirectory(prefix="lexitree-") as folder:
        table = write_table(Path(folder, "texts.parquet"), some_texts(options.rows), options.group_rows)
        runs = [
            {
                "round": number,
                "system": name,
                **measure(name, table, Path(folder, f"{name}-{number}"), options),
            }
            for number in range(1, options.rounds + 1)
            for name in systems
        ]
    rows = [summarize(name, runs, options.rows) for name in systems]
    for row in rows:
        print(json.dumps(row), flush=True)
    problems = find_problems(rows)
    for problem in problems:
        print(problem, file=sys.stderr)
    if options.output:
        record = {
            **describe_run({TEXTS_FILE: texts_file()}),
            "what": "rows per second through engines and through plain processes",
            "seeds": [1],
            "processes": options.jobs,
            "texts": options.rows,
            "rows of a part": options.group_rows,
            "note": f"When it began, the machine had a load of {load:.1f} already.",
            "problems": problems,
            "rows": rows,
            "rounds": runs,
        }
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return bool(problems)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--system", action="append", choices=engines())
    parser.add_argument("--rows", type=int, default=36_000)
    parser.add_argument("--group-rows", type=int, default=1_000, help="rows per row group")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(name: str, table: Path, output: Path, options: argparse.Namespace) -> dict[str, float]:
    """Run a system once, in a program of its own that says when parts are done."""
    start = time.time()
    command = [sys.executable, __file__, "--child", name, table, output, str(options.jobs)]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    seconds = time.time() - start
    done = [json.loads(line) for line in finished.stdout.splitlines() if line.startswith("[")]
    # Plain processes tell of smaller pieces than parts.
    done = [(when, rows) for when, rows in done if rows % options.group_rows == 0 or rows == options.rows]
    (begin, before), (end, after) = done[options.jobs - 1], done[-1]
    rate = (after - before) / (end - begin)
    found = {"rate": rate, "seconds": seconds, "startup": seconds - options.rows / rate}
    print(name, json.dumps(found), file=sys.stderr, flush=True)
    return found


def run_child(name: str, table: str, output: str, num_workers: str) -> None:
    def on_rows(number: int) -> None:
        print(json.dumps([time.time(), number]), flush=True)

    SYSTEMS[name](Path(table), Path(output), int(num_workers), on_rows)


def summarize(name: str, runs: list[dict[str, Any]], num_rows: int) -> dict[str, Any]:
    """The medians of a system, and the medians of its shares of both kinds of processes in the same round."""
    mine = [run for run in runs if run["system"] == name]
    shares = {
        kind: [
            run["rate"] / other["rate"]
            for run in mine
            for other in runs
            if other["system"] == kind and other["round"] == run["round"]
        ]
        for kind in (PLAIN, POOL)
    }
    return {
        "system": name,
        "rows_per_second": round(statistics.median(run["rate"] for run in mine), 1),
        "share": round(statistics.median(shares[PLAIN]), 3),
        "pool_share": round(statistics.median(shares[POOL]), 3),
        "shares_of_rounds": [round(share, 3) for share in shares[PLAIN]],
        "pool_shares_of_rounds": [round(share, 3) for share in shares[POOL]],
        "least_share": MIN_SHARES.get(name),
        "startup_seconds": round(statistics.median(run["startup"] for run in mine), 1),
        "whole_run_rows_per_second": round(statistics.median(num_rows / run["seconds"] for run in mine), 1),
    }


def find_problems(rows: list[dict[str, Any]]) -> list[str]:
    """The engines that are slower than they should be, in words."""
    return [
        f"{row['system']}: a share of {row['share']} is less than {row['least_share']}"
        for row in rows
        if row["least_share"] is not None and row["share"] < row["least_share"]
    ]


if __name__ == "__main__":
    sys.exit(main())
