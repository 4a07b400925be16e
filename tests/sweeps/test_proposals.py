"""Proposals depend on nothing but the trials before; failures are avoided; lists can be chosen."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.errors import FileError
from lexitree.sweeps.proposals import MAX_EPOCHS, TrialStore, median_rule, propose
from lexitree.sweeps.search_space import SearchSpace, SweepSettings
from tests.sweeps.fake_trials import write_space

pytest.importorskip("optuna", reason="the extra sweep is not installed")

RATE = "training.learning_rate"


def test_a_proposal_follows_from_the_number_and_the_seed(tmp_path: Path) -> None:
    space = write_space(tmp_path)
    first = [propose(space, number, [], []) for number in range(4)]
    assert first == [propose(space, number, [], []) for number in range(4)]
    assert len({each[RATE] for each in first}) == 4
    other = write_space(tmp_path, sampler_seed=7)
    assert propose(other, 0, [], []) != first[0]
    assert all(1e-4 <= each[RATE] <= 0.1 and each["model.dropout"] in (0.2, 0.3, 0.4) for each in first)


def test_what_failed_is_avoided(tmp_path: Path) -> None:
    """Optuna itself ignores failed trials, and proposes the same again."""
    space = write_space(tmp_path, random_trials=1)
    store = TrialStore(tmp_path / "trials.db", space)
    for rate in (1e-2, 2e-2, 4e-2, 8e-2):
        store.add({RATE: rate, "model.dropout": 0.3}, "failed", None, {}, {})
    store.add({RATE: 1e-3, "model.dropout": 0.3}, "complete", 0.5, {1: 0.5}, {})
    proposed = [propose(space, number, store.trials, [])[RATE] for number in range(10)]
    assert sum(rate < 5e-3 for rate in proposed) >= 8


def test_lists_are_choices_like_others(tmp_path: Path) -> None:
    space = write_space(tmp_path, '[space]\nteacher_trees = [["a.txt"], ["b.txt", "c.txt"]]\n')
    store = TrialStore(tmp_path / "trials.db", space)
    drawn = [propose(space, number, store.trials, []) for number in range(6)]
    assert {str(each["teacher_trees"]) for each in drawn} == {"['a.txt']", "['b.txt', 'c.txt']"}
    store.add(drawn[0], "complete", 0.5, {1: 0.5}, {})
    assert propose(space, 1, store.trials, [drawn[1]])


def test_the_median_decides_after_some_trials_and_epochs() -> None:
    settings = SweepSettings(unstopped_trials=3, unstopped_epochs=1)
    others = [{1: 0.2 + shift, 2: 0.5 + shift} for shift in (0.0, 0.1, 0.2)]
    is_hopeless = median_rule(settings, others)
    assert not is_hopeless(1, 0.0)
    assert is_hopeless(2, 0.55)
    assert not median_rule(settings, others)(2, 0.65)
    assert not median_rule(settings, others[:2])(2, 0.0)
    assert not median_rule(SweepSettings(stopping="none"), others * 3)(9, 0.0)


def test_a_median_of_few_trials_does_not_decide() -> None:
    """Where others have ended early, those that go on are too few to compare with."""
    settings = SweepSettings(unstopped_trials=3, unstopped_epochs=1)
    others = [{1: 0.5, 2: 0.5}, {1: 0.5, 2: 0.5}, {1: 0.5, 2: 0.5, 3: 0.9}]
    assert median_rule(settings, others)(2, 0.4)
    assert not median_rule(settings, others)(3, 0.4)


def test_a_good_first_seed_does_not_shield_the_second() -> None:
    settings = SweepSettings(unstopped_trials=1, unstopped_epochs=1)
    steps = (1, 2, MAX_EPOCHS + 1, MAX_EPOCHS + 2)
    is_hopeless = median_rule(settings, [dict.fromkeys(steps, 0.5)])
    scores = (0.9, 0.9, 0.3, 0.3)
    assert [is_hopeless(*each) for each in zip(steps, scores, strict=True)] == [False, False, False, True]


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trials.db").write_bytes(b"not a database, but long enough to be read as one" * 100)
    with pytest.raises(FileError, match="is not a file of a sweep's trials"):
        TrialStore(tmp_path / "trials.db", SearchSpace({}))
