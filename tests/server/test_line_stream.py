"""Streams of lines: in order, at constant memory, and no bad line ends them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.datastructures import QueryParams
from starlette.requests import Request

from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.server.endpoints import MAX_PARAMETERS, MAX_QUERY_BYTES, read_query
from lexitree.server.problems import ProblemError
from tests.pipeline.stubs import Batches, some_texts, tiny_pipeline
from tests.server.asgi import Exchange, GatedParser, make_app, running, until

PATH = "/v1/label/stream"


def stream(*pieces: bytes, path: str = PATH, pipe: TextPipeline | None = None, **values: Any) -> Exchange:
    """Send the pieces of a body and wait for all answers."""

    async def run() -> Exchange:
        app = make_app(pipe, **values)
        async with running(app):
            exchange = Exchange(app, path, content_type="application/x-ndjson")
            for piece in pieces:
                exchange.send(piece, more=True)
            return await exchange.send(b"").done()

    return asyncio.run(run())


def test_answers_come_in_the_order_of_the_lines() -> None:
    pipe = tiny_pipeline(parser=Batches())
    texts = some_texts(50)
    body = "".join(
        json.dumps({"text": text, "id": number}) + "\n" for number, text in enumerate(texts)
    ).encode()
    pieces = [body[first : first + 700] for first in range(0, len(body), 700)]
    found = stream(*pieces, pipe=pipe, path=f"{PATH}?include=probabilities", batch_nodes=50)
    assert found.headers["content-type"] == "application/x-ndjson"
    assert [line["id"] for line in found.lines] == list(range(50))
    assert [line["label"] for line in found.lines] == [document.label for document in pipe.stream(texts)]
    assert set(found.lines[0]["probabilities"]) == {"negative", "positive"}


def test_a_bad_line_is_answered_in_its_place() -> None:
    lines = [
        b'"good"',
        b"{",
        b'{"text": 5, "id": "x"}',
        b"  ",
        b'"\xff"',
        b'"\\ud800"',
        b"[" * 2000,
        b"[]",
        b"\r",
        b'{"text": "' + b"a" * 3000 + b'"}',
        b'{"text": "bad", "id": {"a": 1}}\r',
        b'"' + b"a " * 600 + b'"',
        b'"no newline at the end"',
    ]
    found = stream(b"\n".join(lines), max_body=2500).lines
    statuses = [line.get("error", {}).get("status", 200) for line in found]
    assert statuses == [200, 400, 422, 400, 400, 400, 422, 413, 200, 422, 200]
    assert found[8]["id"] == {"a": 1}
    assert {"detail", "request_id", "title"} <= set(found[1]["error"])


def test_ids_come_back_with_errors() -> None:
    (line,) = stream(b'{"text": "' + b"a " * 600 + b'", "id": 7}').lines
    assert (line["id"], line["error"]["status"]) == (7, 422)
    (line,) = stream(b'{"text": 7, "id": "x"}').lines
    assert (line["id"], line["error"]["status"]) == ("x", 422)


def test_a_line_may_come_byte_by_byte_and_many_at_once() -> None:
    body = b'"good"\n"bad"\n'
    assert len(stream(*[bytes([byte]) for byte in body]).lines) == 2
    assert stream(b"").lines == []
    assert stream(b"\n\n").lines == []


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("include=phrases&" * MAX_PARAMETERS, 400),
        ("include=" + "phrases," * (MAX_QUERY_BYTES // 8), 414),
        ("&".join(f"a{number}=" for number in range(8_000)), 414),
    ],
    ids=["many", "long", "many and long"],
)
def test_a_query_is_bounded_before_it_is_read(
    query: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr(QueryParams, "__init__", read)
    scope = {"type": "http", "method": "POST", "query_string": query.encode(), "headers": []}
    with pytest.raises(ProblemError, match="query") as caught:
        read_query(Request(scope))
    assert caught.value.status == status
    assert caught.value.remedy


def test_the_query_is_checked() -> None:
    assert stream(path=f"{PATH}?model=none").status == 422
    assert stream(path=f"{PATH}?include=nothing").status == 422
    assert stream(path=f"{PATH}?includes=heads").status == 422
    (line,) = stream(b'"good"', path=f"{PATH}?include=probabilities&include=heads").lines
    assert {"probabilities", "head"} <= {*line, *line["sentences"][0]}
    assert stream(b'"good. bad."', path=f"{PATH}?one_sentence=true&model=tiny").lines[0]["label"]


def test_other_types_of_bodies() -> None:
    async def run() -> None:
        app = make_app()
        async with running(app):
            assert (await Exchange(app, PATH, content_type="text/plain").send(b"").done()).status == 415

    asyncio.run(run())


def test_lines_are_read_only_when_there_is_room() -> None:
    async def run() -> None:
        parser = GatedParser()
        app = make_app(tiny_pipeline(parser=parser), batch_nodes=30)
        async with running(app) as service:
            parser.gate.clear()
            exchange = Exchange(app, PATH, content_type="application/x-ndjson")
            for _ in range(200):
                exchange.send(b'"a b c"\n', more=True)
            await until(lambda: exchange.num_received > 10)
            await asyncio.sleep(0.05)
            # Twice a batch of 30 nodes, 5 of them in each line.
            assert exchange.num_received <= 14
            parser.gate.set()
            # A client that does not read its answers is not read from, either.
            exchange.can_send.clear()
            await asyncio.sleep(0.05)
            assert exchange.num_received < 100
            assert service.queue.num_nodes == 0
            exchange.can_send.set()
            await exchange.send(b"").done()
            assert len(exchange.lines) == 200

    asyncio.run(run())


def test_bad_lines_and_long_ids_wait_for_room_too() -> None:
    async def run() -> None:
        app = make_app(batch_nodes=20)
        async with running(app):
            for line, most in ((b"bad\n", 45), (b'{"text": "a", "id": "' + b"a" * 2_000 + b'"}\n', 5)):
                exchange = Exchange(app, PATH, content_type="application/x-ndjson")
                exchange.can_send.clear()
                for _ in range(60):
                    exchange.send(line, more=True)
                await asyncio.sleep(0.1)
                assert exchange.num_received < most
                exchange.can_send.set()
                assert len((await exchange.send(b"").done()).lines) == 60

    asyncio.run(run())


def test_a_stream_leaves_half_of_the_queue_to_others() -> None:
    async def run() -> None:
        parser = GatedParser()
        app = make_app(tiny_pipeline(parser=parser), batch_nodes=100, queue_nodes=100)
        async with running(app) as service:
            parser.gate.clear()
            exchange = Exchange(app, PATH, content_type="application/x-ndjson")
            exchange.send(b'"a b c"\n' * 50)
            await until(lambda: service.queue.num_nodes >= 45)
            await asyncio.sleep(0.03)
            before = service.queue.num_nodes
            assert before <= 50
            other = Exchange(app).send_json({"text": "a b c"})
            await until(lambda: service.queue.num_nodes > before)
            parser.gate.set()
            assert (await other.done()).status == 200
            assert len((await exchange.done()).lines) == 50

    asyncio.run(run())


def test_a_client_that_leaves_ends_its_stream() -> None:
    async def run() -> None:
        parser = GatedParser()
        app = make_app(tiny_pipeline(parser=parser))
        async with running(app) as service:
            for more in (True, False):
                parser.gate.clear()
                parser.has_begun.clear()
                exchange = Exchange(app, PATH, content_type="application/x-ndjson")
                exchange.send(b'"good"\n"bad"\n', more=more)
                await until(parser.has_begun.is_set)
                exchange.disconnect()
                await exchange.done()
                await until(lambda: service.queue.is_idle)
                parser.gate.set()

    asyncio.run(run())


def test_a_stream_that_stalls_is_ended() -> None:
    async def run() -> None:
        app = make_app(body_seconds=0.05)
        async with running(app):
            exchange = Exchange(app, PATH, content_type="application/x-ndjson").send(b'"good"\n', more=True)
            await exchange.done()
            assert exchange.lines[0]["label"]
            assert exchange.lines[1]["error"]["status"] == 408

    asyncio.run(run())


def test_lines_that_come_while_draining_are_refused_and_accepted_ones_answered() -> None:
    async def run() -> None:
        parser = GatedParser()
        app = make_app(tiny_pipeline(parser=parser))
        async with running(app) as service:
            parser.gate.clear()
            parser.has_begun.clear()
            exchange = Exchange(app, PATH, content_type="application/x-ndjson").send(b'"good"\n', more=True)
            await until(parser.has_begun.is_set)
            service.start_draining()
            exchange.send(b'"late"\n')
            await asyncio.sleep(0.01)
            parser.gate.set()
            await exchange.done()
            assert "label" in exchange.lines[0]
            assert exchange.lines[1]["error"]["status"] == 503

    asyncio.run(run())


def test_a_number_that_cannot_be_written_again_is_refused() -> None:
    found = stream(b'{"text": "good", "id": [1e999]}\n"good"\n')
    refused, answered = found.lines
    assert refused["error"]["status"] == 400
    assert "1e999 is too large" in refused["error"]["detail"]
    assert answered["label"]


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    (line,) = stream(b'{"text": "good", "id": ' + b"1" * 5000 + b"}").lines
    assert line["error"]["status"] == 400
    assert "5,000 digits" in line["error"]["detail"]
