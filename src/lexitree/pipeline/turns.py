"""Turns: threads that share a pipeline compute one after the other, and a fork waits for the one that computes."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from threading import Lock, get_ident
from weakref import WeakValueDictionary

from lexitree.errors import ConfigError
from lexitree.limits import Check

_CHECK_SECONDS = 0.05
"""How often a thread that waits for its turn checks whether it still should."""

FORK_SECONDS = 5.0
"""How long a fork waits for a batch to end."""


class Turn:
    """A lock that can be released for a while, and that is free in a forked process.

    A fork first waits for the thread that has the turn: torch has locks of its own, which would stay locked in the
    other process if a thread that is not there were inside. If that thread takes too long, nobody can have the turn
    in the other process.
    """

    _numbers = count()

    def __init__(self) -> None:
        self._lock = Lock()
        self._holder: int | None = None
        self._forking: int | None = None
        self._is_broken = False
        self.number = next(self._numbers)
        _turns[self.number] = self

    @contextmanager
    def held(self, check: Check) -> Generator[None]:
        """Wait for the turn and have it for the block; `check` may end the waiting with an error."""
        if self._holder == get_ident():
            raise ConfigError("a pipeline cannot be used by its own parser, splitter or binarizer")
        if self._is_broken:
            raise ConfigError(
                "this process was forked in the middle of a batch",
                remedy="Load the pipeline after the fork, or start processes with spawn.",
            )
        self._take(check)
        try:
            yield
        finally:
            # Not if the block ended while it waited to have the turn again.
            if self._holder == get_ident():
                self._holder = None
                self._lock.release()

    def _take(self, check: Check) -> None:
        while not self._lock.acquire(timeout=_CHECK_SECONDS):
            check()
        self._holder = get_ident()

    @contextmanager
    def released(self, check: Check) -> Generator[None]:
        """Leave the turn to others for the block, if this thread has it; `check` may end the waiting after it."""
        if self._holder != get_ident():
            yield
            return
        self._holder = None
        self._lock.release()
        try:
            yield
        finally:
            self._take(check)

    def keep_for_fork(self) -> None:
        """Take the lock, unless this thread has it or a batch takes very long."""
        if self._holder != get_ident() and self._lock.acquire(timeout=FORK_SECONDS):
            self._forking = get_ident()

    def release_after_fork(self) -> None:
        """Give back what `keep_for_fork` has taken."""
        if self._forking == get_ident():
            self._forking = None
            self._lock.release()

    def renew_in_child(self) -> None:
        """Start anew, without the threads that are not there."""
        self._lock = Lock()
        if self._holder == get_ident():
            # The parser itself has forked, and goes on in both processes.
            self._lock.acquire()
        else:
            self._holder = None
            self._is_broken = self._is_broken or self._forking != get_ident()
        self._forking = None


_turns: WeakValueDictionary[int, Turn] = WeakValueDictionary()


def _all_turns() -> list[Turn]:
    """In the same order in all threads, so that two that fork do not wait for each other."""
    # A list that is made at once: other threads may make turns meanwhile.
    turns = [turn for reference in _turns.valuerefs() if (turn := reference()) is not None]
    return sorted(turns, key=lambda turn: turn.number)


def _before_fork() -> None:
    for turn in _all_turns():
        turn.keep_for_fork()


def _after_fork_in_parent() -> None:
    for turn in _all_turns():
        turn.release_after_fork()


def _after_fork_in_child() -> None:
    for turn in _all_turns():
        turn.renew_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
