"""No case of the behaviour suite equals or contains a sentence that the shipped models are trained on."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from lexitree.corpora.named import load_corpus
from lexitree.corpora.text_files import read_texts
from tests.behaviour.suite import all_cases

DATA = os.environ.get("LEXITREE_DATA")
MIN_WORDS = 4
"""Shorter sentences, such as "I love it.", may stand in a case."""
COMMON = frozenset({"is not a good product", "thank you so much"})
"""Common phrases that stand alone in the corpora, and in natural.tsv, which is left as it was written."""
_CLITIC = re.compile(r"\s+(?=(?:n't|'(?:s|re|ve|ll|d|m))\b)")
_WORD = re.compile(r"[a-z0-9]+")

Words = tuple[str, ...]


def words_of(text: str) -> Words:
    """The words in small letters, so that tokenization and punctuation make no difference."""
    return tuple(_WORD.findall(_CLITIC.sub("", text.lower().replace("’", "'")).replace("'", "")))


def training_sentences(data: Path) -> Iterator[str]:
    yield from (" ".join(tree.words) for tree in load_corpus("sst-fine").train)
    for path in sorted((data / "domains").glob("*/train.tsv.gz")):
        yield from (row.text for row in read_texts(path).rows)
    for path in sorted((data / "domains").glob("*/train.spans.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            yield from (json.loads(line)["text"] for line in stream)


def sentences_within(texts: Iterable[str], sentences: Iterable[str]) -> list[tuple[str, str]]:
    """Each text that contains one of the sentences as a whole, with that sentence."""
    by_beginning: dict[Words, list[Words]] = {}
    for sentence in sentences:
        words = words_of(sentence)
        if len(words) >= MIN_WORDS:
            by_beginning.setdefault(words[:MIN_WORDS], []).append(words)
    found: list[tuple[str, str]] = []
    for text in texts:
        words = words_of(text)
        for start in range(len(words) - MIN_WORDS + 1):
            for sentence in by_beginning.get(words[start : start + MIN_WORDS], ()):
                if words[start : start + len(sentence)] == sentence:
                    found.append((text, " ".join(sentence)))
    return found


def test_sentences_are_found_within_texts() -> None:
    sentences = ["It 's not  worth the money", "I love it", "we had a lovely time here"]
    text = "Well: it’s not worth the money."
    assert sentences_within([text], sentences) == [(text, "its not worth the money")]
    assert not sentences_within(["I love it.", "We had a lovely time."], sentences)


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="set LEXITREE_DATA to a folder with sst and domains")
def test_no_case_contains_a_training_sentence() -> None:
    assert DATA is not None
    texts = dict.fromkeys(text for case in all_cases() for text in case.texts)
    found = sentences_within(texts, training_sentences(Path(DATA)))
    assert [(text, sentence) for text, sentence in found if sentence not in COMMON] == []
