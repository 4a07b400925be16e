"""Reads texts, splits them within limits, and holds them until all of their sentences are labelled."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from lexitree.errors import LimitError, TextError
from lexitree.limits import Limits
from lexitree.parsers.neural import cut_sentence
from lexitree.results.document import Document
from lexitree.results.labelled_tree import LabelledTree
from lexitree.results.sentence import Sentence
from lexitree.text import AnyText, Token, TokenizedText, penn_form
from lexitree.trees.tree import Tree

MAX_WAITING_TEXTS = 1024
"""Texts that may wait for a sentence before them to be labelled: those without words are not in any batch."""

_EXCERPT_CHARACTERS = 40

Tokens = tuple[Token, ...]
Context = TypeVar("Context")


class SplitText(NamedTuple):
    """The sentences of a text, and what was cut to keep it within limits."""

    sentences: list[Tokens]
    notes: tuple[str, ...] = ()


def split_within(
    text: object, split: Callable[[str], list[Tokens]], limits: Limits, number: int | None = None
) -> SplitText:
    """Split a text into sentences, or refuse it before anything expensive is done.

    Args:
        text: The text.
        split: Finds sentences and their tokens.
        limits: What the text may have, and whether it is cut if it has more.
        number: The position of the text in its stream, for error messages.

    Raises:
        TextError: It is not a string, holds half of a surrogate pair, or is beyond a limit.
    """
    if not isinstance(text, str):
        raise TextError(f"is not a string but of type {type(text).__name__}", number)

    def is_beyond(limit: str, amount: int) -> bool:
        """Whether to cut; a text that may not be cut is refused."""
        if not limits.exceeded(limit, amount):
            return False
        if limits.beyond == "refuse":
            raise LimitError(limit, amount, getattr(limits, limit), number, _excerpt(text))
        return True

    kept = _cut_at_space(text, limits.characters or 1) if is_beyond("characters", len(text)) else text
    _refuse_surrogates(kept, number)
    sentences = split(kept)
    notes: list[str] = []
    longest = max((token.end - token.start for tokens in sentences for token in tokens), default=0)
    if is_beyond("token_characters", longest):
        notes.append(f"tokens of more than {limits.token_characters:,} characters were cut into pieces")
        sentences = [_cut_tokens(tokens, limits.token_characters or 1) for tokens in sentences]
    longest = max(map(len, sentences), default=0)
    is_beyond("sentence_words", longest)
    if limits.beyond == "cut" and longest > (most := _most_words_of_a_sentence(limits)):
        notes.append(f"sentences of more than {most:,} words were cut into pieces")
        sentences = [piece for tokens in sentences for piece in _cut_words(tokens, int(most))]
    num_words = sum(map(len, sentences))
    too_many = [is_beyond("words", num_words), is_beyond("phrases", 2 * num_words - len(sentences))]
    if any(too_many):
        sentences = _first_sentences(sentences, limits)
    if any(too_many) or kept is not text:
        end = sentences[-1][-1].end if sentences else 0
        notes.append(f"only the first {end:,} of {len(text):,} characters were labelled")
    return SplitText(sentences, tuple(notes))


def _refuse_surrogates(text: str, number: int | None) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TextError(
            f"holds half of a surrogate pair at character {error.start}",
            number,
            _excerpt(text, error.start),
            remedy="It was decoded wrongly: read it again in its encoding, or replace that character.",
        ) from error


def _excerpt(text: str, place: int = 0) -> str:
    start = max(0, place - _EXCERPT_CHARACTERS // 2)
    end = start + _EXCERPT_CHARACTERS
    return f"{'…' if start else ''}{text[start:end]!r}{'…' if end < len(text) else ''}"


def _cut_at_space(text: str, max_characters: int) -> str:
    """The first part of a text, without a piece of a word at its end if there are words before it."""
    kept = text[:max_characters]
    parts = kept.rsplit(maxsplit=1)
    ends_between_words = text[max_characters].isspace() or kept[-1].isspace()
    return kept if ends_between_words or len(parts) < 2 else kept[: -len(parts[1])]


def _cut_tokens(tokens: Tokens, max_characters: int) -> Tokens:
    cut: list[Token] = []
    for token in tokens:
        if len(token.text) <= max_characters:
            cut.append(token)
            continue
        for first in range(0, len(token.text), max_characters):
            piece = token.text[first : first + max_characters]
            start = token.start + first
            cut.append(Token(piece, start, start + len(piece), penn_form(piece)))
    return tuple(cut)


def _cut_words(tokens: Tokens, max_words: int) -> Iterator[Tokens]:
    first = 0
    for piece in cut_sentence([token.form for token in tokens], max_words):
        yield tokens[first : first + len(piece)]
        first += len(piece)


def _most_words_of_a_sentence(limits: Limits) -> float:
    """No sentence is longer than a text may be, so that some of every text is labelled."""
    from_phrases = None if limits.phrases is None else (limits.phrases + 1) // 2
    bounds = (limits.sentence_words, limits.words, from_phrases)
    return min((bound for bound in bounds if bound is not None), default=math.inf)


def _first_sentences(sentences: Sequence[Tokens], limits: Limits) -> list[Tokens]:
    """As many sentences as fit into the limits on a text."""
    kept: list[Tokens] = []
    num_words = num_phrases = 0
    for tokens in sentences:
        num_words += len(tokens)
        num_phrases += 2 * len(tokens) - 1
        if limits.exceeded("words", num_words) or limits.exceeded("phrases", num_phrases):
            break
        kept.append(tokens)
    return kept


class _WaitingText(Generic[Context]):
    """A text with sentences that may not have been parsed and labelled yet, or the error that refuses it."""

    def __init__(self, text: str, split: SplitText, context: Context, error: TextError | None = None) -> None:
        self.text = text
        self.sentences, self.notes = split
        self.context = context
        self.error = error
        self.labelled: list[Sentence] = []

    @property
    def is_complete(self) -> bool:
        return len(self.labelled) == len(self.sentences)

    def add(self, parse: Tree, labelled: LabelledTree) -> None:
        tokens = self.sentences[len(self.labelled)]
        self.labelled.append(Sentence.from_labelled(labelled, self.text, tokens, parse))

    def result(self) -> Document | TextError:
        return self.error or Document(self.text, tuple(self.labelled), self.notes)


class TextReader(Generic[Context]):
    """Reads texts one by one, hands out their sentences, and puts the labelled sentences together again.

    Args:
        texts: Each text and what belongs to it.
        split: Finds the sentences of a text that does not come with its own.
        limits: What a text may have.
        is_numbered: Whether errors give the position of the text.
    """

    def __init__(
        self,
        texts: Iterator[tuple[AnyText, Context]],
        split: Callable[[str], list[Tokens]],
        limits: Limits,
        *,
        is_numbered: bool,
    ) -> None:
        self._texts = texts
        self._split = split
        self._limits = limits
        self._is_numbered = is_numbered
        self._num_read = 0
        self._waiting: deque[_WaitingText[Context]] = deque()
        self._unread: deque[list[str]] = deque()
        self.in_flight: deque[list[str]] = deque()
        """The words of all sentences that are not labelled yet."""
        self.is_exhausted = False
        """Whether there is no text to read any more."""

    def has_enough(self, num_sentences: int | None) -> bool:
        """Whether there is work for a batch; None stands for a batch of everything."""
        if num_sentences is None:
            return False
        return len(self.in_flight) >= num_sentences or len(self._waiting) >= MAX_WAITING_TEXTS

    def read(self) -> bool:
        """Read the next text, which may take any time; False at the end."""
        for given, context in self._texts:
            is_split = isinstance(given, TokenizedText)
            text, split_text = (given.text, given.tokens_within) if is_split else (given, self._split)
            number = self._num_read if self._is_numbered else None
            self._num_read += 1
            try:
                split, error = split_within(text, split_text, self._limits, number), None
            except TextError as refusal:
                split, error = SplitText([]), refusal
            self._waiting.append(_WaitingText(text, split, context, error))
            sentences = [[token.form for token in tokens] for tokens in split.sentences]
            self._unread.extend(sentences)
            self.in_flight.extend(sentences)
            return True
        self.is_exhausted = True
        return False

    def take(self, num_sentences: int | None = None) -> list[list[str]]:
        """The words of the next sentences, at most so many, that have been read and not taken."""
        number = len(self._unread) if num_sentences is None else min(num_sentences, len(self._unread))
        return [self._unread.popleft() for _ in range(number)]

    def add(self, parse: Tree, labelled: LabelledTree) -> Iterator[tuple[Document | TextError, Context]]:
        """Put the next sentence into its document, and yield those that are complete before it."""
        yield from self.finished()
        self._waiting[0].add(parse, labelled)

    def finished(self) -> Iterator[tuple[Document | TextError, Context]]:
        """Take the documents that are complete, and the errors between them, from the front of the queue."""
        while self._waiting and self._waiting[0].is_complete:
            done = self._waiting.popleft()
            yield done.result(), done.context

    @property
    def first_waiting(self) -> int | None:
        """The number of the first text that waits or is read next; None if texts have no numbers."""
        return self._num_read - len(self._waiting) if self._is_numbered else None

    @property
    def is_empty(self) -> bool:
        """Whether no text waits."""
        return not self._waiting
