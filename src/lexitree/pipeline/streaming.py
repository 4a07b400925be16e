"""Reads texts, splits them within limits, and holds them until all of their sentences are labelled."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from lexitree.errors import TextError
from lexitree.limits import Limits
from lexitree.results.document import Document
from lexitree.results.sentence import Sentence
from lexitree.text import AnyText, TokenizedText
from lexitree.text.bounded_text import SplitText, split_within
from lexitree.text.tokens import Tokens

MAX_WAITING_TEXTS = 1024
"""Texts that may wait for a sentence before them to be labelled: those without words are not in any batch."""

Context = TypeVar("Context")

Warn = Callable[[Sequence[Sequence[str]]], tuple[str, ...]]
"""Says of the words of a text's sentences why their labels may mean nothing."""


PlaceSentence = Callable[[str, Tokens], Sentence]
"""Puts a sentence that was labelled into its place in a text, given the text and the sentence's tokens."""


class _WaitingText(Generic[Context]):
    """A text with sentences that may not have been parsed and labelled yet, or the error that refuses it."""

    def __init__(
        self, text: str, split: SplitText, context: Context, warn: Warn | None, error: TextError | None = None
    ) -> None:
        self.text = text
        self.sentences, self.notes = split
        self.context = context
        self.error = error
        self.labelled: list[Sentence] = []
        self.warn = warn

    @property
    def is_complete(self) -> bool:
        return len(self.labelled) == len(self.sentences)

    def add(self, place: PlaceSentence) -> None:
        self.labelled.append(place(self.text, self.sentences[len(self.labelled)]))

    def result(self) -> Document | TextError:
        if self.error:
            return self.error
        notes = self.notes
        if self.warn is not None:
            notes += self.warn([tokens.forms for tokens in self.sentences])
        return Document(self.text, tuple(self.labelled), notes)


class TextReader(Generic[Context]):
    """Reads texts one by one, hands out their sentences, and puts the labelled sentences together again.

    Args:
        texts: Each text and what belongs to it.
        split: Finds the sentences of a text that does not come with its own.
        limits: What a text may have.
        is_numbered: Whether errors give the position of the text.
        warn: Says of a text that the model does not know it, if it can tell.
    """

    def __init__(
        self,
        texts: Iterator[tuple[AnyText, Context]],
        split: Callable[[str], list[Tokens]],
        limits: Limits,
        *,
        is_numbered: bool,
        warn: Warn | None = None,
    ) -> None:
        self._texts = texts
        self._split = split
        self._limits = limits
        self._is_numbered = is_numbered
        self._warn = warn
        self._num_read = 0
        self._num_untaken = 0
        self._waiting: deque[_WaitingText[Context]] = deque()
        self._unread: deque[list[str]] = deque()
        self.in_flight: deque[list[str]] = deque()
        """The words of all sentences that are not parsed yet."""
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
            self._num_untaken += 1
            try:
                split, error = split_within(text, split_text, self._limits, number), None
            except TextError as refusal:
                split, error = SplitText([]), refusal
            self._waiting.append(_WaitingText(text, split, context, self._warn, error))
            sentences = [tokens.forms for tokens in split.sentences]
            self._unread.extend(sentences)
            self.in_flight.extend(sentences)
            return True
        self.is_exhausted = True
        return False

    def has_batch(self, num_sentences: int | None) -> bool:
        """As `has_enough`, where sentences that were taken may wait for others to be labelled."""
        if num_sentences is None:
            return False
        return len(self._unread) >= num_sentences or self._num_untaken >= max(
            MAX_WAITING_TEXTS, num_sentences
        )

    def take(self, num_sentences: int | None = None) -> list[list[str]]:
        """The words of the next sentences, at most so many, that have been read and not taken."""
        self._num_untaken = 0
        number = len(self._unread) if num_sentences is None else min(num_sentences, len(self._unread))
        return [self._unread.popleft() for _ in range(number)]

    def take_batch(self, num_sentences: int | None) -> list[list[str]]:
        """The same for a parser that takes whole batches; their words are forgotten here."""
        taken = self.take(num_sentences)
        for _ in taken:
            self.in_flight.popleft()
        return taken

    def add(self, place: PlaceSentence) -> Iterator[tuple[Document | TextError, Context]]:
        """Put the next sentence into its document, and yield those that are complete before it."""
        yield from self.finished()
        self._waiting[0].add(place)

    def finished(self) -> Iterator[tuple[Document | TextError, Context]]:
        """Take the documents that are complete, and the errors between them, from the front of the queue."""
        while self._waiting and self._waiting[0].is_complete:
            done = self._waiting.popleft()
            yield done.result(), done.context

    @property
    def has_finished(self) -> bool:
        """Whether `finished` has something to give."""
        return bool(self._waiting) and self._waiting[0].is_complete

    @property
    def first_waiting(self) -> int | None:
        """The number of the first text that waits or is read next; None if texts have no numbers."""
        return self._num_read - len(self._waiting) if self._is_numbered else None

    @property
    def is_empty(self) -> bool:
        """Whether no text waits."""
        return not self._waiting
