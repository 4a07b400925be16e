"""Calls from several threads, streams and forked processes take turns at one pipeline."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import islice
from threading import Barrier, Event
from typing import Any

import pytest
import torch

from lexitree.errors import ConfigError
from lexitree.limits import Check
from lexitree.ops.openmp import openmp_threads
from lexitree.pipeline import turns
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.pipeline.turns import Turn
from lexitree.results.document import Document
from lexitree.trees.tree import Tree
from tests.pipeline.stubs import (
    PARSERS,
    WORDS,
    Batches,
    assert_same,
    right_branching,
    some_texts,
    tiny_pipeline,
)


class OneAtATime:
    """Refuses a call before the one before it has ended, as a parser that is a program does."""

    def __init__(self) -> None:
        self.is_busy = False

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        assert not self.is_busy, "still at work on other sentences"
        self.is_busy = True
        try:
            for words in sentences:
                yield right_branching(words)
        finally:
            self.is_busy = False


def test_a_call_keeps_its_turn_until_the_parser_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    release, releases = Turn.released, list[Turn]()

    def note_release(turn: Turn, check: Check) -> AbstractContextManager[None]:
        releases.append(turn)
        return release(turn, check)

    monkeypatch.setattr(Turn, "released", note_release)
    texts = some_texts(24)
    pipe = tiny_pipeline(parser=OneAtATime())
    with ThreadPoolExecutor(8) as threads:
        assert [document.text for document in threads.map(pipe, texts)] == texts
    assert not releases


def test_many_threads_get_the_same_answers() -> None:
    texts = some_texts(60)
    pipe = tiny_pipeline()
    expected = [pipe(text) for text in texts]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(pipe, texts * 3))
        streams = list(threads.map(lambda _: list(pipe.stream(texts, batch_size=7)), range(6)))
    for document, other in zip(found, expected * 3, strict=True):
        assert_same(document, other)
    for documents in streams:
        for document, other in zip(documents, expected, strict=True):
            assert_same(document, other)
    assert not pipe.predictor.model.training


@pytest.mark.parametrize("make_parser", PARSERS)
def test_a_stream_may_read_from_a_stream_of_the_same_pipeline(make_parser: Callable[[], Any]) -> None:
    texts = some_texts(20)
    pipe = tiny_pipeline(parser=make_parser())
    sentences = (
        sentence.text for document in pipe.stream(texts, batch_size=3) for sentence in document.sentences
    )
    found = [document.text for document in pipe.stream(sentences, batch_size=4)]
    assert found == [sentence.text for text in texts for sentence in pipe(text).sentences]


@pytest.mark.parametrize("make_parser", PARSERS)
def test_nobody_waits_for_the_source_of_another(make_parser: Callable[[], Any]) -> None:
    """Four sources give their next text only when four other threads are done with all of theirs."""
    texts = some_texts(12)
    pipe = tiny_pipeline(parser=make_parser())
    expected = [pipe(text) for text in texts]
    all_inside, fast_done = Barrier(8, timeout=60), Barrier(8, timeout=60)

    def slow() -> Iterator[str]:
        for number, text in enumerate(texts):
            if number == 1:
                all_inside.wait()
                fast_done.wait()
            yield text

    def run(is_slow: bool) -> list[Document]:
        if is_slow:
            return list(pipe.stream(slow(), batch_size=5))
        all_inside.wait()
        found = list(pipe.stream(texts, batch_size=7))
        fast_done.wait()
        return found

    with ThreadPoolExecutor(8) as threads:
        streams = list(threads.map(run, [True, False] * 4))
    for documents in streams:
        for document, other in zip(documents, expected, strict=True):
            assert_same(document, other)


def test_a_reader_that_stops_holds_nobody_up() -> None:
    pipe = tiny_pipeline()
    abandoned = pipe.stream(some_texts(20), batch_size=2)
    next(abandoned)
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(pipe, "the film").result(timeout=60).text == "the film"
    assert next(abandoned).text


def test_a_pipeline_in_its_own_parser_is_refused() -> None:
    pipe = tiny_pipeline(binarize=lambda tree: pipe(tree.words[0]).sentences[0].source)
    with pytest.raises(ConfigError, match="its own"):
        pipe("the film")


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_processes_answer_while_another_thread_computes() -> None:
    pipe = tiny_pipeline(parser=Batches())
    with openmp_threads(2):
        # OpenMP's threads, which a forked process lacks, have work once.
        torch.ones(300_000).exp().sum()
        check_forks(pipe)


def check_forks(pipe: TextPipeline) -> None:
    expected = pipe("the film is good").probabilities
    done = Event()
    with ThreadPoolExecutor(1) as threads:
        busy = threads.submit(lambda: [pipe(" ".join(WORDS)) for _ in iter(done.is_set, True)])
        try:
            answers = [in_forked_process(lambda: pipe("the film is good").probabilities) for _ in range(12)]
        finally:
            done.set()
        assert busy.result(timeout=60)
    assert answers == [expected] * 12


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_forked_in_a_long_batch_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "FORK_SECONDS", 0.05)
    inside, go_on = Event(), Event()

    def halt(tree: Tree) -> Tree:
        inside.set()
        assert go_on.wait(60)
        return tree

    pipe = tiny_pipeline(binarize=halt)

    def problem() -> str:
        try:
            return pipe("the film").text
        except ConfigError as error:
            return str(error)

    with ThreadPoolExecutor(1) as threads:
        busy = threads.submit(problem)
        assert inside.wait(60)
        try:
            answers = [in_forked_process(problem), in_forked_process(lambda: in_forked_process(problem))]
        finally:
            go_on.set()
        assert busy.result(timeout=60) == "the film"
    assert all("forked in the middle of a batch" in str(answer) for answer in answers)
    assert in_forked_process(problem) == "the film"


def test_turns_are_listed_while_other_threads_make_some() -> None:
    done = Event()
    with ThreadPoolExecutor(1) as threads:
        kept = threads.submit(lambda: [Turn() for _ in islice(iter(done.is_set, True), 20_000)])
        try:
            for _ in range(50):
                turns._all_turns()
        finally:
            done.set()
        assert kept.result(timeout=60)


def in_forked_process(compute: Callable[[], object]) -> object:
    """What a function returns in a process forked from this thread; fails if it is not done within a minute."""
    ours, theirs = multiprocessing.Pipe()
    child = os.fork()
    if not child:
        try:
            theirs.send(compute())
        finally:
            os._exit(0)
    theirs.close()
    try:
        assert ours.poll(60), "the forked process hangs"
        return ours.recv()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
