"""The network over NumPy arrays against the one in torch: the same scores and trees, and the same refusals."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lexitree.corpora.mini import load_mini_parses
from lexitree.errors import NotFiniteError
from lexitree.kernels import library
from lexitree.parsers import array_layers
from lexitree.parsers.array_network import ArrayParserNetwork
from lexitree.parsers.network import ParserModel
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.numbered_sentences import NumberedSentences, PaddedSentences
from lexitree.parsers.saved_parser import load_parser
from lexitree.parsers.sentence_batch import SentenceBatch
from lexitree.saving import shipped
from lexitree.saving.stored_arrays import StoredTable
from lexitree.trees.tree import Tree
from tests.command import environment
from tests.parsers.random_parser import WORDS, array_copy, random_parser, random_sentences

WAYS = ("numpy", *library.supported_targets())
SETTINGS: list[dict[str, Any]] = [
    {},
    {"layers": 2, "vector_size": 5, "hidden": 9, "span_size": 11},
    {"layers": 3, "hidden": 17, "span_size": 33, "affix_rows": 7},
]
QUESTIONS = [tree.words for tree in load_mini_parses()["dev"]]


@pytest.fixture(params=WAYS, autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """NumPy alone, and the kernels for each kind of processor that this one can stand in for."""
    find = library.find_kernels
    monkeypatch.setattr(array_layers, "runs_natively", lambda: request.param != "numpy")
    monkeypatch.setattr(array_layers, "find_kernels", lambda precision: find(precision, request.param))
    return request.param


def assert_same_trees(
    expected: NeuralParser, found: NeuralParser, sentences: Sequence[Sequence[str]]
) -> None:
    """Tree by tree and as flat arrays."""
    assert trees_found(found, sentences) == list(expected.parse_all(sentences))


def trees_found(parser: NeuralParser, sentences: Sequence[Sequence[str]]) -> list[Tree]:
    """The trees of sentences, which are the same by all its ways."""
    trees = list(parser.parse_all(sentences))
    assert list(parser.parse_all(sentences, read_ahead=1)) == trees
    parses = parser.start_parses(sentences).result()
    assert [parses.sentence(number).tree(words) for number, words in enumerate(sentences)] == trees
    return trees


def equally_good(parser: NeuralParser, words: Sequence[str]) -> list[Tree]:
    """The trees that are best but for rounding."""
    candidates = parser.parse_k_best(words, 20)
    return [each.tree for each in candidates if candidates[0].log_probability - each.log_probability < 1e-5]


@pytest.mark.parametrize("sizes", SETTINGS)
@pytest.mark.parametrize("number", [1, 2, 5, 60])
def test_trees_are_those_of_torch(sizes: dict[str, Any], number: int) -> None:
    parser = random_parser(number, **sizes)
    assert_same_trees(parser, array_copy(parser), random_sentences(number, 17, seed=number))


@given(st.lists(st.lists(st.sampled_from(WORDS) | st.text(max_size=9), min_size=1, max_size=12), max_size=7))
@example([["and", "G½¹4\x13\x99_\U000ad909\x1f", "-\U000d24b6\x9f«", "\x9d\U000f3490W8\x04\U000609370"]])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
def test_any_words_have_the_trees_of_torch(sentences: list[list[str]]) -> None:
    """The example has two best trees, and rounding chooses between them."""
    parser = random_parser(3, vector_size=4)
    expected, found = parser.parse_all(sentences), trees_found(array_copy(parser), sentences)
    for words, one, other in zip(sentences, expected, found, strict=True):
        assert one == other or other in equally_good(parser, words)


def test_one_word_and_long_sentences_that_are_cut() -> None:
    parser = random_parser(1, max_words=4)
    found = array_copy(parser)
    assert_same_trees(parser, found, [["film"]])
    assert_same_trees(parser, found, [["a"], *random_sentences(9, 30), ["good"], ["a"] * 300])


def test_styles_are_followed() -> None:
    parser = random_parser(2, styles=("one", "two"))
    trees: list[list[Any]] = []
    for style in ("", "one", "two"):
        styled = NeuralParser(parser.model, style=style)
        assert_same_trees(styled, array_copy(styled), random_sentences(8, 9))
        trees.append(list(styled.parse_all(random_sentences(8, 9))))
    assert trees[0] != trees[1] != trees[2]


def test_the_shipped_parser_has_the_trees_of_torch() -> None:
    """Also where rows are looked up in bytes, of a file."""
    expected, found = (load_parser("parser", device="cpu", library=name) for name in ("torch", "numpy"))
    sentences = [*QUESTIONS[:60], [word for words in QUESTIONS[:9] for word in words], ["Who"]]
    assert_same_trees(expected, found, sentences)


def padded(network: Any, sentences: Sequence[Sequence[str]], styles: Sequence[int] = ()) -> PaddedSentences:
    numbered = NumberedSentences.of(network.features, sentences)
    numbers = np.arange(len(sentences))
    return numbered.pad(numbers, np.array(styles or [0] * len(sentences)))


@torch.no_grad()
def scores_in_torch(parser: NeuralParser, batch: PaddedSentences) -> list[np.ndarray]:
    scores = parser.model.torch_network("A test")(SentenceBatch.send(batch))
    return [each.numpy() for each in scores]


@pytest.mark.parametrize("sizes", SETTINGS)
@pytest.mark.parametrize("lengths", [[1], [9, 7, 7, 3, 1], [3, 9, 1, 7, 9]])
def test_scores_are_those_of_torch_in_any_order(sizes: dict[str, Any], lengths: list[int]) -> None:
    parser = random_parser(5, styles=("one",), **sizes)
    sentences = [random_sentences(1, 1, seed=length)[0] * length for length in lengths]
    network = cast(ArrayParserNetwork, array_copy(parser).model)
    batch = padded(network, sentences, [number % 2 for number in range(len(lengths))])
    for found, expected in zip(network.score(batch), scores_in_torch(parser, batch), strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


def test_the_shipped_parser_has_the_scores_of_torch() -> None:
    expected, found = (load_parser("parser", device="cpu", library=name) for name in ("torch", "numpy"))
    batch = padded(found.model, sorted(QUESTIONS[:20], key=lambda words: -len(words)))
    network = cast(ArrayParserNetwork, found.model)
    for one, other in zip(network.score(batch), scores_in_torch(expected, batch), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)


def test_tables_stay_as_they_are_stored() -> None:
    network = cast(ArrayParserNetwork, load_parser("parser", device="cpu").model)
    tables = {name: network.weights[f"encoder.{name}.weight"].values for name in ("words", "affixes")}
    assert {each.dtype.name for each in tables.values()} == {"float16"}
    assert network.vectors.values.dtype == np.int8
    assert not any(each.flags.owndata for each in (*tables.values(), network.vectors.values))


def test_weights_and_words_are_counted() -> None:
    parser = random_parser(4, layers=2, vector_size=3)
    network, model = cast(ArrayParserNetwork, array_copy(parser).model), parser.model.torch_network("A test")
    assert network.num_parameters() == model.num_parameters()
    assert len(network.vectors) == len(model.vectors) == 6


def test_a_copy_gives_the_same_trees() -> None:
    parser = array_copy(random_parser(4, layers=2, vector_size=3))
    sentences = random_sentences(9, 12)
    trees = list(parser.parse_all(sentences))
    for other in (pickle.loads(pickle.dumps(parser)), copy.deepcopy(parser)):
        assert list(other.parse_all(sentences)) == trees


def test_a_pickle_holds_no_packed_weights() -> None:
    network = cast(ArrayParserNetwork, array_copy(random_parser(4)).model)
    tables = [*network.weights.values(), network.vectors]
    assert len(pickle.dumps(network)) < sum(table.values.nbytes for table in tables) + 8_000


def test_threads_share_a_parser() -> None:
    parser = array_copy(random_parser(6, layers=2))
    sentences = random_sentences(120, 14)
    expected = list(parser.parse_all(sentences))
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda each: list(parser.parse_all(each)), [sentences] * 8):
            assert found == expected


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("spans.labels.bias", torch.nan),
        ("spans.labels.bias", torch.inf),
        ("encoder.layers.0.weight_hh_l0", torch.nan),
        ("encoder.words.weight", torch.nan),
        # Infinite less infinite: of this, NumPy would warn.
        ("spans.bias", torch.inf),
    ],
)
@pytest.mark.filterwarnings("error")
def test_damaged_weights_are_found_out(name: str, damage: float) -> None:
    parser = random_parser()
    parser.model.torch_network("A test").state_dict()[name].fill_(damage)
    damaged = array_copy(parser)
    for number in (2, 9):
        with pytest.raises(NotFiniteError, match="not finite"):
            damaged.start_parses(random_sentences(number, 5)).result()
    with pytest.raises(NotFiniteError, match="not finite"):
        damaged.parse(["a", "film"])


def build(network: ArrayParserNetwork, weights: dict[str, StoredTable]) -> ArrayParserNetwork:
    words = network.features.vector_words, network.features.trained_words
    return ArrayParserNetwork(network.config, *words, weights, network.vectors)


def test_weights_of_another_parser_are_refused() -> None:
    network = cast(ArrayParserNetwork, array_copy(random_parser()).model)
    weights = dict(network.weights)
    with pytest.raises(ValueError, match=r"missing or unknown weights: tags\.bias$"):
        build(network, {name: table for name, table in weights.items() if name != "tags.bias"})
    with pytest.raises(ValueError, match="missing or unknown weights: other"):
        build(network, {**weights, "other": weights["tags.bias"]})
    for name in weights:
        shape = (*weights[name].shape[:-1], weights[name].shape[-1] + 1)
        with pytest.raises(ValueError, match=f"{name} has the shape"):
            build(network, {**weights, name: StoredTable(np.zeros(shape, np.float32))})


def test_several_trees_are_those_of_torch() -> None:
    parser = random_parser(7)
    found = array_copy(parser)
    for words in random_sentences(5, 9):
        candidates, expected = found.parse_k_best(words, 4), parser.parse_k_best(words, 4)
        assert [each.tree for each in candidates] == [each.tree for each in expected]
        assert [each.log_probability for each in candidates] == pytest.approx(
            [each.log_probability for each in expected], abs=1e-4
        )
        assert candidates[0].tree == found.parse(words)


def test_the_network_in_torch_is_built_once() -> None:
    network = cast(ArrayParserNetwork, array_copy(random_parser(7)).model)
    with ThreadPoolExecutor(4) as pool:
        built = list(pool.map(lambda _: network.torch_network("A test"), range(8)))
    assert isinstance(built[0], ParserModel)
    assert all(each is built[0] for each in built)
    assert built[0].torch_network("A test") is built[0]


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
from pathlib import Path
from lexitree.errors import MissingExtraError
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.parsers import array_layers
from lexitree.parsers.adapters import open_parser
from lexitree.parsers.array_network import ArrayParserNetwork
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.parser_config import ParserConfig
from lexitree.saving.stored_arrays import read_stored_arrays, stored_tables
from lexitree.trees.brackets import tree_to_brackets
import json

if sys.argv[2] == "numpy":
    array_layers.runs_natively = lambda: False
folder = Path(sys.argv[1])
config = ParserConfig.from_dict(json.loads((folder / "config.json").read_text())["model"])
words = [
    Vocabulary.from_json((folder / name).read_bytes(), folder / name)
    for name in ("vocabulary.json", "trained_words.json")
]
weights, vectors = (
    stored_tables(read_stored_arrays(folder / name), "int8") for name in ("model.safetensors", "vectors.safetensors")
)
parser = NeuralParser(ArrayParserNetwork(config, *words, weights, vectors["vectors"]))
for tree in parser.parse_all([["It", "works", "."], ["Who", "is", "she", "?"]]):
    print(tree_to_brackets(tree))
try:
    parser.parse_k_best(["It", "works"], 2)
except MissingExtraError as error:
    print(error)
"""


def test_it_needs_no_torch(way: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, str(shipped.FOLDER / "parser"), way],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.stderr == ""
    first, second, problem, remedy = done.stdout.splitlines()
    assert first == "(S (NP (PRP It)) (VP (VBZ works)) (. .))"
    assert second.startswith("(SBARQ (WHNP (WP Who))")
    assert (
        problem == "Finding several trees for a sentence needs the package 'torch', which is not installed."
    )
    assert "[train]" in remedy
