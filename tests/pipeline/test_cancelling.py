"""Calls that are cancelled or run out of time stop soon and leave the pipeline in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from lexitree import limits as limits_module
from lexitree.errors import CancelledError, LimitError
from lexitree.limits import Limits
from lexitree.models import flat_inference
from lexitree.models.classifier import TreeClassifier
from lexitree.text import TokenizedSentence, split_sentences
from lexitree.trees.tree import Tree
from tests.pipeline.stubs import PARSERS, Batches, ReadsAhead, some_texts, tiny_pipeline


def test_another_thread_can_cancel_a_call() -> None:
    cancel, asked = Event(), Event()
    pipe = tiny_pipeline()

    def slow() -> Iterator[str]:
        yield from some_texts(20)
        asked.set()
        assert cancel.wait(60)
        yield "the plot"

    with ThreadPoolExecutor(2) as threads:
        stream = threads.submit(lambda: list(pipe.stream(slow(), cancel=cancel)))
        assert asked.wait(60)
        cancel.set()
        with pytest.raises(CancelledError):
            stream.result(timeout=60)
    with pytest.raises(CancelledError):
        pipe("the film", cancel=cancel)
    assert pipe("the film").text == "the film"


def test_a_call_can_be_cancelled_while_it_waits_for_its_turn() -> None:
    inside, go_on, cancel = Event(), Event(), Event()

    def halt(tree: Tree) -> Tree:
        inside.set()
        assert go_on.wait(60)
        return tree

    pipe = tiny_pipeline(binarize=halt)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(pipe, "the film")
        assert inside.wait(60)
        second = threads.submit(lambda: pipe("is good", cancel=cancel))
        cancel.set()
        with pytest.raises(CancelledError):
            second.result(timeout=60)
        with pytest.raises(LimitError, match=r"longer than the limit of 0.01 seconds") as caught:
            pipe("is good", limits=Limits(seconds=0.01))
        assert caught.value.limit == "seconds"
        go_on.set()
        assert first.result(timeout=60).text == "the film"


def test_a_stream_can_be_cancelled_while_it_waits_to_have_its_turn_again() -> None:
    asked, inside, go_on, cancel = Event(), Event(), Event(), Event()

    def halt(tree: Tree) -> Tree:
        inside.set()
        assert go_on.wait(60)
        return tree

    def source() -> Iterator[str]:
        yield "the film"
        asked.set()
        assert inside.wait(60)
        cancel.set()
        yield "the plot"

    pipe = tiny_pipeline(parser=ReadsAhead(4), binarize=halt)
    with ThreadPoolExecutor(2) as threads:
        stream = threads.submit(lambda: list(pipe.stream(source(), batch_size=1, cancel=cancel)))
        assert asked.wait(60)
        other = threads.submit(pipe, "is good")
        try:
            with pytest.raises(CancelledError):
                stream.result(timeout=60)
        finally:
            go_on.set()
        assert other.result(timeout=60).text == "is good"
    assert pipe("is dull").text == "is dull"


@pytest.mark.parametrize("make_parser", PARSERS)
def test_seconds_are_those_of_the_work(
    make_parser: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(limits_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    limits = Limits(seconds=5.0)

    def slow_source() -> Iterator[str]:
        for text in some_texts(9):
            clock[0] += 100
            yield text

    def slow_split(text: str) -> list[TokenizedSentence]:
        clock[0] += 6
        return split_sentences(text)

    pipe = tiny_pipeline(parser=make_parser())
    for _ in pipe.stream(slow_source(), batch_size=2, limits=limits):
        clock[0] += 100
    slow = tiny_pipeline(parser=make_parser(), split=slow_split)
    with pytest.raises(LimitError, match="the text takes longer"):
        slow("the film", limits=limits)
    stream = slow.stream(["the film", "the plot"], batch_size=1, limits=limits, on_error="skip")
    with pytest.raises(LimitError, match="a batch of texts from number 0 on takes longer"):
        next(stream)


def test_cancelling_is_noticed_between_the_batches_of_parser_and_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cancel, parser = Event(), Batches()
    pipe = tiny_pipeline(parser=parser)
    monkeypatch.setattr(flat_inference, "_NODES_AT_ONCE", {"cpu": 1})
    labelled: list[object] = []
    start_batch = TreeClassifier.start_batch

    def cancel_at_second(*arguments: Any, **options: Any) -> Any:
        labelled.append(arguments)
        if len(labelled) == 2:
            cancel.set()
        return start_batch(*arguments, **options)

    monkeypatch.setattr(TreeClassifier, "start_batch", cancel_at_second)
    with pytest.raises(CancelledError):
        pipe("The film is good. " * 9, cancel=cancel)
    assert len(labelled) == 2
    parser.on_sentence = lambda: cancel.set() if parser.num_sentences == 3 else None
    cancel.clear()
    with pytest.raises(CancelledError):
        pipe("The film is good. " * 9, cancel=cancel)
    assert parser.num_sentences == 3
