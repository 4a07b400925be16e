"""The queue of the service: bounded in tree nodes, short requests first, and none left waiting for ever.

A request is a `Job`, cut into slices of at most a batch, so that one of many texts lets others in between. Slices
are taken in the order of their rank: the time at which the job came, plus the time that it and the slices before it
take, several times over. So a short job overtakes long ones that came a little earlier, and a long one is overtaken
only by those that come soon after it.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Condition, Event
from typing import Any, Literal, NamedTuple

from lexitree.server.problems import queue_full, unavailable
from lexitree.text import TokenizedText

PATIENCE = 4.0
"""How long a job lets others go first, as a multiple of the time that it takes itself."""
_MOST_RETRY_SECONDS = 60
_FEW_DISCARDED = 64
_FIRST_GUESS = 1e-4
"""Seconds per node until some have been measured."""
_KEPT = 0.9
"""How much of what was measured before still counts after another batch."""


class Lane(NamedTuple):
    """What can run in one batch."""

    model: str
    work: Literal["label", "parse"]


class AdmittedText(NamedTuple):
    """A text within the limits, split into sentences."""

    text: TokenizedText
    notes: tuple[str, ...]
    num_nodes: int


@dataclass(eq=False, slots=True, weakref_slot=True)
class Job:
    """The texts of a request, what is made of their results, and who waits for that."""

    lane: Lane
    texts: Sequence[AdmittedText]
    render: Callable[[Any], Any]
    """Makes an answer of a document or parse; it runs in the thread of the models and must be quick."""
    future: asyncio.Future[list[Any]]
    """The answers in the order of the texts; a text that was refused has its `TextError`."""
    answers: list[Any] = field(init=False)
    num_open: int = field(init=False)
    """How many texts have no answer yet."""
    error: Exception | None = None
    """What went wrong for the whole job."""
    is_discarded: bool = False
    slices: list[Slice] = field(default_factory=list["Slice"])
    """What waits or runs; emptied in the end, so that the job is freed at once and not as cyclic garbage."""

    def __post_init__(self) -> None:
        self.answers = [None] * len(self.texts)
        self.num_open = len(self.texts)

    @property
    def num_nodes(self) -> int:
        return sum(text.num_nodes for text in self.texts)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self.is_discarded or self.error is not None or not self.num_open


@dataclass(eq=False, slots=True)
class Slice:
    """Some of the texts of a job, that run together."""

    job: Job
    first: int
    last: int
    num_nodes: int
    is_waiting: bool = True


@dataclass(eq=False, slots=True)
class Batch:
    """Slices that run together."""

    lane: Lane
    slices: list[Slice]
    cancel: Event = field(default_factory=Event)
    """Set when nobody waits for any of them."""

    @property
    def num_nodes(self) -> int:
        return sum(each.num_nodes for each in self.slices)


class JobQueue:
    """Jobs on their way from the event loop to the thread of the models.

    Args:
        max_nodes: How many nodes may wait.
        batch_nodes: How many nodes make a batch; a text of more is a batch by itself.
        wait_seconds: How long the first job of a batch waits for others.
        max_seconds: How long, as far as one can tell, a job may have to wait; one that would wait longer is refused,
            because nobody might be there any more when it is done.
    """

    def __init__(
        self, max_nodes: int, batch_nodes: int, wait_seconds: float, max_seconds: float = math.inf
    ) -> None:
        self.max_nodes = max_nodes
        self._max_seconds = max_seconds
        self._batch_nodes = batch_nodes
        self._wait_seconds = wait_seconds
        self._changed = Condition()
        self._lanes: dict[Lane, list[tuple[float, int, Slice]]] = {}
        self._numbers = count()
        self._num_discarded = 0
        self._first_came = 0.0
        self._running: Batch | None = None
        self._is_closed = False
        self._seconds_per_node = _FIRST_GUESS
        self._measured_nodes = self._measured_seconds = 0.0
        self.num_nodes = 0
        """How many nodes wait."""
        self.num_slices = 0
        """How many slices wait."""

    @property
    def share_full(self) -> float:
        """How full the queue is, by its nodes or by the time that they will take; from 1 on, it takes no job."""
        return max(self.num_nodes / self.max_nodes, self._seconds_to_go / self._max_seconds)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits or runs."""
        return not self.num_slices and self._running is None

    def retry_seconds(self) -> int:
        """In how many seconds what waits now will be done, as far as one can tell."""
        return min(max(1, math.ceil(self._seconds_to_go)), _MOST_RETRY_SECONDS)

    @property
    def _seconds_to_go(self) -> float:
        return self.num_nodes * self._seconds_per_node

    def put(self, job: Job) -> None:
        """Add a job.

        Raises:
            ProblemError: There is no room for it, or the queue is closed.
        """
        num_nodes = job.num_nodes
        with self._changed:
            if self._is_closed:
                raise unavailable("the service has ended", "draining")
            if self.num_nodes + num_nodes > self.max_nodes or self._seconds_to_go > self._max_seconds:
                raise queue_full(self.retry_seconds())
            now = time.monotonic()
            if not self.num_slices:
                self._first_came = now
            before, self.num_nodes = self.num_nodes, self.num_nodes + num_nodes
            lane = self._lanes.setdefault(job.lane, [])
            done_before = 0
            job.slices = self._slices(job)
            for each in job.slices:
                done_before += each.num_nodes
                rank = now + PATIENCE * done_before * self._seconds_per_node
                heapq.heappush(lane, (rank, next(self._numbers), each))
                self.num_slices += 1
            # The thread is woken when there is something to do, and when there is enough; in between it would only
            # take time away from whoever puts more in.
            if not before or before < self._batch_nodes <= self.num_nodes:
                self._changed.notify()

    def _slices(self, job: Job) -> list[Slice]:
        slices: list[Slice] = []
        first = num_nodes = 0
        for place, text in enumerate(job.texts):
            if num_nodes and num_nodes + text.num_nodes > self._batch_nodes:
                slices.append(Slice(job, first, place, num_nodes))
                first, num_nodes = place, 0
            num_nodes += text.num_nodes
        return [*slices, Slice(job, first, len(job.texts), num_nodes)]

    def discard(self, job: Job) -> None:
        """Drop what is left of a job; a batch for which nobody waits any more is cancelled."""
        with self._changed:
            job.is_discarded = True
            for each in job.slices:
                if each.is_waiting:
                    self._leave(each)
                    self._num_discarded += 1
            job.slices = []
            if self._num_discarded > max(_FEW_DISCARDED, self.num_slices):
                self._sweep()
            running = self._running
            if running is not None and all(each.job.is_over for each in running.slices):
                running.cancel.set()

    def take(self) -> Batch | None:
        """Wait for the next batch; None when the queue is closed and empty."""
        with self._changed:
            self._running = None
            while not self._is_ready():
                if self._is_closed and not self.num_slices:
                    return None
                self._changed.wait(self._seconds_to_wait())
            self._running = self._next_batch()
            return self._running

    def _is_ready(self) -> bool:
        if not self.num_slices:
            return False
        return self.num_nodes >= self._batch_nodes or self._is_closed or self._seconds_to_wait() == 0

    def _seconds_to_wait(self) -> float | None:
        """How long others may still join; None if there is nothing to join."""
        if not self.num_slices:
            return None
        return max(0.0, self._first_came + self._wait_seconds - time.monotonic())

    def measure(self, num_nodes: int, seconds: float) -> None:
        """Learn from a batch how long a node takes."""
        # Sums, so that small batches, whose nodes take longer, count for little.
        self._measured_nodes = _KEPT * self._measured_nodes + num_nodes
        self._measured_seconds = _KEPT * self._measured_seconds + seconds
        if num_nodes:
            self._seconds_per_node = self._measured_seconds / self._measured_nodes

    def close(self, *, abandon: bool = False) -> None:
        """Let `take` end when nothing waits any more; with `abandon`, what waits or runs is given up."""
        with self._changed:
            self._is_closed = True
            if abandon:
                waiting = [each for heap in self._lanes.values() for _, _, each in heap if each.is_waiting]
                for each in waiting:
                    self._leave(each)
                self._sweep()
                if self._running is not None:
                    self._running.cancel.set()
            self._changed.notify_all()

    def _next_batch(self) -> Batch:
        for heap in self._lanes.values():
            self._drop_discarded(heap)
        lane = min(
            (lane for lane, heap in self._lanes.items() if heap), key=lambda lane: self._lanes[lane][0]
        )
        heap = self._lanes[lane]
        batch = Batch(lane, [])
        num_nodes = 0
        while heap:
            each = heap[0][2]
            # What is much work by itself is no faster together with others, which would have to wait for it.
            is_alone = each.num_nodes > self._batch_nodes // 2
            if batch.slices and (is_alone or num_nodes + each.num_nodes > self._batch_nodes):
                break
            heapq.heappop(heap)
            self._leave(each)
            batch.slices.append(each)
            num_nodes += each.num_nodes
            self._drop_discarded(heap)
            if is_alone:
                break
        self._first_came = 0.0  # the others have waited long enough
        return batch

    def _drop_discarded(self, heap: list[tuple[float, int, Slice]]) -> None:
        while heap and not heap[0][2].is_waiting:
            heapq.heappop(heap)
            self._num_discarded -= 1

    def _leave(self, each: Slice) -> None:
        each.is_waiting = False
        self.num_nodes -= each.num_nodes
        self.num_slices -= 1

    def _sweep(self) -> None:
        """Forget what was discarded, which the order of the ranks could keep for long."""
        for lane, heap in self._lanes.items():
            kept = [entry for entry in heap if entry[2].is_waiting]
            heapq.heapify(kept)
            self._lanes[lane] = kept
        self._num_discarded = 0
