"""Two nodes of Ray on this machine, of which an actor and then a node are killed while they label a table."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import ray
from ray.cluster_utils import Cluster

from lexitree.integrations.ray_engine import ray_engine
from lexitree.pipeline.inputs import Inputs
from lexitree.pipeline.labelling import LabellingJob
from lexitree.pipeline.part_engine import PartEngine
from lexitree.pipeline.part_worker import PartResult, PartTask, PartWorker
from lexitree.pipeline.workers import LabellerSettings
from tests.integrations.engine_tables import compare_rows, read_rows, some_texts, write_table

STORE_BYTES = 100 << 20


@contextmanager
def two_nodes() -> Generator[tuple[Cluster, Any]]:
    """A cluster of two nodes with a core each, and its second node; this program is connected to the first."""
    # A busy machine takes its time to start processes.
    os.environ |= {"RAY_raylet_start_wait_time_s": "120", "RAY_USAGE_STATS_ENABLED": "0"}
    node = {"num_cpus": 1, "object_store_memory": STORE_BYTES}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        second = cluster.add_node(**node)
        ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
        yield cluster, second
    finally:
        ray.shutdown()
        cluster.shutdown()


class Announcing:
    """A worker that writes down where it begins which part."""

    def __init__(self, worker: PartWorker, folder: Path) -> None:
        self.worker = worker
        self.device = worker.device
        self.folder = folder

    def on_device(self, device: str) -> Announcing:
        return Announcing(self.worker.on_device(device), self.folder)

    def __call__(self, task: PartTask) -> PartResult:
        node = ray.get_runtime_context().get_node_id()
        name = f"{time.time_ns()}-{node}-{os.getpid()}-{task.part}"
        (self.folder / name).touch()
        return self.worker(task)


def announcing(engine: PartEngine, folder: Path) -> PartEngine:
    """The same engine, whose workers write down what they begin."""
    folder.mkdir()
    return lambda worker: engine(cast(PartWorker, Announcing(worker, folder)))


def begun(folder: Path) -> list[tuple[str, int, int]]:
    """Node, process and part of everything that was begun, in this order."""
    found = [path.name.split("-")[1:] for path in sorted(folder.iterdir())]
    return [(node, int(process), int(part)) for node, process, part in found]


def label_with_deaths(folder: Path, num_rows: int, group_rows: int) -> dict[str, Any]:
    """Label a table in one process and on two nodes, kill an actor and then the second node, and compare.

    Args:
        folder: An empty folder for input and output.
        num_rows: The rows of the table.
        group_rows: The rows of a row group.
    """
    table = write_table(folder / "texts.parquet", some_texts(num_rows), group_rows)
    inputs, labeller = Inputs([table]), LabellerSettings(device="cpu")
    LabellingJob(inputs, f"{folder}/one/", labeller, column="text", phrases=True).run()
    deaths: list[str] = []
    log = folder / "begun"
    with two_nodes() as (cluster, second):

        def kill(num_done: int) -> None:
            if not deaths:
                os.kill(begun(log)[-1][1], signal.SIGKILL)
                deaths.append(f"an actor after {num_done:,} rows")
            elif len(deaths) == 1 and num_done >= num_rows / 3:
                cluster.remove_node(second, allow_graceful=False)
                deaths.append(f"a node after {num_done:,} rows")

        start = time.monotonic()
        engine = announcing(ray_engine(), log)
        LabellingJob(inputs, f"{folder}/ray/", labeller, column="text", phrases=True, engine=engine).run(kill)
        seconds = time.monotonic() - start
    parts = Counter(part for _, _, part in begun(log))
    return {
        "nodes": len({node for node, _, _ in begun(log)}),
        "killed": deaths,
        "parts": len(parts),
        "parts begun again": sum(number > 1 for number in parts.values()),
        "seconds": round(seconds, 1),
        **compare_rows(read_rows(folder / "ray"), read_rows(folder / "one")),
    }
