"""What holds for any string: nothing is lost, nothing is read twice, nothing raises, nothing takes too long."""

from __future__ import annotations

import gc
import time
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lexitree.text import Layout, detokenize, split_sentences, tokenize

PIECES = [
    *"aAzé中 \n\t\r\u00a0\u2028.,;:!?…-–—―'\"’‘“”`´()[]{}<>/\\*_=+~^#@$%&|°©™0159",
    *(
        "\u0301",
        "\u0308",
        "\u093f",
        "\u200b",
        "\u200c",
        "\u200d",
        "\u00ad",
        "\ufeff",
        "\ufe0f",
        "\u20e3",
        "\x00",
        "\x1c",
    ),
    *("😀", "👩", "🏽", "🚀", "🇩", "🇪", "\U000e0067", "\U0010ffff", "ツ", "¯", "𝒳", "\ue000"),
    *(
        "'s",
        "n't",
        "n’t",
        "'em",
        "cannot",
        "gonna",
        "Mr.",
        "etc.",
        "U.S.",
        "Ph.D.",
        "No. ",
        "http://",
        "www.",
        ".com",
    ),
    *(
        ":-)",
        "<3",
        "^_^",
        "...",
        "--",
        "``",
        "''",
        "-LRB-",
        "The ",
        "I ",
        "\n\n",
        "\r\n\r\n",
        "1,000",
        ". ",
        "! ",
    ),
]
RICH_TEXT = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
ANY_TEXT = st.one_of(st.text(max_size=80), RICH_TEXT)
LAYOUTS: tuple[Layout, ...] = ("text", "lines", "one")


def check(text: str) -> None:
    """Everything that holds for the tokens and sentences of a text."""
    for layout in LAYOUTS:
        sentences = split_sentences(text, layout)
        tokens = tokenize(text, layout)
        assert [token for sentence in sentences for token in sentence.tokens] == tokens
        assert all(sentence.tokens for sentence in sentences)
        place = 0
        for token in tokens:
            assert token.text
            assert token.text == text[token.start : token.end]
            assert not any(map(str.isspace, token.text))
            # What lies between tokens is white space and nothing else.
            assert token.start >= place
            assert not text[place : token.start].strip()
            place = token.end
            assert token.form
            assert not any(map(str.isspace, token.form))
            assert not set("()[]{}") & set(token.form)
        assert not text[place:].strip()
        check_marks(text, [token.start for token in tokens])
    forms = [token.form for token in tokenize(text)]
    assert isinstance(detokenize(forms), str)


def check_marks(text: str, starts: list[int]) -> None:
    """A combining mark is never cut from what it stands on."""
    for start in starts:
        if start and not text[start - 1].isspace():
            assert unicodedata.category(text[start]) not in ("Mn", "Me")


@settings(max_examples=500)
@given(ANY_TEXT)
def test_any_text(text: str) -> None:
    check(text)


@pytest.mark.slow
@settings(max_examples=100_000, suppress_health_check=[HealthCheck.too_slow])
@given(ANY_TEXT)
def test_any_text_at_length(text: str) -> None:
    check(text)


@settings(max_examples=500)
@given(st.lists(st.text(max_size=6), max_size=12))
def test_any_words_can_be_joined(words: list[str]) -> None:
    assert isinstance(detokenize(words), str)


@pytest.mark.parametrize(
    "text", ["\ud800", "a\udfff b", "\U0010ffff" * 3, "\x00\x01", "\u0301", "\u0301 \u0301"]
)
def test_odd_characters(text: str) -> None:
    check(text)


def seconds(text: str) -> float:
    """The lesser of two, since the machine may be busy; without collections, which visit the objects of all tests."""
    times: list[float] = []
    gc.disable()
    try:
        for _ in range(2):
            start = time.process_time()
            split_sentences(text)
            times.append(time.process_time() - start)
    finally:
        gc.enable()
    return min(times)


REPEATED = [
    *(
        "a",
        "é",
        "(",
        ")",
        "((a",
        "'",
        '"',
        "`",
        "''",
        ".",
        "...",
        "a.",
        "a. ",
        "ab.",
        "A.",
        "a.a",
        "!",
        "-",
        "—",
        ":",
        ":)",
    ),
    *(
        "http://",
        "www.",
        "http://(",
        "http://.",
        "a@",
        "a@b.",
        "@",
        "#",
        "#1",
        "1",
        "1,",
        "1.",
        "1/",
        "_",
        "a_",
        "\u0301",
    ),
    *(
        "\u200d",
        "\u200b",
        "👨\u200d",
        "🇩",
        "\x00",
        "\n",
        "\n\n",
        "'s",
        "n't",
        "a's",
        "a'",
        "'a",
        "a-",
        "¯\\_(",
        "¯\\_",
        "-_",
    ),
    *(
        "Mr.",
        "etc. ",
        "etc. The ",
        'a"',
        '\n" ',
        "Ph.D",
        "a... ",
        "(. ",
        ". (",
        "!)",
        "\r\n \r\n",
        "-LRB-",
        "co.uk.",
        "a:(",
        "!1",
        "?!",
        "★☆",
        "😀",
        "5*",
    ),
]


@pytest.mark.parametrize("unit", REPEATED, ids=repr)
def test_time_grows_no_faster_than_the_text(unit: str) -> None:
    short, long = 1_500 // len(unit), 24_000 // len(unit)
    # Sixteen times the text: quadratic time would be 256 times as much.
    assert seconds(unit * long) < 64 * max(seconds(unit * short), 0.001)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "length"),
    [
        ("a", 10_000_000),
        ("é", 10_000_000),
        *((unit, 1_000_000) for unit in ["(", '"', "'", ".", "a.", "ab.", "'s"]),
    ],
)
def test_long_strings_without_spaces(unit: str, length: int) -> None:
    text = unit * (length // len(unit))
    start = time.process_time()
    tokens = tokenize(text)
    assert tokens[-1].end == len(text)
    assert time.process_time() - start < 60
