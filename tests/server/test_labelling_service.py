"""The service behind HTTP: batches, deadlines, clients that leave, draining, and errors of models."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
import pytest

from lexitree.errors import ConfigError, ParserError
from lexitree.results.document import Document
from lexitree.server.job_queue import Lane
from lexitree.server.labelling_service import LabellingService
from lexitree.server.problems import ProblemError
from tests.pipeline.stubs import Batches, some_texts, tiny_pipeline
from tests.server.asgi import Exchange, FailingParser, GatedParser, make_app, make_settings, running, until

LANE = Lane("tiny", "label")
Test = Callable[[], Coroutine[Any, Any, None]]


async def ask(service: LabellingService, *texts: str) -> list[Any]:
    admitted = await service.admit("tiny", texts, one_sentence=False, is_numbered=True)
    return await service.wait(service.submit(LANE, admitted, lambda document: document))


def test_the_answers_of_a_request_are_those_of_a_stream_bit_for_bit() -> None:
    async def run() -> None:
        pipe = tiny_pipeline(parser=Batches())
        texts = some_texts(32)
        expected = list(pipe.stream(texts))
        async with running(make_app(pipe)) as service:
            found: list[Document] = await ask(service, *texts)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.text == theirs.text
            for sentence, other in zip(ours.sentences, theirs.sentences, strict=True):
                np.testing.assert_array_equal(sentence.node_probabilities, other.node_probabilities)
                np.testing.assert_array_equal(sentence.head_index, other.head_index)

    asyncio.run(run())


def test_many_requests_share_batches() -> None:
    async def run() -> None:
        parser = GatedParser()
        pipe = tiny_pipeline(parser=parser)
        texts = [text for text in some_texts(25) if text.strip()]
        async with running(make_app(pipe)) as service:
            parser.gate.clear()
            parser.has_begun.clear()
            first = asyncio.create_task(ask(service, "first"))
            await until(parser.has_begun.is_set)
            parser.calls.clear()
            waiting = [asyncio.create_task(ask(service, text)) for text in texts]
            await until(lambda: service.queue.num_slices == len(texts))
            parser.gate.set()
            found = [(await each)[0] for each in waiting]
            await first
        assert len(parser.calls) == 1
        for text, document in zip(texts, found, strict=True):
            assert document.text == text
            expected = pipe(text)
            np.testing.assert_allclose(
                list(document.probabilities.values()), list(expected.probabilities.values()), atol=1e-5
            )

    asyncio.run(run())


def test_short_requests_are_answered_before_long_ones() -> None:
    async def run() -> None:
        parser = GatedParser()
        async with running(make_app(tiny_pipeline(parser=parser), batch_nodes=100)) as service:
            parser.gate.clear()
            parser.has_begun.clear()
            first = asyncio.create_task(ask(service, "first"))
            await until(parser.has_begun.is_set)
            order: list[str] = []

            async def note(name: str, *texts: str) -> None:
                await ask(service, *texts)
                order.append(name)

            long = asyncio.create_task(note("long", *["a b c d e f g h i j"] * 40))
            await until(lambda: service.queue.num_slices > 1)
            short = asyncio.create_task(note("short", "short"))
            await until(lambda: service.queue.num_nodes == 40 * 19 + 1)
            parser.gate.set()
            await asyncio.gather(first, long, short)
            assert order == ["short", "long"]

    asyncio.run(run())


def test_a_request_that_takes_too_long_is_504_and_its_work_ends() -> None:
    async def run() -> None:
        parser = GatedParser()
        app = make_app(tiny_pipeline(parser=parser), request_seconds=0.1)
        async with running(app) as service:
            parser.gate.clear()
            both = [Exchange(app).send_json({"text": text}) for text in ("running", "waiting")]
            assert [(await each.done()).status for each in both] == [504, 504]
            assert "0.1 seconds" in both[0].values["detail"]
            await until(lambda: service.queue.is_idle)
            parser.gate.set()
            assert (await Exchange(app).send_json({"text": "next"}).done()).status == 200

    asyncio.run(run())


def test_a_batch_that_takes_too_long_is_504() -> None:
    async def run() -> None:
        parser = GatedParser()
        app = make_app(tiny_pipeline(parser=parser), limits={"seconds": 0.2})
        async with running(app):
            parser.gate.clear()
            assert (await Exchange(app).send_json({"text": "good"}).done()).status == 504

    asyncio.run(run())


def test_a_client_that_leaves_is_dropped() -> None:
    async def run() -> None:
        parser = GatedParser()
        app = make_app(tiny_pipeline(parser=parser))
        async with running(app) as service:
            parser.gate.clear()
            parser.has_begun.clear()
            stays = Exchange(app).send_json({"text": "stays"})
            await until(parser.has_begun.is_set)
            leaving = [Exchange(app).send_json({"text": "leaves"}) for _ in range(20)]
            await until(lambda: service.queue.num_slices == 20)
            for each in leaving:
                each.disconnect()
            assert {(await each.done()).status for each in leaving} == {499}
            assert service.queue.num_nodes == 0
            parser.gate.set()
            assert (await stays.done()).status == 200
            assert parser.calls[-1] == ["stays"]
            assert b'lexitree_shed_total{reason="client gone"} 20.0' in service.metrics.page()

    asyncio.run(run())


def test_work_for_nobody_ends_while_it_runs() -> None:
    async def run() -> None:
        parser = GatedParser()
        app = make_app(tiny_pipeline(parser=parser))
        async with running(app) as service:
            parser.gate.clear()
            parser.has_begun.clear()
            leaves = Exchange(app).send_json({"text": "leaves"})
            await until(parser.has_begun.is_set)
            leaves.disconnect()
            await leaves.done()
            await until(lambda: service.queue.is_idle)  # although the gate is closed

    asyncio.run(run())


def test_draining_finishes_what_was_accepted_and_refuses_the_rest() -> None:
    async def run() -> None:
        parser = GatedParser()
        app = make_app(tiny_pipeline(parser=parser))
        async with running(app) as service:
            parser.gate.clear()
            parser.has_begun.clear()
            accepted = [Exchange(app).send_json({"text": text}) for text in ("one", "two", "three")]
            await until(parser.has_begun.is_set)
            service.start_draining()
            assert service.why_not_ready() == "draining"
            refused = await Exchange(app).send_json({"text": "late"}).done()
            assert refused.status == 503
            assert refused.headers["retry-after"]
            asyncio.get_running_loop().call_later(0.05, parser.gate.set)
            await service.stop()
            assert [(await each.done()).status for each in accepted] == [200] * 3
            assert service.why_not_ready() == "draining"

    asyncio.run(run())


def test_draining_ends_in_time_and_gives_up_the_rest() -> None:
    async def run() -> None:
        parser = GatedParser()
        app = make_app(tiny_pipeline(parser=parser), drain_seconds=0.05)
        async with running(app) as service:
            parser.gate.clear()
            parser.has_begun.clear()
            stuck = [Exchange(app).send_json({"text": "stuck"}) for _ in range(2)]
            await until(parser.has_begun.is_set)
        assert not service.batcher.is_alive
        for each in stuck:
            each.task.cancel()

    asyncio.run(run())


def test_the_service_is_not_ready_before_the_models_are_warm() -> None:
    async def run() -> None:
        parser = GatedParser()
        parser.gate.clear()
        app = make_app(tiny_pipeline(parser=parser))
        async with app.router.lifespan_context(app):
            service: LabellingService = app.state.service
            assert service.why_not_ready() == "starting"
            assert (await Exchange(app).send_json({"text": "early"}).done()).status == 503
            parser.gate.set()
            await until(lambda: not service.why_not_ready())
            lengths = {len(sentence.split()) for call in parser.calls for sentence in call}
            assert {1, 5, 25} <= lengths

    asyncio.run(run())


def test_a_failing_text_does_not_harm_its_neighbours(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        parser = FailingParser(lambda: ZeroDivisionError("in the model"))
        app = make_app(tiny_pipeline(parser=parser), wait_ms=20)
        async with running(app) as service:
            exchanges = [Exchange(app).send_json({"text": text}) for text in ("good", "poison", "bad")]
            assert [(await each.done()).status for each in exchanges] == [200, 500, 200]
            assert "in the model" not in exchanges[1].body.decode()
            assert service.batcher.is_alive
            assert (await Exchange(app).send_json({"text": "good"}).done()).status == 200

    asyncio.run(run())
    assert sum("a batch has failed" in record.message for record in caplog.records) == 1


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), 503),
        (MemoryError(), 503),
        (ParserError("the parser is gone"), 500),
    ],
)
def test_errors_of_models(error: Exception, status: int) -> None:
    async def run() -> None:
        app = make_app(tiny_pipeline(parser=FailingParser(lambda: error)))
        async with running(app):
            assert (await Exchange(app).send_json({"text": "poison"}).done()).status == status

    asyncio.run(run())


def test_a_thread_that_has_died_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        app = make_app(drain_seconds=0.1)
        async with running(app) as service:
            service.queue.close()
            await until(lambda: not service.batcher.is_alive)
            assert service.why_not_ready() == "stopped"
            assert (await Exchange(app).send_json({"text": "late"}).done()).status == 503

    asyncio.run(run())


def test_long_texts_are_split_in_another_thread_and_not_too_many_at_a_time() -> None:
    async def run() -> None:
        settings = make_settings(max_body=10_000)
        service = LabellingService(settings, {"tiny": tiny_pipeline()})
        texts = ["good . " * 500] * 11  # of 3,500 characters each
        results = await asyncio.gather(
            *(service.admit("tiny", [text], one_sentence=False, is_numbered=False) for text in texts),
            service.admit("tiny", ["good " * 700], one_sentence=False, is_numbered=False),
            return_exceptions=True,
        )
        assert [each[0].num_nodes for each in results[:11] if isinstance(each, list)] == [3 * 500] * 11
        assert isinstance(results[11], ProblemError)
        assert results[11].status == 429

    asyncio.run(run())


def test_a_request_is_freed_without_the_garbage_collector() -> None:
    async def run() -> None:
        async with running(make_app()) as service:
            admitted = await service.admit("tiny", ["good"], one_sentence=False, is_numbered=False)
            job = service.submit(LANE, admitted, str)
            await service.wait(job)
            left = service.submit(LANE, admitted, str)
            service.queue.discard(left)
            await until(lambda: service.queue.is_idle)
            references = [weakref.ref(job), weakref.ref(left)]
            del job, left
            # What was discarded, and the latest batch, are held until there is another.
            await ask(service, "other")
            await until(lambda: service.queue.is_idle)
            assert [reference() for reference in references] == [None, None]

    gc.disable()
    try:
        asyncio.run(run())
    finally:
        gc.enable()


def test_the_default_model_is_the_first() -> None:
    service = LabellingService(make_settings(), {"a": tiny_pipeline(), "b": tiny_pipeline()})
    assert service.find_model(None) == "a"
    assert service.find_model("b") == "b"
    with pytest.raises(ConfigError, match="no model 'c'"):
        service.find_model("c")
