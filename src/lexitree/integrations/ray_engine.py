"""Label the parts of a folder on a Ray cluster: Ray Data sends them to a pool of actors, and restarts those that die.

Each actor opens the model once, and reads, labels and writes whole parts, so the texts do not pass through Ray.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from lexitree.errors import ConfigError, LexitreeError, import_extra
from lexitree.integrations.ray_cluster import connected
from lexitree.pipeline.part_engine import ENDS_PROCESS, PartEngine, RunTasks
from lexitree.pipeline.part_worker import PartResult, PartTask, PartWorker

_log = logging.getLogger(__name__)

MAX_TRIES = 3
"""How often a task is begun: Ray repeats one whose actor has died, forever if the task itself is the reason."""


def ray_engine(address: str | None = None, num_workers: int | None = None) -> PartEngine:
    """An engine that labels parts with Ray.

    Args:
        address: The cluster; `auto` finds that of this machine. By default, the one that this program is connected
            to is used, or Ray is started on this machine and ended afterwards.
        num_workers: The number of actors, a core each or, on GPUs, a GPU each, of which there cannot be more than
            the cluster has; by default, as many as it has.

    Raises:
        MissingExtraError: Ray is not installed.
    """
    ray = import_extra("ray", extra="ray", purpose="The engine ray")
    data = import_extra("ray.data", extra="ray", purpose="The engine ray", package="ray[data]")

    @contextmanager
    def start(worker: PartWorker) -> Generator[RunTasks]:
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        with connected(ray, address, num_workers):
            device, size = _choose_workers(worker.device, ray.cluster_resources(), num_workers)
            placed, num_gpus = worker.on_device(device), 1 if device == "cuda" else None
            _log.info("%d actors label on the device %s", size, device)

            def run(tasks: Sequence[PartTask]) -> Iterator[PartResult]:
                pool = data.ActorPoolStrategy(size=min(size, len(tasks)), max_tasks_in_flight_per_actor=1)
                return _run_tasks(ray, placed, tasks, pool, num_gpus)

            yield run

    return start


def _choose_workers(device: str, resources: Mapping[str, float], num_workers: int | None) -> tuple[str, int]:
    """Where actors label, as it is called inside of them, and how many there are.

    An actor on a GPU sees no other, so there its name is `cuda`, whatever number it has on its node.
    """
    num_gpus = int(resources.get("GPU", 0))
    if device == "auto":
        device = "cuda" if num_gpus else "cpu"
    if not device.startswith("cuda"):
        return device, num_workers or max(1, int(resources.get("CPU", 1)))
    if not num_gpus:
        raise ConfigError("the Ray cluster has no GPU", remedy="Use --device cpu or --device auto.")
    # Ray would wait for the GPUs that further actors need.
    return "cuda", min(num_workers or num_gpus, num_gpus)


def _run_tasks(
    ray: Any, worker: PartWorker, tasks: Sequence[PartTask], pool: Any, num_gpus: int | None
) -> Iterator[PartResult]:
    # On the node of this program: if that one goes down, all ends anyway.
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    tries = ray.remote(num_cpus=0, scheduling_strategy=here)(_Tries).remote()
    # A block for each task: blocks are what Ray sends, and sends again.
    dataset = ray.data.from_items([{"task": task} for task in tasks], override_num_blocks=len(tasks))
    results = dataset.map_batches(
        _Actor,
        fn_constructor_args=(worker, tries),
        batch_size=None,
        compute=pool,
        num_cpus=1,
        num_gpus=num_gpus,
    )
    results.context.enable_progress_bars = False
    try:
        for batch in results.iter_batches(batch_size=None, prefetch_batches=0):
            yield from batch["result"]
    except ray.exceptions.RayError as error:
        raise LexitreeError(
            f"Ray has stopped: {error}",
            remedy="Run the same command again: the parts that are done are kept.",
        ) from error


class _Tries:
    """Counts how often each task was begun, in an actor of its own."""

    def __init__(self) -> None:
        self._counts = Counter[PartTask]()

    def begin(self, task: PartTask) -> int:
        self._counts[task] += 1
        return self._counts[task]


class _Actor:
    """What Ray Data runs in each actor of its pool."""

    def __init__(self, worker: PartWorker, tries: Any) -> None:
        self._worker = worker
        self._tries = tries

    def __call__(self, batch: Mapping[str, Iterable[PartTask]]) -> dict[str, Any]:
        return {"result": np.fromiter(map(self._label, batch["task"]), object)}

    def _label(self, task: PartTask) -> PartResult:
        ray = import_extra("ray", extra="ray", purpose="The engine ray")
        if ray.get(self._tries.begin.remote(task)) > MAX_TRIES:
            return PartResult(task, problem=ENDS_PROCESS)
        return self._worker(task)
