"""Limits on the work for one text, the watch that ends long work, and caches that are bounded by their size."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, wraps
from threading import Event
from typing import Annotated, Literal, Self, TypeVar

from lexitree.errors import CancelledError, LimitError
from lexitree.settings import MAX_COUNT, Setting, Settings

Check = Callable[[], object]
"""Called between the parts of long work; raises an error to end it."""


Value = TypeVar("Value")


def no_check() -> None:
    """Let the work go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Settings):
    """Limits on the work for one text. A text beyond a limit is refused with a `LimitError`; None is no limit.

    The defaults are generous: on one core, the most expensive text within them takes well under a minute.
    """

    characters: Annotated[int | None, Setting("Characters per text.", at_least=1, at_most=MAX_COUNT)] = (
        1_000_000
    )
    words: Annotated[
        int | None, Setting("Words per text, punctuation included.", at_least=1, at_most=MAX_COUNT)
    ] = 20_000
    sentence_words: Annotated[int | None, Setting("Words per sentence.", at_least=1, at_most=MAX_COUNT)] = (
        5_000
    )
    token_characters: Annotated[
        int | None, Setting("Characters per token.", at_least=1, at_most=MAX_COUNT)
    ] = 10_000
    phrases: Annotated[
        int | None,
        Setting(
            "Phrases per text; a sentence of n words has 2n - 1, so this matters when the limit on words is raised"
            " or none.",
            at_least=1,
            at_most=MAX_COUNT,
        ),
    ] = 40_000
    seconds: Annotated[
        float | None,
        Setting(
            "Seconds that a call may take, or one batch of a stream, waiting for its turn included; a batch that"
            " takes longer ends the stream, whatever is done about single texts.",
            above=0,
            at_most=MAX_COUNT,
        ),
    ] = None
    beyond: Annotated[
        Literal["refuse", "cut"],
        Setting(
            "Whether a text beyond the limits is refused, or cut: long sentences and tokens into pieces, and a long"
            " text after the last sentence that fits. The notes of the document tell what was cut."
        ),
    ] = "refuse"

    @classmethod
    def for_service(cls) -> Self:
        """Tight limits for texts from strangers: a second or two of work."""
        return cls(
            characters=20_000,
            words=2_000,
            sentence_words=500,
            token_characters=500,
            phrases=4_000,
            seconds=10.0,
        )

    @classmethod
    def none(cls) -> Self:
        """No limits: cost and memory grow with the text."""
        return cls(characters=None, words=None, sentence_words=None, token_characters=None, phrases=None)

    @classmethod
    def from_assignments(cls, assignments: Iterable[str]) -> Self:
        """The default limits, except those that are given: `words=100000`; `none` stands for no limit."""
        values = cls.parse_assignments(assignments)
        return cls().with_values({name: None if value == "none" else value for name, value in values.items()})

    def exceeded(self, name: str, amount: int) -> bool:
        """Whether an amount is beyond the limit of this name."""
        allowed: int | None = getattr(self, name)
        return allowed is not None and amount > allowed


class Watch:
    """Ends work that another thread has cancelled, or that takes too long.

    Args:
        seconds: How long the work may take from `start` on; None for any time.
        cancel: Set by another thread to end the work.
    """

    def __init__(self, seconds: float | None = None, cancel: Event | None = None) -> None:
        self._seconds = seconds
        self._cancel = cancel
        self.start()

    def start(self, first_text: int | None = None) -> None:
        """Restart the clock, for a batch of a stream with the number of its first text."""
        self._started = time.monotonic()
        self._first_text = first_text

    @contextmanager
    def paused(self) -> Generator[None]:
        """Do not count the time of the block."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._started += time.monotonic() - began

    def pausing(self, items: Iterable[Value]) -> Iterator[Value]:
        """The items, without the time that their source takes."""
        iterator = iter(items)
        while True:
            # As `paused` does, which takes longer than reading most texts.
            began = time.monotonic()
            try:
                taken = next(iterator)
            except StopIteration:
                return
            finally:
                self._started += time.monotonic() - began
            yield taken

    def check(self) -> None:
        """Do nothing if the work may go on.

        Raises:
            CancelledError: Another thread has cancelled it.
            LimitError: It takes too long.
        """
        if self._cancel is not None and self._cancel.is_set():
            raise CancelledError("cancelled")
        if self._seconds is not None and time.monotonic() - self._started > self._seconds:
            raise LimitError("seconds", None, self._seconds, self._first_text)


MAX_CACHED_CHARACTERS = 100
"""Longer texts are not kept in caches, so that a bound on the number of entries is a bound on their size."""

_CACHED_TEXTS = 4096


def cache_short_texts(function: Callable[[str], Value]) -> Callable[[str], Value]:
    """Remember what a function of a text returns for the latest texts, except long ones."""
    remembered = lru_cache(_CACHED_TEXTS)(function)

    @wraps(function)
    def look_up(text: str) -> Value:
        return remembered(text) if len(text) <= MAX_CACHED_CHARACTERS else function(text)

    return look_up


class TextCache(dict[str, Value]):
    """What a function gives for each text, computed once; a hit costs one dictionary access.

    It is cleared when it is full, and long texts are not kept, so that endless input does not fill the memory.

    Args:
        function: Gives the value of a text.
        size: How many values are kept.
    """

    def __init__(self, function: Callable[[str], Value], size: int) -> None:
        super().__init__()
        self.size = size
        self._function = function

    def __missing__(self, text: str) -> Value:
        value = self._function(text)
        if len(text) <= MAX_CACHED_CHARACTERS:
            if len(self) >= self.size:
                self.clear()
            self[text] = value
        return value

    def __reduce__(self) -> tuple[object, ...]:
        """A copy starts empty."""
        return type(self), (self._function, self.size)
