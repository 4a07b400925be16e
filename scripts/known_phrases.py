"""Finds clauses and phrases of known label in the training data for `write_constructions.py`, and draws from them."""

from __future__ import annotations

import csv
import gzip
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeVar

from lexitree.trees.brackets import read_trees

_WORDS_FILE = Path(__file__).resolve().parent / "constructions" / "words.toml"
WORDS = {
    name: frozenset(listed.split())
    for name, listed in tomllib.loads(_WORDS_FILE.read_text(encoding="utf-8")).items()
}
CLAUSE_STARTS = frozenset([",", ";", "--", "and", "but", "because"])
"""Words after which a clause begins."""
TEXTS = (
    "finegrained",
    "goemotions",
    "hutto-nyt",
    "hutto-tweets",
    "newsmtsc",
    "pros-cons",
    "sentfin",
    "sentihood",
)
"""The sets of `domains` whose training parts may be shipped."""
SIDES = {"positive": 1, "negative": -1, "neutral": 0}
SIDE_OF = {"0": -1, "1": -1, "2": 0, "3": 1, "4": 1}


Item = TypeVar("Item")


class Dice:
    """Choices that need nothing but `random()`, the one sequence that Python keeps across versions."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def chance(self, share: float) -> bool:
        return self._random() < share

    def pick(self, items: Sequence[Item]) -> Item:
        return items[int(self._random() * len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        keys = [self._random() for _ in items]
        return [items[place] for place in sorted(range(len(items)), key=keys.__getitem__)]


class Filler(NamedTuple):
    """Words, or a pattern, for a slot."""

    pattern: str
    side: int
    label: str


def coarse(side: int) -> str:
    return {1: "positive", -1: "negative", 0: ""}[side]


class KnownPhrases:
    """Clauses and phrases of the training data; in texts, words must be on the side of the label, or on none."""

    ADVERB = re.compile(r"[a-z]{3,}[^aeiou\W]ly|[a-z]+(?:ful|al|ous|ive|ent|ed|ing|able)ly")

    def __init__(self, data: Path) -> None:
        self.data = data
        self.trees = list(read_trees(data / "sst" / "train.txt"))
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for tree in self.trees:
            labels = [
                label for (start, end), label in zip(tree.spans, tree.labels, strict=True) if end - start == 1
            ]
            for word, label in zip(tree.words, labels, strict=True):
                counts[word.lower()][label] += 1
        self.word_labels = {word: found.most_common(1)[0][0] for word, found in counts.items()}
        """The label that each word has alone, most often."""

    def fillers(self) -> Iterator[tuple[str, str, Filler]]:
        """Topic, kind and filler."""
        seen: set[str] = set()
        for topic, kind, filler in (*self._phrases(), *self._texts()):
            if filler.pattern.lower() not in seen:
                seen.add(filler.pattern.lower())
                yield topic, kind, filler

    def _phrases(self) -> Iterator[tuple[str, str, Filler]]:
        for tree in self.trees:
            for (start, end), label in zip(tree.spans, tree.labels, strict=True):
                words, side = tree.words[start:end], SIDE_OF[label]
                words = words[:-1] if words[-1] == "." else words
                starts_clause = start == 0 or tree.words[start - 1] in CLAUSE_STARTS
                if starts_clause and side and self._is_clause(words):
                    yield "film", "known", Filler(as_typed(words), side, label)
                elif (
                    len(words) == 2
                    and self.ADVERB.fullmatch(words[0])
                    and self._side_of(words[1]) == side != 0
                ):
                    yield "film", "known_adj", Filler(as_typed(words), side, label)

    def _texts(self) -> Iterator[tuple[str, str, Filler]]:
        for name in TEXTS:
            for label, text in read_table(self.data / "domains" / name / "train.tsv.gz"):
                side = SIDES[label]
                words = re.sub(r"(n't|'s|'re|'m|'ve|'ll|'d)\b", r" \1", text.strip().rstrip(".! ")).split()
                is_plain = re.fullmatch(r"[\w' -]+", " ".join(words)) is not None
                if name == "sentfin":
                    if len(words) in range(4, 10) and is_plain:
                        yield "", "headline", Filler(text.strip(), side, label if side else "2")
                elif name == "pros-cons":
                    for part in self._listed(text, side):
                        yield "device", "np", Filler(part, side, label)
                elif is_plain and self._is_clause(words) and self._agree(words, side):
                    yield "", "known", Filler(as_typed(words), side, label)

    def _listed(self, text: str, side: int) -> Iterator[str]:
        """The phrases of a list of advantages or disadvantages."""
        for part in text.strip().rstrip(".!").split(","):
            words = part.lower().split()
            is_short = len(words) in (2, 3) and all(word.isalpha() for word in words)
            if is_short and self._side_of(words[0]) == side and self._agree(words, side):
                last = words[-1]
                if (last in WORDS["uncounted"] or last.endswith("s")) and not WORDS["prepositions"] & set(
                    words
                ):
                    yield " ".join(words)

    @staticmethod
    def _is_clause(words: Sequence[str]) -> bool:
        lower = [word.lower() for word in words]
        return (
            len(words) in range(3, 10)
            and all(word == "I" or word.islower() or not word.isalpha() for word in words[1:])
            and lower[0] in WORDS["subjects"]
            and any(word in WORDS["verbs"] for word in lower[1:5])
            and not ("'s" in lower and lower[0] not in ("it", "that", "he", "she", "there", "everything"))
            and tuple(lower[:2]) != ("that", "are")
            and lower[-1] not in ("and", "to", "of", "the", "a", "is")
            and not WORDS["excluded"] & set(lower)
        )

    def _agree(self, words: Sequence[str], side: int) -> bool:
        sides = {self._side_of(word) for word in words}
        return side != 0 and side in sides and -side not in sides and not WORDS["excluded"] & set(words)

    def _side_of(self, word: str) -> int:
        return SIDE_OF[self.word_labels.get(word.lower(), "2")]


def read_table(path: Path) -> Iterator[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        yield from csv.reader(stream, delimiter="\t")


def as_typed(words: Sequence[str]) -> str:
    """The words of a treebank as people type them, with a small letter at the start."""
    text = re.sub(r" (n't|'\w+)\b", r"\1", " ".join(words).replace("\\/", "/"))
    return text if words[0] == "I" else text[0].lower() + text[1:]
