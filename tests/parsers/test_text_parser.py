"""Raw text to trees: sentences and tokens lie where they were, whatever the parser, and errors come in their turn."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.errors import ConfigError, LimitError, TextError, TreeError
from lexitree.limits import Limits
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.text_parser import TextParser
from lexitree.text import TokenizedText
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.jsonl import tree_from_json
from tests.pipeline.stubs import Penn, ReadsAhead, RightBranching
from tests.saving.edited_models import tiny_parser

TEXT = "The film isn't (very) good.  Not bad!"


@pytest.fixture(scope="module")
def neural() -> NeuralParser:
    return tiny_parser()


def test_a_loaded_parser_takes_text(neural: NeuralParser) -> None:
    parsed = neural(TEXT)
    assert (parsed.text, str(parsed), len(parsed)) == (TEXT, TEXT, 2)
    first, second = parsed.sentences
    assert (first.text, second.text) == ("The film isn't (very) good.", "Not bad!")
    assert first.tree.words == ("The", "film", "is", "n't", "-LRB-", "very", "-RRB-", "good", ".")
    assert parsed.trees == (neural.parse(first.tree.words), neural.parse(second.tree.words))
    assert first.log_probabilities == ()
    assert [tree_from_brackets(line) for line in parsed.brackets()] == list(parsed.trees)
    assert parsed.svg().startswith("<svg")
    assert parsed._repr_svg_() == parsed.svg()
    assert len(list(parsed.draw())) == sum(tree.num_nodes + 1 for tree in parsed.trees)


def test_the_best_trees_have_their_probabilities(neural: NeuralParser) -> None:
    [sentence] = neural("Not bad, either!", k=3).sentences
    assert len(set(sentence.trees)) == len(sentence.log_probabilities) == 3
    assert list(sentence.log_probabilities) == sorted(sentence.log_probabilities, reverse=True)
    assert sentence.tree == neural("Not bad, either!").trees[0]
    values = json.loads(json.dumps(sentence.as_dict()))
    assert [tree_from_json(parse) for parse in values["parses"]] == list(sentence.trees)


@given(st.lists(st.text(st.sampled_from("a b.!(\n "), max_size=12), max_size=6), st.integers(1, 5))
@settings(max_examples=50)
def test_texts_keep_their_order_however_far_the_parser_reads_ahead(texts: list[str], size: int) -> None:
    parsed = list(TextParser(ReadsAhead(size)).stream(texts))
    assert [each.text for each in parsed] == texts
    assert [each.brackets() for each in parsed] == [
        TextParser(RightBranching())(text).brackets() for text in texts
    ]
    for each in parsed:
        for sentence in each.sentences:
            values = sentence.as_dict()
            assert each.text[values["start"] : values["end"]] == values["text"] == sentence.text
            assert all(
                each.text[token["start"] : token["end"]] == token["text"] for token in values["tokens"]
            )
            assert tree_from_json(values) == sentence.tree


def test_tokenized_text_is_one_sentence_of_its_tokens() -> None:
    [sentence] = TextParser(Penn(), layout="tokens")(" It is n't . So\tbe\u00a0it ").sentences
    assert sentence.tree.words == ("It", "is", "n't", ".", "So", "be\u00a0it")
    assert sentence.start == 1
    assert len(TextParser(Penn(), layout="tokens")(" ")) == 0
    assert len(TextParser(Penn(), layout="one")("It is. So be it.")) == 1


def test_a_text_keeps_the_tokens_that_it_comes_with() -> None:
    text = TokenizedText.from_spans("Not bad. Good!", [[(0, 7)], [(9, 13), (13, 14)]])
    for parsed in (TextParser(RightBranching())(text), *TextParser(RightBranching()).stream([text])):
        assert parsed.text == "Not bad. Good!"
        assert [tree.words for tree in parsed.trees] == [("Not bad",), ("Good", "!")]


def test_texts_that_are_refused() -> None:
    parser = TextParser(RightBranching(), limits=Limits(words=3))
    with pytest.raises(LimitError, match="the text has 4 words"):
        parser("a b c d")
    with pytest.raises(TextError, match="the text is not a string but of type list"):
        parser(["a"])  # pyright: ignore[reportArgumentType]
    texts = ["a", "a b c d", "", "b"]
    stream = parser.stream(texts)
    assert next(stream).text == "a"
    with pytest.raises(LimitError, match="text 1 has 4 words"):
        next(stream)
    assert [each.text for each in parser.stream(texts, on_error="skip")] == ["a", "", "b"]
    returned = [type(each).__name__ for each in parser.stream(texts, on_error="return")]
    assert returned == ["ParsedText", "LimitError", "ParsedText", "ParsedText"]
    [cut] = TextParser(RightBranching(), limits=Limits(words=3, beyond="cut")).stream(["a b c d"])
    assert cut.notes


def test_parsers_that_do_not_fit() -> None:
    with pytest.raises(ConfigError, match="one tree for each sentence"):
        TextParser(RightBranching())("a", k=2)

    class Odd(RightBranching):
        def __init__(self, *trees: str) -> None:
            self.trees = trees

        def parse_all(self, sentences: object) -> object:  # pyright: ignore[reportIncompatibleMethodOverride]
            list(sentences)  # pyright: ignore
            return map(tree_from_brackets, self.trees)

    for trees, problem in [
        ((), "fewer trees"),
        (("(A a)", "(B b)"), "more trees"),
        (("(A (A a) (B b))",), "2 words"),
    ]:
        with pytest.raises(TreeError, match=problem):
            list(TextParser(Odd(*trees)).stream(["a"]))
    # However the parser spells the words, the tree has those of the sentence.
    assert TextParser(Odd("(A x)"))("a").brackets() == ["(A a)"]
