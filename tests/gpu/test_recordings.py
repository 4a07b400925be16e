"""Recorded work gives the same answers as work that is handed out call by call."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

import lexitree
from lexitree.ops import recordings
from lexitree.ops.recordings import recordings_of
from lexitree.pipeline.text_pipeline import TextPipeline

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

TEXTS = (
    "A gripping film, and the best of the year.",
    "It was not good at all, and far too long.",
    "Utter rubbish from the first scene to the last.",
    "Fine.",
    "I liked it. My wife did not. Who cares?",
    "A zorblified mess with frumious actors.",
    "The acting is great, but the story, which is told by four people who hate each other, goes nowhere at all.",
)


@pytest.fixture(scope="module")
def pipe() -> TextPipeline:
    return lexitree.load("sentiment", device="cuda")


@pytest.fixture(scope="module")
def expected() -> list[lexitree.Document]:
    return list(lexitree.load("sentiment", device="cpu").stream(TEXTS))


def test_recorded_sentences_are_labelled_as_on_a_cpu(
    pipe: TextPipeline, expected: list[lexitree.Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    num_replays = 0
    replay = torch.cuda.CUDAGraph.replay

    def count(graph: torch.cuda.CUDAGraph) -> None:
        nonlocal num_replays
        num_replays += 1
        replay(graph)

    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", count)
    for _ in range(recordings.RUNS_BEFORE + 3):
        for text, on_cpu in zip(TEXTS, expected, strict=True):
            found = pipe(text)
            assert found.text == on_cpu.text
            for phrase, other in zip(found.phrases, on_cpu.phrases, strict=True):
                assert (phrase.text, phrase.label) == (other.text, other.label)
                assert (phrase.head, phrase.head_index) == (other.head, other.head_index)
                assert phrase.probability == pytest.approx(other.probability, abs=1e-5)
                assert phrase.head_weight == pytest.approx(other.head_weight, abs=1e-5)
    # The parser's and the model's, of most texts.
    assert num_replays > 3 * len(TEXTS)


def test_a_recording_reads_the_weights_as_they_are_now(pipe: TextPipeline) -> None:
    model = pipe.predictor.model
    bias = model.scorer.label_bias
    for _ in range(recordings.RUNS_BEFORE + 2):
        before = pipe(TEXTS[0]).sentences[0].probabilities
    with torch.no_grad():
        bias += torch.arange(len(bias), device=bias.device)
    after = pipe(TEXTS[0]).sentences[0].probabilities
    with torch.no_grad():
        bias -= torch.arange(len(bias), device=bias.device)
    assert list(after.values())[-1] > list(before.values())[-1]


def test_weights_that_moved_are_recorded_anew(pipe: TextPipeline) -> None:
    model = pipe.predictor.model
    kept = recordings_of(model, model.device, model.config)
    assert recordings_of(model, model.device, model.config) is kept
    for _ in range(recordings.RUNS_BEFORE + 2):
        before = pipe(TEXTS[1]).sentences[0].probabilities
    # While the old weights are there, the new ones are elsewhere.
    old = model.scorer.label_bias
    model.scorer.label_bias = torch.nn.Parameter(old + torch.arange(len(old), device=old.device))
    moved = recordings_of(model, model.device, model.config)
    for _ in range(recordings.RUNS_BEFORE + 2):
        after = pipe(TEXTS[1]).sentences[0].probabilities
        assert list(after.values())[-1] > list(before.values())[-1]
    assert moved is not kept
    assert recordings_of(model, model.device, model.config) is moved
    model.scorer.label_bias = old
    assert pipe(TEXTS[1]).sentences[0].probabilities == pytest.approx(before, abs=1e-6)


def test_other_settings_are_recorded_anew(pipe: TextPipeline) -> None:
    model = pipe.predictor.model
    for _ in range(recordings.RUNS_BEFORE + 2):
        before = pipe(TEXTS[1]).sentences[0].probability
    settings = model.config
    model.config = dataclasses.replace(settings, temperature=5 * settings.temperature)
    assert pipe(TEXTS[1]).sentences[0].probability < before - 0.05
    model.config = settings
    assert pipe(TEXTS[1]).sentences[0].probability == pytest.approx(before, abs=1e-6)


def test_half_precision_is_recorded_with_and_without_unknown_words(
    expected: list[lexitree.Document],
) -> None:
    half = lexitree.load("sentiment", device="cuda", precision="bf16")
    for _ in range(recordings.RUNS_BEFORE + 2):
        for text, on_cpu in zip(TEXTS, expected, strict=True):
            found = half(text)
            assert [phrase.text for phrase in found.phrases] == [phrase.text for phrase in on_cpu.phrases]
            assert found.probability == pytest.approx(on_cpu.probability, abs=0.1)


def test_two_pipelines_record_in_two_threads() -> None:
    names = ("sentiment", "questions")
    answers = {name: [lexitree.load(name, device="cpu")(text).label for text in TEXTS] for name in names}

    def label(name: str) -> list[list[str]]:
        pipe = lexitree.load(name, device="cuda")
        return [[pipe(text).label for text in TEXTS] for _ in range(recordings.RUNS_BEFORE + 3)]

    with ThreadPoolExecutor(2) as pool:
        for name, found in zip(names, pool.map(label, names), strict=True):
            assert found == [answers[name]] * len(found)
