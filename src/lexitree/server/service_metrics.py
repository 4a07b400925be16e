"""What the service counts, for Prometheus.

Every label has few values, none of them from a request. In several processes (`PROMETHEUS_MULTIPROC_DIR` is set), the
figures of all of them are summed.
"""

from __future__ import annotations

import os
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from lexitree.server.job_queue import Batch, JobQueue

MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_NODES = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class ServiceMetrics:
    """The metrics of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        registered: dict[str, Any] = {"registry": self._registry}
        live: dict[str, Any] = {"multiprocess_mode": "livesum", **registered}
        self._requests = Counter(
            "lexitree_requests", "Requests by route and status.", ["route", "status"], **registered
        )
        self._seconds = Histogram(
            "lexitree_request_seconds", "Time to answer.", ["route"], buckets=_SECONDS, **registered
        )
        self._shed = Counter(
            "lexitree_shed", "Requests and lines that were not answered, by reason.", ["reason"], **registered
        )
        self._texts = Counter("lexitree_texts", "Texts that were labelled or parsed.", **registered)
        self._nodes = Counter("lexitree_nodes", "Tree nodes that were labelled or parsed.", **registered)
        self._queue_nodes = Gauge("lexitree_queue_nodes", "Tree nodes that wait.", **live)
        self._queue_slices = Gauge("lexitree_queue_jobs", "Parts of requests that wait.", **live)
        self._batch_nodes = Histogram(
            "lexitree_batch_nodes", "Tree nodes per batch.", buckets=_NODES, **registered
        )
        self._batch_texts = Histogram(
            "lexitree_batch_texts", "Texts per batch.", buckets=_TEXTS, **registered
        )
        self._batch_seconds = Histogram(
            "lexitree_batch_seconds", "Time per batch.", buckets=_SECONDS, **registered
        )

    def request_done(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered; the route is one of the application's."""
        self._requests.labels(route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def shed(self, reason: str) -> None:
        """Count a request that the service did not do."""
        self._shed.labels(reason).inc()

    def queue_changed(self, queue: JobQueue) -> None:
        """Show how much waits."""
        self._queue_nodes.set(queue.num_nodes)
        self._queue_slices.set(queue.num_slices)

    def batch_done(self, batch: Batch, seconds: float, queue: JobQueue) -> None:
        """Count what was labelled or parsed together."""
        num_texts = sum(each.last - each.first for each in batch.slices)
        self._texts.inc(num_texts)
        self._nodes.inc(batch.num_nodes)
        self._batch_nodes.observe(batch.num_nodes)
        self._batch_texts.observe(num_texts)
        self._batch_seconds.observe(seconds)
        self.queue_changed(queue)

    def page(self) -> bytes:
        """All figures in the format of Prometheus, of all processes."""
        if MULTIPROCESS_VARIABLE not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)
        return generate_latest(registry)
