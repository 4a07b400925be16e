"""Tokens that are looked up are those that the scanner finds, whatever is around them and was seen before."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lexitree.text import detokenize, known_words
from lexitree.text.known_words import find_tokens
from lexitree.text.scanner import scan_tokens
from lexitree.text.tokens import Tokens
from lexitree.trees.brackets import read_trees
from tests.text.test_properties import ANY_TEXT, PIECES

WORDS = [
    *(
        "no.",
        "No.",
        "p.",
        "5",
        "5.",
        "1.",
        "1.\n",
        "\n1.",
        "-5.",
        "$5.",
        "ol'",
        "o’",
        "dogs'",
        "'90s",
        "rock'n'roll",
    ),
    *(
        "it's",
        "cannot",
        "CANNOT",
        "dont.",
        "xD",
        "xD.",
        "D:",
        ":)",
        "good:)",
        "film-",
        "film,",
        "film.",
        "U.S.",
        "A.",
    ),
    *(
        "Mr.",
        "etc.",
        "a.m.",
        "x.y",
        '"',
        '"a',
        'a"',
        "``",
        "''",
        "`",
        "'",
        "“a”",
        "(a)",
        "é",
        "é.",
        "\u0301",
        "a\t",
        "\x08A",
        "\u0301\u0323A",
    ),
    *(
        "\u00a05",
        "no.\u00a05",
        "no.5",
        "5.\u200b",
        "no.\u200b",
        "a" * 40,
        "!a!a!a!a!a",
        "...",
        "--",
        "a/b",
        "*",
    ),
]
SPACED_TEXT = st.lists(st.sampled_from([*WORDS, *PIECES]), max_size=16).map(" ".join)


def check(text: str) -> None:
    assert list(find_tokens(text)) == list(scan_tokens(text))


@settings(max_examples=500)
@given(st.one_of(SPACED_TEXT, ANY_TEXT))
def test_they_are_those_of_the_scanner(text: str) -> None:
    check(text)


@pytest.mark.slow
@settings(max_examples=50_000, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(SPACED_TEXT, ANY_TEXT))
def test_they_are_those_of_the_scanner_at_length(text: str) -> None:
    check(text)


def test_every_pair_of_words() -> None:
    for word, other in product(WORDS, WORDS):
        check(f"{word} {other}")
        check(f'"{word} {other} {word}"')


def corpus_texts(folder: Path) -> Iterator[str]:
    for file in sorted((folder / "sst").glob("*.txt")):
        yield from (detokenize(tree.words) for tree in read_trees(file))
    for kind in ("trec", "domains"):
        for file in sorted((folder / kind).rglob("*.*")):
            if file.suffix in (".txt", ".csv", ".label", ".jsonl", ".tsv"):
                yield from file.read_text(encoding="utf-8", errors="replace").splitlines()


@pytest.mark.slow
def test_the_corpora(real_data: Path) -> None:
    for text in corpus_texts(real_data):
        check(text)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_words._pieces, "size", 50)  # pyright: ignore[reportPrivateUsage]
    known_words._pieces.clear()  # pyright: ignore[reportPrivateUsage]
    for number in range(300):
        check(f"word{number} and {'x' * 100}{number}")
    assert len(known_words._pieces) <= 50  # pyright: ignore[reportPrivateUsage]
    assert max(map(len, known_words._pieces)) < 100  # pyright: ignore[reportPrivateUsage]


def test_threads_share_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_words._pieces, "size", 20)  # pyright: ignore[reportPrivateUsage]
    texts = [f"It's word{number % 37}, not word{number % 11}." for number in range(400)]
    expected = [list(scan_tokens(text)) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(map(list, pool.map(find_tokens, texts))) == expected


def test_tokens_are_a_sequence() -> None:
    tokens = find_tokens("It's good.")
    objects = list(scan_tokens("It's good."))
    assert (len(tokens), list(tokens), tokens[-1]) == (4, objects, objects[-1])
    assert list(tokens[1:3]) == objects[1:3]
    assert isinstance(tokens[1:3], Tokens)
    assert list(Tokens.of(objects)) == objects
