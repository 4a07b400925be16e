"""One path from text to answer: the command line and the library give the same numbers on each device."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import lexitree
from lexitree.parsers.array_network import ArrayParserNetwork
from lexitree.parsers.neural import NeuralParser
from lexitree.pending import Pending
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.trees.brackets import surface_form
from lexitree.trees.flat_parses import FlatParses
from tests.cli.conftest import Call

DEVICES = (
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
    ),
)
TEXT = "The acting is great, but the story goes nowhere. I can't say (honestly) that it's bad."


@pytest.fixture(scope="module", params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def pipe(device: str) -> TextPipeline:
    """The shipped model with the shipped parser."""
    return lexitree.load("sentiment", device=device)


def test_text_gives_the_same_answer_everywhere(call: Call, pipe: TextPipeline, device: str) -> None:
    document = pipe(TEXT)
    assert [len(sentence.tokens) for sentence in document.sentences] == [11, 12]
    assert call("predict", TEXT, "--device", device, "-f", "json").out == document.to_json() + "\n"
    # The page shows every label, probability and head word.
    page = document.html()
    assert call("explain", TEXT, "--device", device, "-o", "-").out == page
    assert call("predict", TEXT, "--device", device, "-f", "html").out == page


def test_trees_give_the_same_answer_as_their_text(
    call: Call, pipe: TextPipeline, device: str, tmp_path: Path
) -> None:
    document, trees = pipe(TEXT), tmp_path / "labelled.txt"
    arguments = ("--device", device, "-o", trees, "-f", "brackets")
    assert call("predict", TEXT, *arguments).code == 0
    # Scored on what `predict` has answered, a model must be right everywhere.
    scores = json.loads(call("evaluate", "sentiment", trees, "--device", device, "--json").out)
    assert scores["root"]["accuracy"] == scores["phrase"]["accuracy"] == 1.0
    assert scores["phrase"]["num_counted"] == sum(1 for _ in document.phrases)
    lines = call("predict", "sentiment", trees, "--device", device, "-f", "json").out.splitlines()
    for line, sentence in zip(lines, document.sentences, strict=True):
        values = json.loads(line)
        for found, phrase in zip(values["phrases"], sentence.phrases, strict=True):
            assert found["probabilities"] == [round(share, 6) for share in phrase.probabilities.values()]
            assert found["head_index"] == phrase.head_index
            assert found["head"] == surface_form(values["words"][found["head_index"]])
            assert found["head_weight"] == round(phrase.head_weight or 0, 6)


def devices_of(parser: NeuralParser) -> set[str]:
    if isinstance(parser.model, ArrayParserNetwork):
        return {parser.model.device_type}
    network = parser.model.torch_network("A test")
    return {each.device.type for each in (*network.parameters(), *network.buffers())}


@pytest.mark.parametrize("command", ["load", "predict", "explain"])
def test_the_parser_runs_on_the_device_of_the_model(
    call: Call, device: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_parses, seen = NeuralParser.start_parses, list[set[str]]()

    def note_device(parser: NeuralParser, sentences: Sequence[Any], *options: Any) -> Pending[FlatParses]:
        seen.append(devices_of(parser))
        return start_parses(parser, sentences, *options)

    monkeypatch.setattr(NeuralParser, "start_parses", note_device)
    if command == "load":
        pipe = lexitree.load("sentiment", device=device)
        pipe(TEXT)
        assert isinstance(pipe.parser, NeuralParser)
        assert pipe.predictor.model.device_type == device
    else:
        assert call(command, TEXT, "--device", device, "-o", "-").code == 0
    assert seen
    assert all(devices == {device} for devices in seen)
