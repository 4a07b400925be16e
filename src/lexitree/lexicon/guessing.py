"""What the vectors of unknown words are guessed from: their letters, their parts, and words that they are like."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from lexitree.arrays import IndexArray
from lexitree.lexicon.vocabulary import UNK_INDEX, Vocabulary
from lexitree.lexicon.word_parts import MAX_LETTERS, WordParts, joined_parts, typed_parts
from lexitree.trees.brackets import surface_form

SHORTEST_GROUP, LONGEST_GROUP = 2, 5

_REPEATS = re.compile(r"(\D)\1\1+")


def letter_groups(word: str, num_rows: int) -> list[int]:
    """The rows of a word's groups of two to five letters, each group once, and of how it is capitalized.

    A checksum is the same on every machine, which Python's own hash of a text is not.
    """
    framed = f"<{word.lower()[:MAX_LETTERS]}>"
    groups = {
        framed[start : start + size]: None
        for size in range(SHORTEST_GROUP, LONGEST_GROUP + 1)
        for start in range(len(framed) - size + 1)
    }
    case = f"case {word[:1].isupper():d}{word.isupper():d}"
    return [zlib.crc32(group.encode("utf-8", "surrogatepass")) % num_rows for group in (*groups, case)]


def flatten_bags(bags: Sequence[Sequence[int]]) -> tuple[IndexArray, IndexArray]:
    """The rows of several bags, one after the other, and where each bag begins."""
    lengths = np.array([len(bag) for bag in bags], dtype=np.int64)
    rows = np.fromiter(chain.from_iterable(bags), dtype=np.int64, count=int(lengths.sum()))
    return rows, np.cumsum(lengths) - lengths


class GuessPlan(NamedTuple):
    """How the vectors of unknown words are made: each is a weighted sum of rows of one table.

    The table has the vectors that letters give `spelled`, and then those of the vocabulary's rows `known`.
    """

    spelled: list[str]
    known: list[int]
    bags: list[list[int]]
    """The rows of the table that each word is made of ..."""
    weights: list[list[float]]
    """... and the weight of each."""


def plan_guesses(words: Sequence[str], vocabulary: Vocabulary) -> GuessPlan:
    """Say how to make a vector for each word that a vocabulary does not have.

    `goooood` has the vector of `good`. That of `thought-provokingly` is half what its letters say, and half the mean
    of its parts; that of a hashtag or a pictograph is the mean of its words, where these are looked up. All others go
    by their letters.
    """
    surfaces = [surface_form(word) for word in words]
    parts = {word: _parts(word, vocabulary) for word in surfaces}
    strange = [part for each in parts.values() for part in each.words if not vocabulary.index(part)]
    spelled = {word: number for number, word in enumerate({**parts, **dict.fromkeys(strange)})}
    place_of: dict[int, int] = {}

    def place(row: int) -> int:
        return place_of.setdefault(row, len(spelled) + len(place_of))

    bags: list[list[int]] = []
    weights: list[list[float]] = []
    for word in surfaces:
        own, of_parts = spelled[word], parts[word]
        if row := _row_without_repeats(word, vocabulary):
            bags.append([place(row)])
            weights.append([1.0])
        elif of_parts.words:
            share = (1.0 if of_parts.is_all else 0.5) / len(of_parts.words)
            known = [(part, vocabulary.index(part)) for part in of_parts.words]
            bags.append([own, *(place(row) if row else spelled[part] for part, row in known)])
            weights.append([0.0 if of_parts.is_all else 0.5, *[share] * len(known)])
        else:
            bags.append([own])
            weights.append([1.0])
    return GuessPlan(list(spelled), list(place_of), bags, weights)


def _parts(word: str, vocabulary: Vocabulary) -> WordParts:
    """The words that a word is made of; none if it is not."""
    if vocabulary.lookup == "written":
        return WordParts(joined_parts(word), is_all=False)
    return typed_parts(word, vocabulary.index)


def _row_without_repeats(word: str, vocabulary: Vocabulary) -> int:
    """The row of the word that is lengthened by repeating a letter, digits aside; 0 where it is no such word."""
    if not _REPEATS.search(word):
        return UNK_INDEX
    return vocabulary.index(_REPEATS.sub(r"\1\1", word)) or vocabulary.index(_REPEATS.sub(r"\1", word))
