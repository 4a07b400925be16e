"""The native kernels of the parser against PyTorch: the same states, scores and trees."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from lexitree.kernels import library
from lexitree.parsers import array_layers, best_trees, native_network, network
from lexitree.parsers.best_trees import BestTrees, find_best_trees
from lexitree.parsers.native_network import run_layer, runs_natively
from lexitree.parsers.network import SpanScorer
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.sentence_batch import SentenceBatch

pytestmark = pytest.mark.skipif(library.why_absent() is not None, reason=str(library.why_absent()))

LENGTHS = [9, 7, 7, 3, 1]


@pytest.fixture(params=library.supported_targets() or ["none"])
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The kernels for each kind of processor that this one can stand in for."""
    find = library.find_kernels
    monkeypatch.setattr(native_network, "find_kernels", lambda precision: find(precision, request.param))
    monkeypatch.setattr(native_network, "_packed", type(native_network._packed)())
    return request.param


@pytest.fixture
def without_kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    with monkeypatch.context() as patch:
        for module in (network, best_trees):
            patch.setattr(module, "runs_natively", lambda x: False)
        patch.setattr(array_layers, "runs_natively", lambda: False)
        yield patch


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("hidden", [1, 21])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_layer_gives_the_states_of_pytorch(hidden: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    layer = nn.LSTM(5, hidden, bidirectional=True).to(dtype)
    places = torch.tensor(LENGTHS)
    x = torch.randn(max(LENGTHS), len(LENGTHS), 5, dtype=dtype)
    packed = nn.utils.rnn.pack_padded_sequence(x, places)
    with torch.no_grad():
        expected, _ = nn.utils.rnn.pad_packed_sequence(layer(packed)[0])
        found = run_layer(layer, x, places)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12 if dtype == torch.float64 else 1e-6)


@pytest.mark.usefixtures("target")
def test_spans_have_the_scores_of_pytorch(
    torch_parser: NeuralParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    scorer = SpanScorer(torch_parser.model.config).double().eval()
    for weight in (scorer.bias, scorer.norm.weight, scorer.norm.bias):
        nn.init.normal_(weight)
    # More spans than are multiplied at once.
    states = torch.randn(max(LENGTHS) + 2, 5, 2 * torch_parser.model.config.hidden, dtype=torch.float64)
    with torch.no_grad():
        found = scorer(states)
        monkeypatch.setattr(network, "runs_natively", lambda x: False)
        torch.testing.assert_close(found, scorer(states), rtol=0, atol=1e-10)


def test_changed_weights_are_packed_again() -> None:
    layer = nn.LSTM(3, 4, bidirectional=True)
    x, places = torch.randn(2, 1, 3), torch.tensor([2])
    with torch.no_grad():
        before = run_layer(layer, x, places)
        assert native_network._packed_weights(layer) is native_network._packed_weights(layer)
        layer.weight_hh_l0_reverse.mul_(2)
        after = run_layer(layer, x, places)
        torch.testing.assert_close(after, layer(x)[0])
    assert not torch.equal(before, after)


def test_trained_weights_are_packed_again(torch_parser: NeuralParser) -> None:
    """A fused optimizer changes weights without telling anyone; training changes the mode."""
    model, sentences = copy.deepcopy(torch_parser.model), [["Who", "is", "she", "?"]]
    changed = NeuralParser(model)
    before = _scores(changed, sentences)
    model.train()
    for weight in model.encoder.layers.parameters():
        weight.data.mul_(2)
    after = _scores(NeuralParser(model), sentences)
    model.encoder.layers.load_state_dict(copy.deepcopy(model.encoder.layers.state_dict()))
    assert not torch.equal(before, after)
    assert torch.equal(_scores(changed, sentences), after)


def test_what_is_trained_is_left_to_pytorch() -> None:
    x = torch.zeros(1)
    assert not runs_natively(x)
    with torch.no_grad():
        assert runs_natively(x)
        assert not runs_natively(x.to(torch.bfloat16))
        assert not runs_natively(x.to("meta"))


@pytest.mark.usefixtures("target")
@pytest.mark.parametrize("num_labels", [2, 6])
def test_the_search_finds_the_trees_of_pytorch(num_labels: int, without_kernels: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    num_words, lengths = max(LENGTHS), torch.tensor(LENGTHS)
    scores = torch.randn(num_words * (num_words + 1) // 2, len(LENGTHS), num_labels)
    # Equal scores: the first of the best is taken, of splits as of labels.
    scores[:, 1] = scores[:, 1].round()
    expected = find_best_trees(scores, lengths)
    without_kernels.undo()
    found = find_best_trees(scores, lengths)
    assert torch.equal(found.scores, expected.scores)
    assert spans(found) == spans(expected)


def spans(trees: BestTrees) -> list[list[tuple[int, int, int]]]:
    return [trees.spans(number, length) for number, length in enumerate(LENGTHS)]


def test_a_parser_finds_the_same_trees_either_way(
    torch_parser: NeuralParser, without_kernels: pytest.MonkeyPatch
) -> None:
    parser = torch_parser
    sentences = [["Who", "is", "she", "?"], ["What"], ["Where", "is", "the", "capital", "of", "Peru", "?"]]
    expected, scores = list(parser.parse_all(sentences)), _scores(parser, sentences)
    without_kernels.undo()
    assert list(parser.parse_all(sentences)) == expected
    torch.testing.assert_close(_scores(parser, sentences), scores, rtol=1e-5, atol=1e-5)


def test_sentences_in_any_order_have_their_scores(torch_parser: NeuralParser) -> None:
    """The kernels read the longest first; others are left to PyTorch."""
    sentences = [["What"], ["Who", "is", "she", "?"]]
    words = _scores(torch_parser, sentences)[:1, 0], _scores(torch_parser, sentences[::-1])[:1, 1]
    torch.testing.assert_close(*words, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def _scores(parser: NeuralParser, sentences: list[list[str]]) -> Tensor:
    numbered = [parser.model.features.number(words) for words in sentences]
    return parser.model(SentenceBatch.of(numbered, [0] * len(sentences)))[0]
