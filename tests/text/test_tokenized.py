"""Texts that come with their tokens: forms as the tokenizer gives them, whatever stands around the sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.errors import TextError
from lexitree.text import TokenizedText, split_sentences

SIGNS = st.sampled_from(['"', "'", "’", "“", "”", "``", "''", "(", ")", ".", "…", "a", "n't", "and/or", "—"])
SPACES = st.sampled_from(["", " ", "\n\n", "\t"])
WRITTEN = st.lists(st.tuples(SIGNS, SPACES), min_size=1, max_size=8)


def spans_of(written: list[tuple[str, str]], offset: int = 0) -> tuple[str, list[tuple[int, int]]]:
    """The text of some tokens with white space after each, and where they are."""
    spans: list[tuple[int, int]] = []
    text = ""
    for token, space in written:
        spans.append((offset + len(text), offset + len(text) + len(token)))
        text += token + space
    return text, spans


@pytest.mark.parametrize(
    "text",
    [
        'He didn\'t say "and/or" (twice).',
        "“It’s 5” tall — really…”",
        "The dogs' 'best' friend -- it's \"hers\".",
        "``Fine'', she said [sic].",
    ],
)
def test_forms_are_those_of_the_tokenizer(text: str) -> None:
    (expected,) = split_sentences(text, "one")
    spans = [(token.start, token.end) for token in expected.tokens]
    assert TokenizedText.from_spans(text, [spans]).sentences == (expected,)


@given(WRITTEN, WRITTEN, WRITTEN)
def test_forms_do_not_depend_on_other_sentences(
    before: list[tuple[str, str]], written: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    alone_text, alone_spans = spans_of(written)
    alone = TokenizedText.from_spans(alone_text, [alone_spans]).sentences[0]
    first, first_spans = spans_of(before)
    middle, spans = spans_of(written, len(first))
    last, last_spans = spans_of(after, len(first) + len(middle))
    together = TokenizedText.from_spans(first + middle + last, [first_spans, spans, last_spans])
    assert together.sentences[1].forms == alone.forms


def test_white_space_is_no_token() -> None:
    text = " \n Not  bad \n"
    found = TokenizedText.from_spans(text, [[(0, 3)], [(3, 6), (6, 8), (7, 11), (11, 13)], []])
    assert [[token.text for token in sentence.tokens] for sentence in found.sentences] == [["Not", "bad"]]
    assert [text[token.start : token.end] for token in found.sentences[0].tokens] == ["Not", "bad"]
    assert TokenizedText.from_spans("", []).sentences == ()


@pytest.mark.parametrize(
    "sentences", [[[(0, 3)], [(2, 5)]], [[(4, 5), (0, 3)]], [[(0, 9)]], [[(-1, 2)]], [[(3, 2)]]]
)
def test_tokens_out_of_place_are_refused(sentences: list[list[tuple[int, int]]]) -> None:
    with pytest.raises(TextError, match="token"):
        TokenizedText.from_spans("Not bad", sentences)


def test_the_beginning_of_a_text_has_whole_tokens() -> None:
    text = TokenizedText.from_spans("Not bad. Fine.", [[(0, 3), (4, 7), (7, 8)], [(9, 13), (13, 14)]])
    assert [len(tokens) for tokens in text.tokens_within(text.text)] == [3, 2]
    assert [[token.text for token in tokens] for tokens in text.tokens_within("Not b")] == [["Not"]]
    assert text.tokens_within("") == []
