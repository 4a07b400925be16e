"""The queue: bounded in nodes, short jobs first, long ones in the end, and nothing left of what was discarded."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from lexitree.server.job_queue import AdmittedText, Batch, Job, JobQueue, Lane
from lexitree.server.problems import ProblemError
from lexitree.text import TokenizedText

LANE = Lane("tiny", "label")


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def make_job(loop: asyncio.AbstractEventLoop, *sizes: int, lane: Lane = LANE) -> Job:
    texts = [AdmittedText(TokenizedText("", ()), (), size) for size in sizes]
    return Job(lane, texts, str, loop.create_future())


def make_queue(max_nodes: int = 10_000, batch_nodes: int = 100, wait_seconds: float = 0.0) -> JobQueue:
    queue = JobQueue(max_nodes, batch_nodes, wait_seconds)
    queue.measure(1, 1e-3)
    return queue


def taken(queue: JobQueue) -> Batch:
    batch = queue.take()
    assert batch is not None
    return batch


def jobs_of(batch: Batch) -> list[Job]:
    return [each.job for each in batch.slices]


def test_a_batch_is_filled_by_nodes(loop: Any) -> None:
    queue = make_queue()
    jobs = [make_job(loop, 30) for _ in range(7)]
    for job in jobs:
        queue.put(job)
    assert [len(taken(queue).slices) for _ in range(3)] == [3, 3, 1]
    assert queue.num_nodes == queue.num_slices == 0


def test_short_jobs_go_before_long_ones(loop: Any) -> None:
    queue = make_queue()
    long, short = make_job(loop, 90), make_job(loop, 5)
    queue.put(long)
    queue.put(short)
    assert jobs_of(taken(queue)) == [short]
    assert jobs_of(taken(queue)) == [long]


def test_a_long_job_is_not_overtaken_for_ever(loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = make_queue()
    now = time.monotonic()
    monkeypatch.setattr("lexitree.server.job_queue.time.monotonic", lambda: now)
    long = make_job(loop, 90)
    queue.put(long)
    order: list[Job] = []
    for _ in range(50):
        now += 0.02  # another short one every 20 ms, each as much as the service can do in that time
        queue.put(make_job(loop, 5))
        order += jobs_of(taken(queue))
    assert 5 < order.index(long) < 30


def test_much_work_runs_alone(loop: Any) -> None:
    queue = make_queue()
    first, long, second = make_job(loop, 10), make_job(loop, 60), make_job(loop, 10)
    for job in (first, long, second):
        queue.put(job)
    assert jobs_of(taken(queue)) == [first, second]
    assert jobs_of(taken(queue)) == [long]


def test_a_request_of_many_texts_lets_others_in_between(loop: Any) -> None:
    queue = make_queue()
    large = make_job(loop, *[20] * 50)
    queue.put(large)
    assert [(each.first, each.last) for each in large.slices] == [(n, n + 5) for n in range(0, 50, 5)]
    assert jobs_of(taken(queue)) == [large]
    small = make_job(loop, 20)
    queue.put(small)
    assert jobs_of(taken(queue)) == [small]
    assert jobs_of(taken(queue)) == [large]


def test_a_text_of_more_than_a_batch_is_a_slice_by_itself(loop: Any) -> None:
    queue = make_queue()
    job = make_job(loop, 10, 500, 10)
    queue.put(job)
    assert [each.num_nodes for each in job.slices] == [10, 500, 10]


def test_models_do_not_share_a_batch(loop: Any) -> None:
    queue = make_queue()
    other = Lane("other", "label")
    jobs = [make_job(loop, 10, lane=lane) for lane in (LANE, other, LANE, other)]
    for job in jobs:
        queue.put(job)
    assert jobs_of(taken(queue)) == [jobs[0], jobs[2]]
    assert jobs_of(taken(queue)) == [jobs[1], jobs[3]]


def test_a_full_queue_tells_when_to_try_again(loop: Any) -> None:
    queue = make_queue(max_nodes=1000)
    for _ in range(200):
        queue.measure(100, 1.0)  # a node takes 10 ms
    queue.put(make_job(loop, 700))
    assert queue.share_full == 0.7
    with pytest.raises(ProblemError) as caught:
        queue.put(make_job(loop, 301))
    assert (caught.value.status, caught.value.headers) == (429, {"retry-after": "7"})
    queue.put(make_job(loop, 300))
    assert queue.share_full == 1


def test_the_queue_is_full_when_what_waits_would_take_too_long(loop: Any) -> None:
    queue = JobQueue(10_000, 100, 0, max_seconds=2)
    queue.measure(100, 1.0)
    queue.put(make_job(loop, 150))
    assert queue.share_full == 0.75
    queue.put(make_job(loop, 150))
    with pytest.raises(ProblemError, match="more work"):
        queue.put(make_job(loop, 1))


def test_small_batches_count_for_little_in_the_measured_speed(loop: Any) -> None:
    queue = JobQueue(10_000, 100, 0)
    queue.measure(1_000, 1.0)
    queue.measure(1, 0.1)
    queue.put(make_job(loop, 5_000))
    assert queue.retry_seconds() == 6


def test_discarded_jobs_leave_at_once(loop: Any) -> None:
    queue = make_queue(max_nodes=100)
    kept, dropped = make_job(loop, 40), make_job(loop, 20, 20, 20)
    queue.put(kept)
    queue.put(dropped)
    queue.discard(dropped)
    queue.discard(dropped)
    assert (queue.num_nodes, queue.num_slices) == (40, 1)
    queue.put(make_job(loop, 60))
    assert jobs_of(taken(queue)) == [kept]


def test_nothing_is_kept_of_many_discarded_jobs(loop: Any) -> None:
    queue = make_queue()
    queue.put(make_job(loop, 1))
    for _ in range(10_000):
        job = make_job(loop, 90)
        queue.put(job)
        queue.discard(job)
    (heap,) = queue._lanes.values()
    assert len(heap) < 200
    assert taken(queue).num_nodes == 1


def test_a_batch_for_nobody_is_cancelled(loop: Any) -> None:
    queue = make_queue()
    jobs = [make_job(loop, 10), make_job(loop, 10)]
    for job in jobs:
        queue.put(job)
    batch = taken(queue)
    queue.discard(jobs[0])
    assert not batch.cancel.is_set()
    queue.discard(jobs[1])
    assert batch.cancel.is_set()


def test_the_first_job_waits_for_others(loop: Any) -> None:
    queue = make_queue(wait_seconds=0.05)
    queue.put(make_job(loop, 10))
    threading.Timer(0.01, queue.put, [make_job(loop, 10)]).start()
    assert len(taken(queue).slices) == 2


def test_a_full_batch_does_not_wait(loop: Any) -> None:
    queue = make_queue(wait_seconds=60)
    queue.put(make_job(loop, 50))
    threading.Timer(0.01, queue.put, [make_job(loop, 50)]).start()
    assert len(taken(queue).slices) == 2


def test_what_waits_or_runs_can_be_given_up(loop: Any) -> None:
    queue = make_queue()
    queue.put(make_job(loop, 90))
    batch = taken(queue)
    queue.put(make_job(loop, 10))
    queue.close(abandon=True)
    assert batch.cancel.is_set()
    assert queue.take() is None
    assert queue.num_nodes == 0


def test_what_waits_is_finished_after_closing(loop: Any) -> None:
    queue = make_queue(wait_seconds=60)
    queue.put(make_job(loop, 10))
    queue.close()
    assert taken(queue).num_nodes == 10
    assert not queue.is_idle
    assert queue.take() is None
    assert queue.is_idle
    with pytest.raises(ProblemError, match="ended"):
        queue.put(make_job(loop, 10))
