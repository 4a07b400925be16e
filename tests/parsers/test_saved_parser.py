"""Saved and loaded, a parser is the same; settings and vectors that do not fit are refused."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from lexitree.corpora.mini import load_mini_parses
from lexitree.errors import ConfigError, MissingExtraError, ModelFileError
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.parsers.array_network import ArrayParserNetwork
from lexitree.parsers.network import ParserModel
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.parser_config import ParserConfig
from lexitree.parsers.saved_parser import Library, load_parser, read_network
from lexitree.saving.model_folder import ModelFolder
from lexitree.saving.model_kinds import load_model, save_model
from lexitree.tasks.parse.recipe import SMALL_SIZES
from tests.command import files_of
from tests.saving.edited_models import edit_config, edit_weights, seal

SENTENCES = [tree.words for tree in load_mini_parses()["dev"][:20]]


@pytest.fixture
def copy(saved_parser: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved_parser, tmp_path / "copy"))


def test_saved_and_loaded_it_gives_the_same_trees(parser: NeuralParser, tmp_path: Path) -> None:
    folder = save_model(parser, tmp_path / "again")
    loaded = load_parser(folder)
    assert list(loaded.parse_all(SENTENCES)) == list(parser.parse_all(SENTENCES))
    assert loaded.training_record == parser.training_record != {}


def test_a_cpu_computes_with_numpy_unless_torch_is_asked_for(saved_parser: Path) -> None:
    for device in ("auto", "cpu", torch.device("cpu")):
        assert isinstance(load_parser(saved_parser, device=device).model, ArrayParserNetwork)
        assert isinstance(load_parser(saved_parser, device=device, library="torch").model, ParserModel)
    assert isinstance(load_model(saved_parser).model, ArrayParserNetwork)
    assert isinstance(load_model(saved_parser, library="torch").model, ParserModel)
    with pytest.raises(ConfigError, match="NumPy computes on a CPU, not on 'cuda:0'"):
        read_network(ModelFolder.find(saved_parser), "cuda:0", "numpy")


@pytest.mark.parametrize("device", ["cuda", "auto", "cpu"])
def test_without_torch_there_is_the_cpu_only(
    saved_parser: Path, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = list(load_parser(saved_parser).parse_all(SENTENCES))
    monkeypatch.setitem(sys.modules, "torch", None)
    if device == "cuda":
        with pytest.raises(MissingExtraError, match=r"The device 'cuda' needs the package 'torch'"):
            load_parser(saved_parser, device=device)
        return
    assert list(load_parser(saved_parser, device=device).parse_all(SENTENCES)) == expected
    with pytest.raises(MissingExtraError, match=r"A parser in torch needs[^\0]*\[train\]"):
        load_parser(saved_parser, device=device, library="torch")


def test_over_arrays_it_is_saved_as_it_was(saved_parser: Path, tmp_path: Path) -> None:
    parser = load_parser(saved_parser)
    assert isinstance(parser.model, ArrayParserNetwork)
    assert files_of(save_model(parser, tmp_path / "again")) == files_of(saved_parser)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_weights_that_do_not_fit(copy: Path, library: Library) -> None:
    edit_weights(copy, lambda tensors: tensors.update({"tags.bias": torch.zeros(1).half()}))
    with pytest.raises(ModelFileError, match=r"model\.safetensors does not fit config\.json"):
        load_parser(copy, library=library)
    edit_weights(copy, lambda tensors: tensors.pop("tags.bias"))
    with pytest.raises(ModelFileError, match=r"missing or unknown weights: tags\.bias"):
        load_parser(copy, library=library)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_vectors_of_another_size(copy: Path, library: Library) -> None:
    edit_weights(
        copy, lambda tensors: tensors.update(vectors=torch.zeros(1, 3).half()), "vectors.safetensors"
    )
    with pytest.raises(ModelFileError, match="do not belong together"):
        load_parser(copy, library=library)


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
    found = load_parser(folder, library="torch").model.torch_network("A test").vectors
    assert found.dtype == torch.float32
    assert ((found - vectors).abs() <= 0.51 * vectors.abs().amax(1, keepdim=True) / 127).all()


def test_a_parser_without_vectors_in_bytes(parser: NeuralParser, tmp_path: Path) -> None:
    loaded = load_parser(save_model(parser, tmp_path / "bytes", table="int8"))
    assert list(loaded.parse_all(SENTENCES)) == list(parser.parse_all(SENTENCES))


@pytest.mark.parametrize(
    "table", [{"vectors": torch.zeros(2, 2, dtype=torch.int8)}, {"vectors": torch.zeros(2, 2)}]
)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_vectors_in_another_form(copy: Path, table: dict[str, torch.Tensor], library: Library) -> None:
    save_file(table, copy / "vectors.safetensors")
    seal(copy)
    with pytest.raises(ModelFileError, match=r"vectors\.safetensors"):
        load_parser(copy, library=library)


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
