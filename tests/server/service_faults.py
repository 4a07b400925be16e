"""What clients do to a service by mistake or on purpose; afterwards it has to be as it was before.

Each fault is a function that raises AssertionError if the service answers otherwise than it should, and returns what
it counted.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from random import Random

from tests.server.raw_http import Answer, parse_answer, request_bytes
from tests.server.service_health import MEMORY_SLACK_MIB, TEXT, ask
from tests.server.service_process import HOST, ServiceProcess

BODY_SECONDS = 10
"""How long the service under test waits for a body, so that stalled clients are given up soon."""
SETTINGS = {"body_seconds": BODY_SECONDS, "log_texts": False}
Fault = Callable[[ServiceProcess, float], Awaitable[Counter[str]]]
FAULTS: dict[str, Fault] = {}


def fault(name: str) -> Callable[[Fault], Fault]:
    """Register a fault by what a client does."""

    def register(function: Fault) -> Fault:
        FAULTS[name] = function
        return function

    return register


async def exchange(service: ServiceProcess, data: bytes, *, patience: float = 20.0) -> list[Answer]:
    """Send bytes, and read answers until the service closes the connection, or sends nothing more for a while."""
    return await asyncio.to_thread(_exchange, service.port, data, patience)


def _exchange(port: int, data: bytes, patience: float) -> list[Answer]:
    received = b""
    with socket.create_connection((HOST, port), patience) as connected:
        with suppress(OSError):
            # The service may answer and close the connection before all is sent.
            connected.sendall(data)
        with suppress(OSError):
            while part := connected.recv(1 << 16):
                received += part
                connected.settimeout(1.0)
    return [*_answers(received)]


async def exchange_all(service: ServiceProcess, samples: list[bytes], *allowed: int) -> Counter[str]:
    """Send garbage over many connections, for some of which the service waits for more."""
    slots, counts = asyncio.Semaphore(20), Counter[str]()

    async def one(data: bytes) -> None:
        async with slots:
            counts.update(_is_one_of(await exchange(service, data, patience=1.0), 0, *allowed))

    await asyncio.gather(*map(one, samples))
    return counts


def _answers(received: bytes) -> Iterator[Answer]:
    while received and (parsed := parse_answer(received, at_end=True)):
        yield parsed[0]
        received = received[parsed[1] :]


def _is_one_of(answers: list[Answer], *statuses: int) -> Counter[str]:
    """Count answers; they have to be of these statuses, or none if 0 is one of them."""
    found = [answer.status for answer in answers] or [0]
    assert set(found) <= set(statuses), (
        f"{found} instead of {statuses}: {answers[0].body[:500] if answers else b''!r}"
    )
    return Counter(str(status) if status else "closed" for status in found)


@fault("clients that go away at a random moment")
async def abort(service: ServiceProcess, scale: float) -> Counter[str]:
    rng, counts, number = Random(1), Counter[str](), round(10_000 * scale)
    texts = [TEXT, "Good.", TEXT * 20]
    slots = asyncio.Semaphore(50)

    async def one() -> None:
        path = rng.choice(("/v1/label", "/v1/label", "/v1/parse", "/v1/explain"))
        request = request_bytes(path, {"text": rng.choice(texts)})
        cut = rng.choice((len(request), rng.randrange(len(request))))
        how = rng.choice(("closed", "reset", "half-closed"))
        async with slots:
            await _send_part(service, request[:cut], how, rng.choice((0.0, 0.001, 0.01, 0.05)))
        counts[how] += 1

    await asyncio.gather(*(one() for _ in range(number)))
    return counts


async def _send_part(service: ServiceProcess, data: bytes, how: str, pause: float) -> None:
    reader, writer = await asyncio.open_connection(HOST, service.port)
    with suppress(ConnectionError):
        writer.write(data)
        await asyncio.sleep(pause)
        if how == "reset":
            connected: socket.socket = writer.get_extra_info("socket")
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif how == "half-closed":
            writer.write_eof()
            with suppress(TimeoutError):
                await asyncio.wait_for(reader.read(100), 0.05)
        writer.close()
        await writer.wait_closed()


@fault("a text of 5 MB")
async def long_text(service: ServiceProcess, scale: float) -> Counter[str]:
    body = {"text": "word " * 1_000_000}
    return _is_one_of(await exchange(service, request_bytes("/v1/label", body)), 413, 422)


@fault("a sentence of 50,000 words")
async def long_sentence(service: ServiceProcess, scale: float) -> Counter[str]:
    body = {"text": "good " * 50_000 + "."}
    one = {"text": "good. " * 50_000, "one_sentence": True}
    counts = Counter[str]()
    for value in (body, one):
        counts += _is_one_of([await ask(service, request_bytes("/v1/label", value))], 413, 422)
    return counts


@fault("as many texts as fit a body")
async def many_texts(service: ServiceProcess, scale: float) -> Counter[str]:
    body = {"texts": ["a"] * 200_000}
    return _is_one_of(await exchange(service, request_bytes("/v1/label", body)), 413, 422)


@fault("bytes that are not UTF-8, and halves of characters")
async def bad_unicode(service: ServiceProcess, scale: float) -> Counter[str]:
    counts = Counter[str]()
    for body in (
        b'{"text": "caf\xe9"}',
        b'{"text": "\xed\xa0\x80"}',
        b'{"text": "\\ud800"}',
        b"\xff\xfe{\x00}\x00",
    ):
        counts += _is_one_of([await ask(service, _post(body))], 400, 422)
    return counts


def _post(body: bytes, *headers: str, path: str = "/v1/label", length: str | None = None) -> bytes:
    size = length or str(len(body))
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *headers]
    if not any(header.lower().startswith("transfer-encoding") for header in headers):
        lines.append(f"Content-Length: {size}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@fault("JSON with 100,000 levels")
async def deep_json(service: ServiceProcess, scale: float) -> Counter[str]:
    counts = Counter[str]()
    depth = 100_000
    nested = b"[" * depth + b"]" * depth
    tables = b'{"a":' * depth + b"1" + b"}" * depth
    for body in (
        b"[" * depth,
        nested,
        tables,
        b'{"text": ' + nested + b"}",
        b"9" * depth,
        b'{"text": 1e99999}',
    ):
        counts += _is_one_of([await ask(service, _post(body))], 400, 413, 422)
    for line in (nested, tables):
        answer = await ask(service, _post(line + b"\n", path="/v1/label/stream"))
        counts += _is_one_of([answer], 200, 400, 413)
    return counts


@fault("headers and bodies that never end")
async def stall(service: ServiceProcess, scale: float) -> Counter[str]:
    """Others are answered meanwhile; a body that does not come is given up, and all is let go when clients leave."""
    request = _post(json.dumps({"text": TEXT}).encode())
    head = request.index(b"\r\n\r\n")
    stalled = {"header": request[: head - 20], "body": request[:-10]}
    connections = {
        what: [await asyncio.open_connection(HOST, service.port) for _ in range(round(200 * scale))]
        for what in stalled
    }
    for what, data in stalled.items():
        for _, writer in connections[what]:
            writer.write(data)
    start = time.monotonic()
    assert (await ask(service, request)).status == 200
    assert time.monotonic() - start < BODY_SECONDS, "stalled clients hold up others"
    counts = Counter[str]()
    async with asyncio.TaskGroup() as group:
        for what, opened in connections.items():
            for reader, writer in opened:
                group.create_task(_wait_for_end(what, reader, writer, counts))
    return counts


async def _wait_for_end(
    what: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, counts: Counter[str]
) -> None:
    try:
        async with asyncio.timeout(BODY_SECONDS + 5):
            data = await reader.read()
        answers = [*_answers(data)]
        counts[f"{what}: {answers[0].status if answers else 'closed'}"] += 1
        assert all(answer.status in (400, 408, 503, 504) for answer in answers)
    except TimeoutError:
        counts[f"{what}: still open"] += 1
    finally:
        writer.close()
    assert not (what == "body" and counts["body: still open"]), "a body that never comes is not given up"


@fault("a client that sends lines and reads no answers")
async def never_read(service: ServiceProcess, scale: float) -> Counter[str]:
    """Memory stays: the service stops reading while nobody takes its answers."""
    _, writer = await asyncio.open_connection(HOST, service.port)
    connected: socket.socket = writer.get_extra_info("socket")
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line = b"%x\r\n%s\r\n" % (len(TEXT) + 3, json.dumps(TEXT).encode() + b"\n")
    writer.write(_post(b"", "Transfer-Encoding: chunked", path="/v1/label/stream?include=phrases,trees"))
    before, sent = service.vitals().memory_mib, 0
    with suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(10):
            while True:
                writer.write(line * 100)
                sent += 100
                await writer.drain()
    grown = service.vitals().memory_mib - before
    assert grown < MEMORY_SLACK_MIB, f"{grown:.0f} MiB more after {sent} lines"
    writer.transport.abort()
    return Counter({"lines": sent})


@fault("header lines that are too many or too long")
async def large_headers(service: ServiceProcess, scale: float) -> Counter[str]:
    counts = Counter[str]()
    for headers in (["X-A: " + "a" * 100_000], [f"X-{number}: a" for number in range(20_000)]):
        answers = await exchange(service, _post(b'{"text": "a"}', *headers))
        counts += _is_one_of(answers, 0, 200, 400, 413, 431)
    path = "/v1/label?" + "a" * 100_000
    return counts + _is_one_of(
        await exchange(service, _post(b'{"text": "a"}', path=path)), 0, 200, 400, 414, 422
    )


@fault("requests that do not wait for answers")
async def pipeline(service: ServiceProcess, scale: float) -> Counter[str]:
    """Pipelined requests are answered in their order; a client that sends too many of them may be refused."""
    texts = [f"Film {number} is good." for number in range(10)]
    few = await exchange(service, b"".join(request_bytes("/v1/label", {"text": text}) for text in texts))
    assert [answer.json()["document"]["sentences"][0]["text"] for answer in few] == texts
    many = await exchange(service, request_bytes("/v1/label", {"text": TEXT}) * 1000)
    return _is_one_of(few, 200) + _is_one_of(many, 0, 200, 400)


@fault("lengths that are wrong")
async def wrong_length(service: ServiceProcess, scale: float) -> Counter[str]:
    counts, body = Counter[str](), b'{"text": "a"}'
    for length in ("-1", "a", "1e3", "99999999999999999999999", "", "+13", "13, 13", "0x0d"):
        counts += _is_one_of(await exchange(service, _post(body, length=length or " ")), 0, 400, 411, 413)
    # Too short, the rest is taken for another request; too long, the end of the connection is the end of the body.
    counts += _is_one_of(await exchange(service, _post(body, length="5")), 0, 400)
    counts += _is_one_of(await exchange(service, _post(body, length="500")), 0, 400, 408, 504)
    counts += _is_one_of(await exchange(service, _post(body, "Content-Length: 5")), 0, 400)
    return counts


@fault("chunks that are garbage")
async def bad_chunks(service: ServiceProcess, scale: float) -> Counter[str]:
    counts, rng = Counter[str](), Random(1)
    bodies = [
        b"zz\r\nabc\r\n",
        b"-1\r\n\r\n",
        b"ffffffffffffffffff\r\n",
        b"3\r\nabcdef\r\n0\r\n\r\n",
        b"\0" * 100,
    ]
    bodies += [rng.randbytes(rng.randrange(1, 300)) for _ in range(round(200 * scale))]
    for path in ("/v1/label", "/v1/label/stream"):
        samples = [_post(body, "Transfer-Encoding: chunked", path=path) for body in bodies]
        counts += await exchange_all(service, samples, 200, 400, 408, 422, 504)
    both = _post(
        b"d\r\n" + b'{"text": "a"}' + b"\r\n0\r\n\r\n", "Transfer-Encoding: chunked", "Content-Length: 3"
    )
    return counts + _is_one_of(await exchange(service, both), 0, 200, 400)


@fault("bytes that are not HTTP")
async def not_http(service: ServiceProcess, scale: float) -> Counter[str]:
    rng = Random(2)
    hello = bytes.fromhex("16030100a5010000a10303") + rng.randbytes(160)
    samples = [
        hello,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n" * 1000,
        b"GET http://[ HTTP/1.1\r\n\r\n",
    ]
    samples += [rng.randbytes(rng.randrange(1, 2000)) for _ in range(round(300 * scale))]
    good = request_bytes("/v1/label", {"text": "a"})
    for _ in range(round(300 * scale)):
        place = rng.randrange(len(good))
        samples.append(good[:place] + rng.randbytes(rng.choice((1, 2, 8))) + good[place + 1 :])
    return await exchange_all(service, samples, 200, 400, 404, 405, 413, 415, 421, 422)


@fault("a thousand connections that send nothing")
async def idle(service: ServiceProcess, scale: float) -> Counter[str]:
    opened = [await asyncio.open_connection(HOST, service.port) for _ in range(round(1000 * scale))]
    answer = await ask(service, request_bytes("/v1/label", {"text": TEXT}))
    for _, writer in opened:
        writer.close()
    return _is_one_of([answer], 200)
