"""`lexitree.load`: names of the package give pipelines for text, directories give predictors for trees."""

from __future__ import annotations

import builtins
import io
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import lexitree
from lexitree.errors import ConfigError, ModelFileError, ParserError
from lexitree.labels import SENTIMENTS
from lexitree.parsers.neural import NeuralParser
from lexitree.pipeline import loading
from lexitree.pipeline.predictor import Predictor
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.saving.model_kinds import save_model
from tests.cli.untrained_parser import save_untrained_parser
from tests.pipeline.stubs import RightBranching
from tests.saving.edited_models import edit_config
from tests.tiny import tiny_model, tiny_trees

TEXT = "The film is good."


@pytest.fixture
def package(shipped_folder: Path, saved_model: Path) -> Path:
    """The package with a model and a parser."""
    shutil.copytree(saved_model, shipped_folder / "sentiment")
    save_untrained_parser(shipped_folder / "parser")
    return shipped_folder


def test_a_model_of_the_package_reads_text(package: Path) -> None:
    pipe = lexitree.load("sentiment")
    assert isinstance(pipe, TextPipeline)
    assert isinstance(pipe.parser, NeuralParser)
    assert pipe(TEXT).label in ("0", "1")
    assert pipe.predictor.predict(tiny_trees(1)[0]).label in ("0", "1")


def test_the_parser_of_the_package(package: Path) -> None:
    parser = lexitree.load("parser")
    assert isinstance(parser, NeuralParser)
    assert parser.parse(["It", "works", "."]).num_words == 3


@pytest.mark.parametrize(
    "settings", [{"parser": "builtin"}, {"backend": "reference"}, {"precision": "bfloat16"}, {"labels": 3}]
)
def test_what_a_parser_cannot_be_told(package: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="with a device only"):
        lexitree.load("parser", **settings)


def test_a_directory_reads_trees_and_with_a_parser_text(saved_model: Path, package: Path) -> None:
    assert isinstance(lexitree.load(saved_model), Predictor)
    assert isinstance(lexitree.load(str(saved_model)), Predictor)
    parser = RightBranching()
    pipe = lexitree.load(saved_model, parser=parser)
    assert pipe.parser is parser
    assert len(pipe(TEXT).sentences) == 1
    assert isinstance(lexitree.load(saved_model, parser="builtin").parser, NeuralParser)
    assert isinstance(lexitree.load(package / "sentiment"), Predictor)


def test_another_parser_for_a_model_of_the_package(package: Path) -> None:
    parser = RightBranching()
    assert lexitree.load("sentiment", parser=parser).parser is parser


def test_what_is_not_there_is_said(shipped_folder: Path, saved_model: Path) -> None:
    for name in ("sentiment", "sentiment-binary", "questions", "parser"):
        with pytest.raises(ModelFileError, match=f"{name}: does not come with this version"):
            lexitree.load(name)
    shutil.copytree(saved_model, shipped_folder / "sentiment")
    with pytest.raises(lexitree.LexitreeError, match="comes without a trained parser"):
        lexitree.load("sentiment")
    with pytest.raises((ParserError, lexitree.LexitreeError), match="unknown parser"):
        lexitree.load(saved_model, parser="magic")


def test_a_model_for_trees_needs_no_parser(shipped_folder: Path, saved_model: Path) -> None:
    shutil.copytree(saved_model, shipped_folder / "sentiment")
    assert isinstance(lexitree.load("sentiment", reads="trees"), Predictor)
    with pytest.raises(ConfigError, match="no parser of its own"):
        lexitree.load(saved_model, reads="text")


class Program(RightBranching):
    """A parser that holds something until it is closed."""

    is_closed = False

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *error: object) -> None:
        self.is_closed = True


def test_a_pipeline_closes_the_parser_that_was_opened_for_it(
    saved_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, opened = Program(), Program()
    monkeypatch.setattr(loading, "open_parser", lambda spec: opened)
    for parser in (own, "command:x"):
        with lexitree.load(saved_model, parser=parser) as pipe:
            assert len(pipe(TEXT)) == 1
    assert not own.is_closed
    assert opened.is_closed


def test_the_parser_gets_the_device_of_the_model(saved_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, dict[str, str]]] = []

    def open_parser(spec: str, **options: str) -> RightBranching:
        asked.append((spec, options))
        return RightBranching()

    monkeypatch.setattr(loading, "open_parser", open_parser)
    for spec in ("builtin:folder", "command:x"):
        lexitree.load(saved_model, parser=spec, device="cpu")
    assert asked == [("builtin:folder", {"device": "cpu"}), ("command:x", {})]


def test_each_config_is_read_once(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[str] = Counter()
    plain_open = io.open

    def count_and_open(file: Any, *arguments: Any, **options: Any) -> Any:
        read[str(file)] += str(file).endswith("config.json")
        return plain_open(file, *arguments, **options)

    shutil.copytree(package / "sentiment", package / "sentiment-binary")
    edit_config(package / "sentiment-binary", lambda values: values.update(weights_of="sentiment"))
    monkeypatch.setattr(io, "open", count_and_open)
    monkeypatch.setattr(builtins, "open", count_and_open)
    for name, folders in (
        ("sentiment", ["parser", "sentiment"]),
        ("sentiment-binary", ["parser", "sentiment", "sentiment-binary"]),
    ):
        read.clear()
        lexitree.load(name)
        assert {file: number for file, number in read.items() if number} == {
            str(package / folder / "config.json"): 1 for folder in folders
        }


def test_one_model_answers_with_five_labels_three_or_two(tmp_path: Path) -> None:
    names = dict(zip("01234", SENTIMENTS, strict=True))
    save_model(tiny_model(labels=tuple("01234"), label_names=names), tmp_path / "fine")

    def shares(number: int | None) -> dict[str, float]:
        pipe = lexitree.load(tmp_path / "fine", parser=RightBranching(), labels=number)
        document = pipe(TEXT)
        assert document.score == pytest.approx(document.sentences[0].score, abs=1e-5)
        assert document.label == max(document.probabilities, key=document.probabilities.__getitem__)
        return document.probabilities

    five, three, two = shares(5), shares(3), shares(2)
    assert five == shares(None)
    sides = {
        "negative": five["very negative"] + five["negative"],
        "neutral": five["neutral"],
        "positive": five["positive"] + five["very positive"],
    }
    assert three == pytest.approx(sides)
    polar = 1 - sides.pop("neutral")
    assert two == pytest.approx({side: share / polar for side, share in sides.items()})
    labeller = lexitree.Labeller(tmp_path / "fine", parser="builtin", labels=4)
    with pytest.raises(ConfigError, match="cannot answer with 4"):
        labeller({"text": [TEXT]})


@pytest.mark.slow
def test_the_shipped_model_of_two_labels_is_the_other_one_with_a_coarser_grain() -> None:
    two, five = lexitree.load("sentiment-binary"), lexitree.load("sentiment", labels=2)
    for text in ("Not a bad film.", "It broke after a day."):
        assert two(text).as_dict() == five(text).as_dict()
