from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence

import pytest

from lexitree.errors import ParseMismatchError, ParseRefusedError, ParserError
from lexitree.parsers.adapters import adapter as adapter_module
from lexitree.parsers.adapters.adapter import Adapter, Sentence, number_sentences
from lexitree.parsers.penn_spans import without_root
from lexitree.trees.brackets import tree_from_brackets, tree_to_brackets
from lexitree.trees.tree import Tree


class Silent(Adapter):
    """Never has a tree."""

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        for sentence in number_sentences(sentences):
            yield self.refuse(sentence, "no time")


def sentence_of(text: str) -> Sentence:
    return next(number_sentences([text.split()]))


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("(ROOT (S (NN a) (NN b)))", "(S (NN a) (NN b))"),
        ("(TOP (S1 (NN a)))", "(NN a)"),
        ("(ROOT (NN a) (NN b))", "(ROOT (NN a) (NN b))"),
        ("(S (VP (NN a) (NN b)))", "(S (VP (NN a) (NN b)))"),
        ("(ROOT a)", "(ROOT a)"),
    ],
)
def test_a_root_bracket_is_no_phrase(text: str, stripped: str) -> None:
    assert tree_to_brackets(without_root(tree_from_brackets(text))) == stripped


def test_a_tree_gets_the_words_of_its_sentence() -> None:
    tree = Silent("p").accept(sentence_of('( "'), tree_from_brackets("(ROOT (X (-LRB- -LRB-) (`` ``)))"))
    assert tree.words == ("(", '"')
    assert tree.labels == ("X", "-LRB-", "``")


def test_a_tree_of_other_words_is_an_error_that_shows_both() -> None:
    with pytest.raises(ParseMismatchError) as caught:
        Silent("p").accept(sentence_of("a b"), tree_from_brackets("(X (Y a) (Y c) (Y d))"))
    message = str(caught.value)
    assert "sentence 1" in message
    assert "sentence: a b" in message
    assert "tree:     a c d" in message
    assert "2 sent, 3 returned" in message


def test_a_refused_sentence_is_an_error() -> None:
    with pytest.raises(
        ParseRefusedError, match=r"p returns no tree for sentence 1 \(a b\): no time"
    ) as caught:
        list(Silent("p").parse_all([["a", "b"]]))
    assert "on_refused='flat'" in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_refused_sentences_become_flat_trees_that_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter_module, "MAX_LISTED_REFUSALS", 2)
    with Silent("p", on_refused="flat") as parser:
        trees = list(parser.parse_all([["a", "b"], ["c"], ["d"]]))
    assert [tree_to_brackets(tree) for tree in trees] == ["(X (_ a) (_ b))", "(X c)", "(X d)"]
    assert parser.report.num_refused == parser.report.num_sentences == 3
    assert [refusal.number for refusal in parser.report.refused] == [1, 2]
    assert str(parser.report) == "3 sentences, 3 without a parse, left flat"


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (["a text"], "sentence 1 is a string"),
        ([["a"], []], "sentence 2 cannot be parsed: it has no words"),
        ([["a", ""]], "its word 2 is empty"),
        ([["\ud800"]], "cannot be encoded"),
    ],
)
def test_what_no_parser_can_read_is_refused(sentences: list[Sequence[str]], message: str) -> None:
    with pytest.raises(ParserError, match=message):
        list(Silent("p", on_refused="flat").parse_all(sentences))


def test_a_spelling_keeps_the_number_of_words() -> None:
    with pytest.raises(ParserError, match="turns the 2 words of sentence 1 into 1"):
        next(number_sentences([["a", "b"]], lambda words: ["".join(words)]))
