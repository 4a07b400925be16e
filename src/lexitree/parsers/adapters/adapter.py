"""The base classes of adapters: they check that a parser's trees have the sentences' own words."""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Never, Self

from lexitree.errors import ConfigError, ParseMismatchError, ParseRefusedError, ParserError
from lexitree.limits import cache_short_texts
from lexitree.parsers.penn_spans import without_root
from lexitree.trees.brackets import surface_form
from lexitree.trees.tree import Tree

Spelling = Callable[[Sequence[str]], list[str]]
"""Turns the words of a sentence into tokens that the parser knows, one each."""

_STAND_IN = "_"
"""Replaces a space inside a word."""

_PENN_ESCAPES = str.maketrans(
    {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
    | {"‘": "'", "’": "'", "…": "...", "–": "--", "—": "--"}
)
_PENN_QUOTES = {"“": "``", "„": "``", "«": "``", "”": "''", "»": "''", "‘": "`"}
_UNESCAPED_SIGN = re.compile(r"\\.|[/*]", re.DOTALL)

# Parsers exchange these characters for one another, so words that differ only in them are equal.
_FOLDED = str.maketrans(
    dict.fromkeys("“”„«»", '"') | dict.fromkeys("‘’`´", "'") | dict.fromkeys("–—", "--") | {"…": "..."}
)

# Parsers disagree on what white space is: Stanford's also splits at these, which are not spaces.
_INVISIBLE = "\u180e\u200b\u2060\ufeff"


def plain_spelling(words: Sequence[str]) -> list[str]:
    """Keep words as they are, except for spaces and brackets inside them."""
    return [_as_one_token(word).replace("(", "-LRB-").replace(")", "-RRB-") for word in words]


def penn_spelling(words: Sequence[str]) -> list[str]:
    """Spell words as the Penn Treebank does: `-LRB-`, `\\/`, and opening and closing quotes.

    Words already in Penn's spelling are kept.
    """
    spelled = [_spell_penn(word) for word in words]
    quotes = [place for place, word in enumerate(spelled) if word == '"']
    # Like Stanford's escaper: quotes alternate, and one at the very end closes.
    first_closes = bool(quotes) and quotes[-1] == len(spelled) - 1 and len(quotes) % 2 == 1
    for number, place in enumerate(quotes):
        spelled[place] = "''" if (number % 2 == 1) != first_closes else "``"
    return spelled


def _spell_penn(word: str) -> str:
    word = _as_one_token(word)
    if word in _PENN_QUOTES:
        return _PENN_QUOTES[word]
    escaped = word.translate(_PENN_ESCAPES)
    # A sign after a backslash is already escaped.
    return _UNESCAPED_SIGN.sub(lambda match: match[0] if len(match[0]) > 1 else f"\\{match[0]}", escaped)


@cache_short_texts
def _as_one_token(word: str) -> str:
    if word.isascii() and word.isprintable() and " " not in word:
        return word
    return "".join(_STAND_IN if _separates(character) else character for character in word)


def _separates(character: str) -> bool:
    return (
        character.isspace()
        or character in _INVISIBLE
        or unicodedata.category(character) in ("Cc", "Zs", "Zl", "Zp")
    )


def same_words(words: Sequence[str], spelled: Sequence[str], found: Sequence[str]) -> bool:
    """Return whether a tree has the words of a sentence, in its own spelling, the parser's or Penn's."""
    if len(found) != len(words):
        return False
    return all(
        given in (word, sent) or _fold(given) in (_fold(word), _fold(sent))
        for word, sent, given in zip(words, spelled, found, strict=True)
    )


@cache_short_texts
def _fold(word: str) -> str:
    return surface_form(word).translate(_FOLDED).replace("''", '"')


OnRefused = Literal["raise", "flat"]
"""On a sentence without a tree: raise an error, or use a flat tree and report it."""

_FLAT_LABEL = "X"
"""Penn's label for a phrase of unknown kind."""

MAX_LISTED_REFUSALS = 1_000
"""Refused sentences beyond this number are counted but not listed."""

_SHOWN_WORDS = 60


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence on its way through a parser."""

    number: int
    """Counted from 1."""
    words: tuple[str, ...]
    spelled: tuple[str, ...]
    """The words as the parser sees them."""

    def __str__(self) -> str:
        return f"sentence {self.number:,}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A sentence without a tree, and why."""

    number: int
    words: tuple[str, ...]
    problem: str

    def __str__(self) -> str:
        return f"sentence {self.number:,} ({_show_words(self.words)}): {self.problem}"


@dataclass(slots=True)
class ParseReport:
    """What a parser has done so far, over all calls."""

    num_sentences: int = 0
    num_refused: int = 0
    refused: list[Refusal] = field(default_factory=list[Refusal])
    """The first refusals, at most MAX_LISTED_REFUSALS."""

    def note(self, refusal: Refusal) -> None:
        self.num_refused += 1
        if len(self.refused) < MAX_LISTED_REFUSALS:
            self.refused.append(refusal)

    def __str__(self) -> str:
        return f"{self.num_sentences:,} sentences, {self.num_refused:,} without a parse, left flat"


class Adapter(ABC):
    """An external parser; a context manager, since some hold a process."""

    def __init__(self, name: str, *, on_refused: OnRefused = "raise") -> None:
        self.name = name
        self.on_refused = on_refused
        self.report = ParseReport()

    def __reduce__(self) -> Never:
        raise ConfigError(
            f"a parser that is a program of its own ({self.name}) cannot be pickled",
            remedy="Name it where the pipeline is loaded, and copies of that open it again: "
            'lexitree.load(MODEL, parser="command:PROGRAM")',
        )

    @abstractmethod
    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """Yield a tree for each sentence, in order."""

    def close(self) -> None:  # noqa: B027 - most adapters hold nothing
        """Release what is held; the adapter restarts when it is used again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def accept(self, sentence: Sentence, tree: Tree) -> Tree:
        """Count the sentence and return its tree; see `match`."""
        self.report.num_sentences += 1
        return self.match(sentence, tree)

    def match(self, sentence: Sentence, tree: Tree) -> Tree:
        """Return the tree without a root bracket and over the sentence's own words.

        Raises:
            ParseMismatchError: The tree has other words.
        """
        tree = without_root(tree)
        if not same_words(sentence.words, sentence.spelled, tree.words):
            raise self._mismatch(sentence, tree)
        return tree if tree.words == sentence.words else Tree(tree.arity, tree.labels, sentence.words)

    def refuse(self, sentence: Sentence, problem: str) -> Tree:
        """Raise an error, or return a flat tree, as `on_refused` says."""
        refusal = Refusal(sentence.number, sentence.words, problem)
        if self.on_refused == "raise":
            raise ParseRefusedError(
                f"{self.name} returns no tree for {refusal}",
                remedy="Use on_refused='flat' to replace such sentences by flat trees and count them in the report.",
            )
        self.report.num_sentences += 1
        self.report.note(refusal)
        return Tree.flat(sentence.words, _FLAT_LABEL)

    def _mismatch(self, sentence: Sentence, tree: Tree) -> ParseMismatchError:
        return ParseMismatchError(
            f"{self.name}: the tree for {sentence} has different words "
            f"({len(sentence.words):,} sent, {tree.num_words:,} returned):\n"
            f"  sentence: {_show_words(sentence.words)}\n"
            f"  tree:     {_show_words(tree.words)}",
            remedy="The parser must keep the words as they are and return trees in the order of the sentences.",
        )


def number_sentences(sentences: Iterable[Sequence[str]], spelling: Spelling = list) -> Iterator[Sentence]:
    """Number sentences and spell their words as a parser reads them.

    Raises:
        ParserError: A sentence is a string, is empty, or cannot be encoded.
    """
    for number, words in enumerate(sentences, 1):
        if isinstance(words, str):
            raise ParserError(
                f"sentence {number:,} is a string, not a sequence of words: {words[:_SHOWN_WORDS]!r}",
                remedy="Split it into words first.",
            )
        kept = tuple(words)
        problem = _find_problem(kept)
        if problem:
            raise ParserError(f"sentence {number:,} cannot be parsed: {problem}")
        spelled = tuple(spelling(kept))
        if len(spelled) != len(kept):
            raise ParserError(
                f"the spelling turns the {len(kept):,} words of sentence {number:,} into {len(spelled):,}"
            )
        yield Sentence(number, kept, spelled)


def _find_problem(words: tuple[str, ...]) -> str:
    if not words:
        return "it has no words"
    if "" in words:
        return f"its word {words.index('') + 1} is empty"
    try:
        "".join(words).encode()
    except UnicodeEncodeError as error:
        return f"its words cannot be encoded ({error})"
    return ""


def _show_words(words: Sequence[str]) -> str:
    """Join words by spaces, shortened if there are many."""
    return " ".join(words[:_SHOWN_WORDS]) + (" …" if len(words) > _SHOWN_WORDS else "")


class BatchFailed(Exception):  # noqa: N818 - an outcome, which no user ever sees
    """A parser failed on a batch, perhaps because of a single sentence."""


class BatchAdapter(Adapter):
    """An adapter for a parser that takes a batch at a time and may fail on one of its sentences."""

    def __init__(
        self, name: str, *, batch_size: int, spelling: Spelling = list, on_refused: OnRefused = "raise"
    ) -> None:
        if batch_size < 1:
            raise ConfigError("batch_size must be greater than 0")
        super().__init__(name, on_refused=on_refused)
        self.batch_size = batch_size
        self.spelling = spelling

    @abstractmethod
    def parse_batch(self, batch: list[Sentence]) -> Sequence[Tree | None]:
        """Return a tree, or None, for each sentence.

        Raises:
            BatchFailed: The whole batch failed.
        """

    def has_room(self, batch: list[Sentence], sentence: Sentence) -> bool:
        """Return whether another sentence fits into the batch."""
        return len(batch) < self.batch_size

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """Yield a tree for each sentence, in order, one batch at a time."""
        batch: list[Sentence] = []
        for sentence in number_sentences(sentences, self.spelling):
            if batch and not self.has_room(batch, sentence):
                yield from self._settle(batch)
                batch = []
            batch.append(sentence)
        yield from self._settle(batch)

    def _settle(self, batch: list[Sentence]) -> Iterator[Tree]:
        if not batch:
            return
        try:
            trees = self.parse_batch(batch)
        except BatchFailed as error:
            if len(batch) == 1:
                yield self.refuse(batch[0], str(error))
                return
            # One by one, so that only the sentence that fails is refused.
            for sentence in batch:
                yield from self._settle([sentence])
            return
        if len(trees) != len(batch):
            raise ParserError(
                f"{self.name} returns {len(trees):,} trees for {len(batch):,} sentences (from {batch[0]} on)"
            )
        for sentence, tree in zip(batch, trees, strict=True):
            yield self.refuse(sentence, "no parse") if tree is None else self.accept(sentence, tree)
