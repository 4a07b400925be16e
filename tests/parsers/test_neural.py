"""The parser: what it learned, batches and streams, odd sentences, long ones, and the k best."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from lexitree.corpora.mini import load_mini_parses
from lexitree.errors import CancelledError, ConfigError, NotFiniteError, TreeError
from lexitree.parsers.chart import log_partition, sum_labels
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.penn_spans import derive, without_root
from lexitree.parsers.protocol import Parser
from lexitree.parsers.sentence_batch import SentenceBatch
from lexitree.tasks.parse.run import ParserRun
from lexitree.tasks.parse.task import score_parser
from lexitree.trees.brackets import tree_to_brackets
from lexitree.trees.tree import Tree

LEARNED = [without_root(tree) for tree in load_mini_parses()["train"][:50]]


def test_it_learns_fifty_questions(parser: NeuralParser, parser_run: ParserRun) -> None:
    scores = score_parser(parser, LEARNED, k=4)
    assert scores.brackets.f1 > 0.99
    assert scores.brackets.overall.tagging_accuracy > 0.99
    assert scores.oracle is not None
    assert scores.oracle.f1 >= scores.brackets.f1
    assert parser_run.best.scores["dev_f1"] > 0.99


def test_it_is_a_parser(parser: NeuralParser) -> None:
    used: Parser = parser
    (tree,) = used.parse_all([("Who", "is", "she", "?")])
    assert tree.words == ("Who", "is", "she", "?")
    assert all(tree.labels)


def test_parsing_can_be_ended_between_the_batches_of_a_sentence(parser: NeuralParser) -> None:
    words = ["Who", "is", "she", "?"] * 200
    num_checks = 0

    def check() -> None:
        nonlocal num_checks
        num_checks += 1
        if num_checks == 3:
            raise CancelledError("enough")

    with pytest.raises(CancelledError):
        parser.start_parses([words], check)


def test_a_batch_gives_the_trees_of_its_sentences(parser: NeuralParser) -> None:
    sentences = [tree.words for tree in LEARNED[:12]] + [("What", "?"), ("Who",)]
    together = list(parser.parse_all(sentences))
    assert together == [parser.parse(words) for words in sentences]
    assert together == list(parser.parse_all(sentences, read_ahead=3))


def test_padding_changes_no_score(torch_parser: NeuralParser) -> None:
    model = torch_parser.model
    numbered = [model.features.number(words) for words in (["Who", "is", "she"], ["a"] * 9)]
    with torch.no_grad():
        alone, alone_tags = model(SentenceBatch.of(numbered[:1], [0]))
        padded, padded_tags = model(SentenceBatch.of(numbered, [0, 0]))
    torch.testing.assert_close(padded_tags[:3, :1], alone_tags)
    # The three words are the first rows of both charts, and their pairs begin the next width.
    torch.testing.assert_close(padded[:3, :1], alone[:3])
    torch.testing.assert_close(padded[9:11, :1], alone[3:5])


def test_trees_come_as_a_stream(parser: NeuralParser) -> None:
    endless = itertools.repeat(["Who", "is", "she", "?"])
    trees = parser.parse_all(endless, read_ahead=4)
    assert len({next(trees) for _ in range(9)}) == 1


def test_no_sentences_give_no_trees(parser: NeuralParser) -> None:
    assert list(parser.parse_all([])) == []
    assert list(parser.parse_all_k_best([], 3)) == []


@pytest.mark.parametrize(
    "words",
    [
        ["Who"],
        [""],
        ["two words", "a\tb", "\u2028"],
        ["(", ")", "-LRB-", "[", "}"],
        ["\u4f60\u597d", "\u0645\u0631\u062d\u0628\u0627", "\U0001f600", "e\u0301"],
        ["x" * 5000, "?"],
        ["\x02", "\x03", "<unk>"],
    ],
)
def test_odd_words(parser: NeuralParser, words: list[str]) -> None:
    assert parser.parse(words).words == tuple(words)
    assert parser.parse_k_best(words, 2)[0].tree == parser.parse(words)


@pytest.mark.parametrize("words", [[], "a text"])
def test_what_is_no_list_of_words_is_an_error(parser: NeuralParser, words: list[str]) -> None:
    with pytest.raises(TreeError, match="list of words"):
        parser.parse(words)


def test_five_thousand_words(parser: NeuralParser) -> None:
    words = [word for tree in LEARNED for word in tree.words] * 20
    words = words[:5000]
    tree = parser.parse(words)
    assert tree.words == tuple(words)
    assert tree.label == "S"
    assert 20 <= tree.arity[0] <= 40


def test_the_k_best_of_a_cut_sentence(parser: NeuralParser) -> None:
    words = [word for tree in LEARNED for word in tree.words][:300]
    candidates = parser.parse_k_best(words, 5)
    assert len({candidate.tree for candidate in candidates}) == 5
    chances = [candidate.log_probability for candidate in candidates]
    assert chances == sorted(chances, reverse=True)
    assert candidates[0].tree == parser.parse(words)


def test_the_k_best_are_distinct_and_their_probabilities_right(parser: NeuralParser) -> None:
    words = LEARNED[0].words[:6]
    candidates = parser.parse_k_best(words, 10)
    assert len({candidate.tree for candidate in candidates}) == 10
    assert sum(math.exp(candidate.log_probability) for candidate in candidates) <= 1 + 1e-4
    for candidate in candidates:
        expected = tree_log_probability(parser, candidate.tree)
        assert candidate.log_probability == pytest.approx(expected, abs=2e-3)


def tree_log_probability(parser: NeuralParser, tree: Tree) -> float:
    """The score of a tree's own derivation, less that of all trees."""
    batch = SentenceBatch.of([parser.model.features.number(tree.words)], [0])
    with torch.no_grad():
        scores, _ = parser.model.torch_network("A test")(batch)
    starts, widths, labels = (
        torch.from_numpy(array).long() for array in derive(tree, parser.model.config.label_numbers)
    )
    size = tree.num_words
    rows = (widths - 1) * size - (widths - 1) * (widths - 2) // 2 + starts
    total = log_partition(*sum_labels(scores, size), batch.lengths)
    return float(scores[rows, 0, labels].sum() - total)


def test_one_word_has_as_many_trees_as_labels(parser: NeuralParser) -> None:
    candidates = parser.parse_k_best(["Who"], 500)
    assert len(candidates) == len(parser.model.config.labels) + 1
    assert sum(math.exp(candidate.log_probability) for candidate in candidates) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("k", [0, 1001])
def test_k_has_its_limits(parser: NeuralParser, k: int) -> None:
    with pytest.raises(ConfigError, match="k must be"):
        parser.parse_k_best(["a"], k)


def test_a_style_can_be_chosen(parser: NeuralParser) -> None:
    assert parser.style == ""
    styled = NeuralParser(parser.model, style="mini")
    assert score_parser(styled, LEARNED).brackets.f1 > 0.99
    with pytest.raises(ConfigError, match="It knows: mini"):
        NeuralParser(parser.model, style="other")


def test_scores_that_are_no_numbers_are_an_error(torch_parser: NeuralParser) -> None:
    with torch.no_grad():
        torch_parser.model.spans.bias.fill_(math.nan)
    for parse in (torch_parser.parse, lambda words: torch_parser.parse_k_best(words, 2)):
        with pytest.raises(NotFiniteError):
            parse(["a", "b"])


def test_trees_can_be_written(parser: NeuralParser) -> None:
    assert tree_to_brackets(parser.parse(LEARNED[3].words)) == tree_to_brackets(LEARNED[3])
