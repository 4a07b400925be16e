"""Saved and loaded, a parser is the same; settings and vectors that do not fit are refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from lexitree.corpora.mini import load_mini_parses
from lexitree.errors import ConfigError, ModelFileError
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.parsers.network import ParserModel
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.parser_config import ParserConfig
from lexitree.parsers.saved_parser import load_parser
from lexitree.saving.model_kinds import save_model
from lexitree.tasks.parse.recipe import SMALL_SIZES
from tests.saving.edited_models import edit_config, seal

SENTENCES = [tree.words for tree in load_mini_parses()["dev"][:20]]


@pytest.fixture
def copy(saved_parser: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved_parser, tmp_path / "copy"))


def test_saved_and_loaded_it_gives_the_same_trees(parser: NeuralParser, tmp_path: Path) -> None:
    folder = save_model(parser, tmp_path / "again")
    loaded = load_parser(folder)
    assert list(loaded.parse_all(SENTENCES)) == list(parser.parse_all(SENTENCES))
    assert loaded.training_record == parser.training_record != {}


def test_tables_are_half_as_large_on_disk(saved_parser: Path) -> None:
    tensors = load_file(saved_parser / "model.safetensors")
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}


def test_vectors_in_bytes_are_half_as_large_again(tmp_path: Path) -> None:
    config = ParserConfig(labels=("S",), tags=("NN",), vector_size=6)
    model = ParserModel(config, Vocabulary(["a", "b"]), Vocabulary(["a"]))
    vectors = torch.randn(3, 6, generator=torch.Generator().manual_seed(1))
    model.set_vectors(vectors)
    folder = save_model(NeuralParser(model), tmp_path / "bytes", table="int8")
    assert load_file(folder / "vectors.safetensors")["vectors"].dtype == torch.int8
    found = load_parser(folder).model.vectors
    assert found.dtype == torch.float32
    assert ((found - vectors).abs() <= 0.51 * vectors.abs().amax(1, keepdim=True) / 127).all()


def test_a_parser_without_vectors_in_bytes(parser: NeuralParser, tmp_path: Path) -> None:
    loaded = load_parser(save_model(parser, tmp_path / "bytes", table="int8"))
    assert list(loaded.parse_all(SENTENCES)) == list(parser.parse_all(SENTENCES))


@pytest.mark.parametrize(
    "table", [{"vectors": torch.zeros(2, 2, dtype=torch.int8)}, {"vectors": torch.zeros(2, 2)}]
)
def test_vectors_in_another_form(copy: Path, table: dict[str, torch.Tensor]) -> None:
    save_file(table, copy / "vectors.safetensors")
    seal(copy)
    with pytest.raises(ModelFileError, match=r"vectors\.safetensors"):
        load_parser(copy)


def test_its_card_says_what_it_is(saved_parser: Path) -> None:
    card = (saved_parser / "README.md").read_text()
    assert "| treebanks | learned: 50 |" in card
    assert "styles: mini" in card


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"model": {"labels": ["S"], "tags": ["NN"]}}, "does not fit|do not belong"),
        ({"model": {"labels": "S", "tags": ["NN"]}}, "invalid settings for a parser"),
        ({"model": {"labels": ["S"], "tags": ["NN"], "dropout": "much"}}, "dropout must be"),
        ({"model": {"labels": ["S"], "tags": ["NN"], "default_style": "odd"}}, "no style"),
    ],
)
def test_a_config_that_cannot_be(copy: Path, change: dict[str, object], problem: str) -> None:
    edit_config(copy, lambda values: values.update(change))
    with pytest.raises(ModelFileError, match=problem):
        load_parser(copy)


def test_a_parser_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no such model"):
        load_parser(tmp_path / "nowhere" / "at" / "all")


def test_a_style_it_does_not_know(saved_parser: Path) -> None:
    with pytest.raises(ConfigError, match="odd"):
        load_parser(saved_parser, style="odd")


def test_a_small_parser_with_many_vectors_takes_fifteen_megabytes(tmp_path: Path) -> None:
    labels, tags = tuple(f"L{number}" for number in range(110)), tuple(f"T{number}" for number in range(47))
    config = ParserConfig(labels=labels, tags=tags, styles=("a", "b"), **SMALL_SIZES)
    vector_words = Vocabulary(f"word{number}" for number in range(51_000))
    trained_words = Vocabulary(f"word{number}" for number in range(10_600))
    folder = save_model(NeuralParser(ParserModel(config, vector_words, trained_words)), tmp_path / "small")
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 15_000_000
