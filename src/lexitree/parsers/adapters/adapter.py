"""Sentences in, trees out, for parsers that take a batch at a time and may fail over a single sentence of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self

from lexitree.errors import ConfigError, ParseMismatchError, ParseRefusedError, ParserError
from lexitree.parsers.adapters.spelling import Spelling, same_words
from lexitree.trees.tree import NO_LABEL, Tree

OnRefused = Literal["raise", "flat"]
"""What becomes of a sentence that the parser gives no tree for: an error, or a flat tree, counted and reported."""

FLAT_LABEL = "X"
"""Penn's label of a phrase of an unknown kind."""

ROOT_LABELS = frozenset({"ROOT", "TOP", "S1", "VROOT", NO_LABEL})
"""Brackets that parsers put around each sentence; they are no phrases."""

MAX_LISTED_REFUSALS = 1_000
"""How many refused sentences are kept; all are counted."""

SHOWN_WORDS = 60


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence on its way through a parser."""

    number: int
    """From 1."""
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
        return f"sentence {self.number:,} ({show_words(self.words)}): {self.problem}"


@dataclass(slots=True)
class ParseReport:
    """What a parser has done so far, over all its calls."""

    num_sentences: int = 0
    num_refused: int = 0
    refused: list[Refusal] = field(default_factory=list[Refusal])
    """The first refusals, at most MAX_LISTED_REFUSALS."""

    def note(self, refusal: Refusal) -> None:
        self.num_refused += 1
        if len(self.refused) < MAX_LISTED_REFUSALS:
            self.refused.append(refusal)

    def __str__(self) -> str:
        return f"{self.num_sentences:,} sentences, {self.num_refused:,} refused by the parser and left flat"


class Adapter(ABC):
    """A parser that is not ours; a context manager, since some hold a process."""

    def __init__(self, name: str, *, on_refused: OnRefused = "raise") -> None:
        self.name = name
        self.on_refused = on_refused
        self.report = ParseReport()

    @abstractmethod
    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """A tree for each sentence, in their order, as a stream."""

    def close(self) -> None:  # noqa: B027 - most adapters hold nothing
        """Let go of what is held; the adapter may be used again and then starts anew."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def accept(self, sentence: Sentence, tree: Tree) -> Tree:
        """Count the sentence and give its tree; see `match`."""
        self.report.num_sentences += 1
        return self.match(sentence, tree)

    def match(self, sentence: Sentence, tree: Tree) -> Tree:
        """The tree without a root bracket and with the sentence's own words, which must be those of the tree."""
        tree = strip_root(tree)
        if not same_words(sentence.words, sentence.spelled, tree.words):
            raise self._mismatch(sentence, tree)
        return tree if tree.words == sentence.words else Tree(tree.arity, tree.labels, sentence.words)

    def refuse(self, sentence: Sentence, problem: str) -> Tree:
        """Raise, or give the flat tree where that is asked for."""
        refusal = Refusal(sentence.number, sentence.words, problem)
        if self.on_refused == "raise":
            raise ParseRefusedError(
                f"{self.name} gives no tree for {refusal}",
                remedy="With on_refused='flat' such sentences become flat trees, counted in the report.",
            )
        self.report.num_sentences += 1
        self.report.note(refusal)
        return Tree.flat(sentence.words, FLAT_LABEL)

    def _mismatch(self, sentence: Sentence, tree: Tree) -> ParseMismatchError:
        return ParseMismatchError(
            f"{self.name}: the tree for {sentence} has other words "
            f"({len(sentence.words):,} were given, {tree.num_words:,} came back):\n"
            f"  sentence: {show_words(sentence.words)}\n"
            f"  tree:     {show_words(tree.words)}",
            remedy="The parser must take the words as they are; are its trees in the order of the sentences?",
        )


def number_sentences(sentences: Iterable[Sequence[str]], spelling: Spelling = list) -> Iterator[Sentence]:
    """Number and spell sentences as they are asked for; what no parser could read is refused by its number."""
    for number, words in enumerate(sentences, 1):
        if isinstance(words, str):
            raise ParserError(
                f"sentence {number:,} is a text, not a sequence of words: {words[:SHOWN_WORDS]!r}",
                remedy="Cut it into words first.",
            )
        kept = tuple(words)
        problem = _find_problem(kept)
        if problem:
            raise ParserError(f"sentence {number:,} cannot be parsed: {problem}")
        spelled = tuple(spelling(kept))
        if len(spelled) != len(kept):
            raise ParserError(
                f"the spelling makes {len(spelled):,} words of the {len(kept):,} of sentence {number:,}"
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
        return f"its words cannot be written ({error})"
    return ""


def strip_root(tree: Tree) -> Tree:
    """The tree without `(ROOT …)`, `(TOP …)` and the like around the sentence."""
    arity: list[int] = tree.arity.tolist()
    start = 0
    while arity[start] == 1 and tree.labels[start] in ROOT_LABELS:
        start += 1
    return Tree(arity[start:], tree.labels[start:], tree.words) if start else tree


def show_words(words: Sequence[str]) -> str:
    """The words between spaces, cut if there are many."""
    return " ".join(words[:SHOWN_WORDS]) + (" …" if len(words) > SHOWN_WORDS else "")


class BatchFailed(Exception):  # noqa: N818 - an outcome, which no user ever sees
    """A parser could not do a batch, perhaps because of one sentence in it."""


class BatchAdapter(Adapter):
    """Holds one batch of sentences at a time."""

    def __init__(
        self, name: str, *, batch_size: int, spelling: Spelling = list, on_refused: OnRefused = "raise"
    ) -> None:
        if batch_size < 1:
            raise ConfigError("batch_size of a parser must be more than 0")
        super().__init__(name, on_refused=on_refused)
        self.batch_size = batch_size
        self.spelling = spelling

    @abstractmethod
    def parse_batch(self, batch: list[Sentence]) -> Sequence[Tree | None]:
        """A tree for each sentence, or None where there is none; raises BatchFailed if none can be had."""

    def has_room(self, batch: list[Sentence], sentence: Sentence) -> bool:
        """Whether one more sentence goes into a batch."""
        return len(batch) < self.batch_size

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        """A tree for each sentence, in their order, a batch at a time."""
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
            # One by one, so that only the sentence that the parser cannot do is refused.
            for sentence in batch:
                yield from self._settle([sentence])
            return
        if len(trees) != len(batch):
            raise ParserError(
                f"{self.name} gives {len(trees):,} trees for {len(batch):,} sentences ({batch[0]} and following)"
            )
        for sentence, tree in zip(batch, trees, strict=True):
            yield self.refuse(sentence, "it has none") if tree is None else self.accept(sentence, tree)
