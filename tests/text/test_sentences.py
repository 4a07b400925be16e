"""Where sentences end, and where they only seem to."""

from __future__ import annotations

import pytest

from lexitree.errors import ConfigError
from lexitree.text import Token, TokenizedSentence, split_sentences, tokenize


def sentence_texts(text: str, **options: str) -> list[str]:
    return [text[sentence.start : sentence.end] for sentence in split_sentences(text, **options)]  # type: ignore[arg-type]


def whole(*sentences: str) -> pytest.MarkDecorator:
    """Each is one sentence, and stays one with another after it."""
    return pytest.mark.parametrize("sentence", sentences)


def parts(*expected: str) -> pytest.MarkDecorator:
    """Each expectation is a text with bars where sentences end."""
    return pytest.mark.parametrize("expected", expected)


def test_a_sentence_knows_its_tokens_and_place() -> None:
    assert split_sentences(" Good. Bad") == [
        TokenizedSentence((Token("Good", 1, 5, "Good"), Token(".", 5, 6, "."))),
        TokenizedSentence((Token("Bad", 7, 10, "Bad"),)),
    ]
    sentence = split_sentences(" (Good)")[0]
    assert (sentence.start, sentence.end, sentence.forms) == (1, 7, ["-LRB-", "Good", "-RRB-"])


@pytest.mark.parametrize("layout", ["text", "lines", "one"])
@pytest.mark.parametrize("blank", ["", " \n\n "])
def test_blank_text_has_no_sentences(blank: str, layout: str) -> None:
    assert sentence_texts(blank, layout=layout) == []


@parts(
    "One. |Two! |Three? |Four",
    "Really?! |Yes!!! |Good.",
    "It was great!!!!1 |Buy it.",
    'He said "yes." |She said "no!" |Then they left.',
    "It rained. |(It always does.) |He left.",
    "He left (alone). |She stayed.",
    "“Stop!” |He ran.",
    "good movie. |would buy again. |thanks",
    "loved it! |would buy again",
    "It ended... |The next began.",
    "It ended… |Then more.",
    "I liked it.|It was fun.",
    "He lived in the U.S. |He died there.",
    "Gags, injuries, etc. |Nothing new.",
    "We left at 10 p.m. |Everyone slept.",
    "It was plan B. |The others failed.",
    "Great! :) |Loved it.",
    "Great! 😀 |Loved it.",
    "In 1990. |15 people came.",
    "你好。|再见！|好",
    "यह अच्छा है। |हाँ",
    "First\n\nSecond paragraph\r\n\r\nThird".replace("\n\nS", "\n\n|S").replace("\n\r\nT", "\n\r\n|T"),
    "One line\nstill the same. |Next",
    "One line\r\nstill\rthe same. |Next",
    "It is over. |... a sour little movie. |... Blade is better",
    "He died in 2014.[4] |She lives.[5] [6]",
    'He left. "',
    'Good effects. |"13 Conversations" is good.',
    "1. Open the box. |2 pieces are there.",
    "¡Hola! |¿Qué tal?",
)
def test_sentences_end(expected: str) -> None:
    text = expected.replace("|", "")
    assert sentence_texts(text) == [part.strip() for part in expected.split("|")]


@whole(
    "Mr. Zhang met Dr. Strange and Mrs. Dalloway",
    "J. R. R. Tolkien and J.R.R. Tolkien wrote",
    "George W. Bush left",
    "It costs 3.14 dollars, i.e. nothing, e.g. peanuts",
    "The U.S. Senate met",
    "Monsters, Inc. was fun",
    "Gangster No. 1 drips",
    "The story ... is inspiring",
    "The story... is inspiring",
    "... a sour little movie",
    '"Really?" she asked',
    '"I like it." he said',
    "The film (wow!) is good",
    "Moulin Rouge! is a film",
    "Who is Cletis Tout?, the film",
    "On Sept. 11 it fell",
    "Truth or Consequences, N.M. and others",
    "See tel. 12 and fig. 3 and p. 12 of vol. 2",
    "Visit www.a.com/b.html or me@a.org",
    "etc. and so on",
    "The Dr. is in",
    "Ecks vs. Sever",
    "1. Introduction",
)
def test_sentences_go_on(sentence: str) -> None:
    assert sentence_texts(sentence) == [sentence]
    assert sentence_texts(f"{sentence} here. So it goes.") == [f"{sentence} here.", "So it goes."]


def test_a_sentence_on_each_line() -> None:
    text = "One. Two\n\nThree etc.\r\nFour\u2028Five\n"
    assert sentence_texts(text, layout="lines") == ["One. Two", "Three etc.", "Four", "Five"]
    assert split_sentences(text, "lines")[1].forms == ["Three", "etc.", "."]


def test_one_item_is_one_sentence() -> None:
    text = "One. Two\n\nThree! He left the U.S. The end"
    assert sentence_texts(text, layout="one") == [text]
    assert split_sentences(text, "one")[0].forms[-4:] == ["the", "U.S.", "The", "end"]
    assert split_sentences("Oh... etc.", "one")[0].forms == ["Oh", "...", "etc.", "."]


@pytest.mark.parametrize("layout", ["text", "lines", "one"])
def test_tokens_are_those_of_the_sentences(layout: str) -> None:
    text = "Mr. X left. He went to the U.S. The\nend etc."
    sentences = split_sentences(text, layout)  # type: ignore[arg-type]
    assert [token for sentence in sentences for token in sentence.tokens] == tokenize(text, layout)  # type: ignore[arg-type]


def test_an_unknown_layout_is_an_error() -> None:
    with pytest.raises(ConfigError, match="unknown layout 'pages'"):
        split_sentences("One.", "pages")  # type: ignore[arg-type]
