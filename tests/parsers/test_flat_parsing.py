"""A batch in arrays has the trees that the parser gives one by one."""

from __future__ import annotations

import pytest
import torch

from lexitree.errors import CancelledError, NotFiniteError, TreeError
from lexitree.parsers.best_trees import best_labels, search_trees
from lexitree.parsers.host_search import search_on_host
from lexitree.parsers.neural import NeuralParser
from tests.parsers.random_parser import random_parser, random_sentences


def assert_same_parses(parser: NeuralParser, sentences: list[list[str]]) -> None:
    parses = parser.start_parses(sentences).result()
    assert parses.num_words.tolist() == list(map(len, sentences))
    expected = [best.tree for (best, *_) in parser.parse_all_k_best(sentences, 1)]
    found = [parses.sentence(number).tree(words) for number, words in enumerate(sentences)]
    assert found == expected


@pytest.mark.parametrize("number", [1, 2, 4, 5, 60])
def test_trees_are_those_of_single_sentences(number: int) -> None:
    assert_same_parses(random_parser(number), random_sentences(number, 17, seed=number))


def test_several_batches_of_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lexitree.parsers.flat_parsing.SPANS_AT_ONCE", {"cpu": 300})
    assert_same_parses(random_parser(), random_sentences(70, 20))


@pytest.mark.parametrize("labels", [(), ("NP", "VP")])
def test_pieces_of_long_sentences_are_joined(labels: tuple[str, ...]) -> None:
    parser = random_parser(max_words=4, labels=labels)
    # More pieces than are joined under one node, twice over.
    assert_same_parses(parser, [*random_sentences(9, 30), *random_sentences(1, 3)])
    for length in (256, 258, 262, 4 * 64 * 65):
        assert_same_parses(parser, [["a"] * length, ["film"]])


def test_nothing_is_nothing() -> None:
    parses = random_parser().start_parses([]).result()
    assert parses.num_sentences == len(parses.tags) == len(parses.phrase_label) == 0


def test_what_is_no_sentence_is_refused() -> None:
    with pytest.raises(TreeError, match="not an empty one"):
        random_parser().start_parses([["a"], []])


def test_damaged_weights_are_found_out() -> None:
    parser = random_parser()
    torch.nn.init.constant_(parser.model.spans.labels.bias, torch.nan)
    for number in (2, 9):
        with pytest.raises(NotFiniteError, match="not finite"):
            parser.start_parses(random_sentences(number, 5)).result()


def test_parsing_can_be_ended_between_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lexitree.parsers.flat_parsing.SPANS_AT_ONCE", {"cpu": 10})
    num_checks = 0

    def check() -> None:
        nonlocal num_checks
        num_checks += 1
        if num_checks == 3:
            raise CancelledError("enough")

    with pytest.raises(CancelledError):
        random_parser().start_parses(random_sentences(9, 9), check)


@pytest.mark.parametrize(("num_words", "num_trees"), [(1, 1), (2, 1), (9, 1), (13, 4)])
def test_the_host_finds_what_a_device_finds(num_words: int, num_trees: int) -> None:
    generator = torch.Generator().manual_seed(num_words)
    scores = torch.randn(num_words * (num_words + 1) // 2, num_trees, 5, generator=generator)
    expected, _ = search_trees(scores, torch.full((num_trees,), num_words))
    phrase_scores, labels = best_labels(scores)
    found = search_on_host(phrase_scores.numpy(), scores[:, :, 0].numpy(), labels.numpy())
    assert found.tolist() == expected.tolist()
