"""Limits are checked and read from options; a watch ends work; caches keep no long texts."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from threading import Event
from types import SimpleNamespace

import pytest

from lexitree import limits as limits_module
from lexitree.errors import CancelledError, ConfigError, LimitError
from lexitree.limits import MAX_CACHED_CHARACTERS, Limits, TextCache, Watch, cache_short_texts


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


def test_a_batch_that_takes_too_long_is_named_by_its_first_text() -> None:
    watch = Watch(seconds=1e-9)
    watch.start(7)
    with pytest.raises(LimitError, match="a batch of texts from number 7 on takes longer") as caught:
        watch.check()
    assert caught.value.number == 7
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_the_time_in_a_source_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(limits_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    def slow_source() -> Iterator[int]:
        for number in range(3):
            clock[0] += 100
            yield number

    watch = Watch(seconds=5)
    for _ in watch.pausing(slow_source()):
        watch.check()
        clock[0] += 2
    with pytest.raises(LimitError):
        watch.check()


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


def test_a_cache_of_texts_is_bounded() -> None:
    asked: list[str] = []

    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    cache = TextCache(length, 3)
    long = "x" * (MAX_CACHED_CHARACTERS + 1)
    assert [cache[text] for text in ("a", "bb", "a", long, long, "ccc")] == [1, 2, 1, len(long), len(long), 3]
    assert asked == ["a", "bb", long, long, "ccc"]
    assert cache == {"a": 1, "bb": 2, "ccc": 3}
    assert cache["dddd"] == 4
    assert cache == {"dddd": 4}


def test_a_copy_of_a_cache_starts_empty() -> None:
    cache = TextCache(len, 3)
    assert cache["film"] == 4
    for copied in (copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert not copied
        assert copied["film"] == 4
        assert copied.size == 3
