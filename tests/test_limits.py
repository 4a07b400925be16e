"""Limits are checked and read from options; a watch ends work; caches keep no long texts."""

from __future__ import annotations

import pickle
from threading import Event

import pytest

from lexitree.errors import CancelledError, ConfigError, LimitError
from lexitree.limits import MAX_CACHED_CHARACTERS, Limits, Watch, cache_short_texts


def test_limits_are_checked() -> None:
    assert Limits(words=None).words is None
    with pytest.raises(ConfigError, match="words must be at least 1"):
        Limits(words=0)
    with pytest.raises(ConfigError, match="seconds must be above 0"):
        Limits(seconds=0.0)
    with pytest.raises(ConfigError, match="characters must be a whole number"):
        Limits.from_assignments(["characters=many"])


def test_those_of_a_service_are_tight_and_there_may_be_none() -> None:
    service, library, none = (limits.as_dict() for limits in (Limits.for_service(), Limits(), Limits.none()))
    amounts = [name for name in library if name not in ("seconds", "beyond")]
    assert all(service[name] < library[name] for name in amounts)
    assert service["seconds"]
    assert [none[name] for name in amounts] == [None] * len(amounts)


def test_limits_from_the_command_line() -> None:
    limits = Limits.from_assignments(["words=7", "characters=none", "beyond=cut"])
    assert limits == Limits(words=7, characters=None, beyond="cut")
    with pytest.raises(ConfigError, match="unknown setting: word") as caught:
        Limits.from_assignments(["word=7"])
    assert caught.value.remedy == "Did you mean words?"


def test_a_watch_ends_what_is_cancelled_or_late() -> None:
    cancel = Event()
    watch = Watch(cancel=cancel)
    watch.check()
    cancel.set()
    with pytest.raises(CancelledError):
        watch.check()
    with pytest.raises(LimitError, match="takes longer than the limit of 1e-09 seconds"):
        Watch(seconds=1e-9).check()


def test_errors_arrive_whole_in_another_process() -> None:
    error = LimitError("words", 30, 20, 4, "'a b'")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.limit, copy.amount, copy.allowed, copy.number) == (str(error), "words", 30, 20, 4)
    assert "Limits(words=...)" in copy.remedy


def test_long_texts_are_not_kept_in_caches() -> None:
    asked: list[str] = []

    @cache_short_texts
    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    short, long = "x" * MAX_CACHED_CHARACTERS, "x" * (MAX_CACHED_CHARACTERS + 1)
    assert [length(text) for text in (short, short, long, long)] == [len(short)] * 2 + [len(long)] * 2
    assert asked == [short, long, long]
