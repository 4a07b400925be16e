"""The load generator: it reads every answer, keeps its rate, and counts latency from the intended moment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from tests.server.load_loops import (
    Sample,
    Watched,
    closed_loop,
    milliseconds,
    open_loop,
    percentile,
    series,
    statuses,
)
from tests.server.raw_http import ConnectionPool, parse_answer, request_bytes

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"


@asynccontextmanager
async def answering(*, pause: float = 0.0, every_third: bytes = b"") -> AsyncIterator[ConnectionPool]:
    """A server that answers each request after a pause, and every third in another way."""
    numbers = iter(range(10_000))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = int(head.partition(b"Content-Length: ")[2].split(b"\r\n")[0])
                body = await reader.readexactly(size)
                await asyncio.sleep(pause)
                if every_third and next(numbers) % 3 == 0:
                    writer.write(every_third)
                    continue
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (size, body))
        except asyncio.IncompleteReadError:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server, ConnectionPool("127.0.0.1", server.sockets[0].getsockname()[1]) as pool:
        yield pool


def test_clients_share_the_requests_and_keep_their_connections() -> None:
    async def run() -> None:
        requests = [request_bytes("/", {"number": number}) for number in range(50)]
        async with answering() as pool:
            answers = await closed_loop(pool, requests, clients=4)
            assert [answer and answer.json() for answer in answers] == [
                {"number": number} for number in range(50)
            ]
            assert pool.num_opened <= 4

    asyncio.run(run())


def test_an_open_loop_does_not_wait_for_answers() -> None:
    async def run() -> None:
        shed = b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n"
        async with answering(pause=0.2, every_third=shed) as pool:
            samples = await open_loop(pool, [request_bytes("/", 1)], rate=200, seconds=0.5, rng=Random(1))
        assert 60 < len(samples) < 150
        assert statuses(samples).keys() == {"200", "429"}
        assert all(0.19 < sample.seconds < 1 for sample in samples)

    asyncio.run(run())


def test_latency_counts_from_the_intended_moment() -> None:
    """A generator that is held up does not hide how long users would have waited."""

    async def run() -> None:
        async with answering() as pool:
            asyncio.get_running_loop().call_later(0.1, time.sleep, 0.3)
            samples = await open_loop(pool, [request_bytes("/", 1)], rate=200, seconds=0.2, rng=Random(1))
        assert max(sample.seconds for sample in samples) > 0.2

    asyncio.run(run())


def test_a_refused_connection_is_counted() -> None:
    async def run() -> None:
        samples = await open_loop(
            ConnectionPool("127.0.0.1", 1), [b"a"], rate=100, seconds=0.1, rng=Random(1)
        )
        assert set(statuses(samples)) == {"none"}

    asyncio.run(run())


def test_percentiles_and_series() -> None:
    assert percentile([], 99) is None
    assert [percentile(range(1, 101), percent) for percent in (50, 95, 99)] == [50, 95, 99]
    samples = [Sample(second, 0.1 * second, 200 if second % 2 else 429) for second in range(10)]
    assert milliseconds(samples)["p50_ms"] == pytest.approx(400)
    first, second = series(samples, Watched(memory=[(1.0, 7.0)]), seconds=10, bucket=5)
    assert (first["accepted_per_second"], first["shed_per_second"], first["memory_mib"]) == (0.4, 0.6, 7.0)
    assert second["p99_ms"] == pytest.approx(900)


def test_answers_are_read_whole() -> None:
    assert all(parse_answer(CHUNKED[:size]) is None for size in range(len(CHUNKED)))
    parsed = parse_answer(CHUNKED + b"HTTP/1.1")
    assert parsed is not None
    assert (parsed[0].body, parsed[1]) == (b"abcde", len(CHUNKED))
    early = b"HTTP/1.1 100 Continue\r\n\r\n" + CHUNKED
    assert parse_answer(early) == (parsed[0], len(early))
    until_closed = b"HTTP/1.0 400 Bad Request\r\n\r\nno"
    assert parse_answer(until_closed) is None
    assert parse_answer(until_closed, at_end=True) is not None
