"""Texts within limits: refused before they are parsed, or cut into pieces that lie where they were in the text."""

from __future__ import annotations

from typing import Any

import pytest

from lexitree.errors import LimitError, TextError
from lexitree.limits import Limits
from lexitree.text.bounded_text import SplitText, split_within
from lexitree.text.sentences import split_tokens
from tests.pipeline.stubs import RightBranching, tiny_pipeline

TEXT = "The film is good, the plot is bad. A supercalifragilistic ending. It is over."


def split(text: object, limits: Limits) -> SplitText:
    return split_within(text, split_tokens, limits, 3)


def texts_of(found: SplitText) -> list[str]:
    return [" ".join(token.text for token in tokens) for tokens in found.sentences]


@pytest.mark.parametrize(
    ("limit", "amount"),
    [("characters", 77), ("words", 18), ("sentence_words", 10), ("token_characters", 20), ("phrases", 33)],
)
def test_a_text_at_the_limit_passes_and_one_beyond_is_refused(limit: str, amount: int) -> None:
    at_limit: dict[str, Any] = {limit: amount}
    assert split(TEXT, Limits(**at_limit)).notes == ()
    with pytest.raises(LimitError) as caught:
        split(TEXT, Limits(**{limit: amount - 1}))
    error = caught.value
    assert (error.limit, error.amount, error.allowed, error.number) == (limit, amount, amount - 1, 3)
    assert str(error).startswith(f"text 3 has {amount} ")
    assert "'The film is good" in str(error)


def test_what_is_beyond_a_limit_costs_nothing() -> None:
    parser = RightBranching()
    pipe = tiny_pipeline(parser=parser, limits=Limits(words=3))
    with pytest.raises(LimitError, match="the text has 18 words"):
        pipe(TEXT)
    with pytest.raises(LimitError, match="text 0 has 18 words"):
        list(pipe.stream([TEXT]))
    assert parser.num_sentences == 0
    assert len(pipe(TEXT, limits=Limits())) == 3


def test_long_sentences_are_cut_after_punctuation() -> None:
    found = split(TEXT, Limits(sentence_words=6, beyond="cut"))
    assert texts_of(found)[:2] == ["The film is good ,", "the plot is bad ."]
    assert found.notes == ("sentences of more than 6 words were cut into pieces",)


def test_long_tokens_are_cut_where_they_stand() -> None:
    found = split(TEXT, Limits(token_characters=8, beyond="cut"))
    assert texts_of(found)[1] == "A supercal ifragili stic ending ."
    assert all(TEXT[token.start : token.end] == token.text for tokens in found.sentences for token in tokens)
    assert found.notes == ("tokens of more than 8 characters were cut into pieces",)


@pytest.mark.parametrize(
    ("limits", "num_sentences", "end"),
    [
        (Limits(words=14, beyond="cut"), 2, 65),
        (Limits(phrases=26, beyond="cut"), 2, 65),
        (Limits(characters=70, beyond="cut"), 3, 68),
        (Limits(characters=2, beyond="cut"), 1, 2),
    ],
)
def test_a_long_text_ends_after_what_fits(limits: Limits, num_sentences: int, end: int) -> None:
    found = split(TEXT, limits)
    assert len(found.sentences) == num_sentences
    assert found.notes == (f"only the first {end} of 77 characters were labelled",)


def test_blank_text_can_be_cut() -> None:
    assert split(" " * 9, Limits(characters=3, beyond="cut")).sentences == []


def test_a_document_says_that_it_was_cut() -> None:
    document = tiny_pipeline()(TEXT, limits=Limits(words=14, beyond="cut"))
    assert document.text == TEXT
    assert len(document) == 2
    assert document.as_dict()["notes"] == ["only the first 65 of 77 characters were labelled"]
    assert "notes" not in tiny_pipeline()(TEXT).as_dict()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "text 3 is not a string but of type NoneType"),
        (b"bytes", "text 3 is not a string but of type bytes"),
        ("x" * 100 + "\udc80", r"half of a surrogate pair at character 100: …'x{20}\\udc80'$"),
    ],
)
def test_what_is_no_text_is_refused(text: object, problem: str) -> None:
    with pytest.raises(TextError, match=problem.replace("'$", "'\n")):
        split(text, Limits())


@pytest.mark.parametrize("limits", [Limits(words=6, beyond="cut"), Limits(phrases=12, beyond="cut")])
def test_some_of_a_text_is_labelled_though_its_first_sentence_is_too_long(limits: Limits) -> None:
    found = split(TEXT, limits)
    assert texts_of(found) == ["The film is good ,"]
    assert found.notes == (
        "sentences of more than 6 words were cut into pieces",
        "only the first 17 of 77 characters were labelled",
    )
