from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.errors import ConfigError
from lexitree.labels import SENTIMENTS, LabelSet, order_labels

FINER = {"0": "bad", "1": "bad", "2": "", "3": "good", "4": "good"}
STARS = LabelSet(tuple("01234"), dict(zip("01234", SENTIMENTS, strict=True)))
ANSWERS = LabelSet(("bad", "good"), {"2": "neutral", "good": "fine"}, FINER)


def test_a_label_has_a_name() -> None:
    assert STARS.names == SENTIMENTS
    assert (STARS.name_of("3"), STARS.describe("3")) == ("positive", "3 (positive)")
    plain = LabelSet(("HUM", "LOC"))
    assert plain.names == ("HUM", "LOC")
    assert (plain.name_of("LOC"), plain.describe("LOC")) == ("LOC", "LOC")


def test_names_that_would_be_taken_for_each_other_are_not_used() -> None:
    alike = LabelSet(("a", "b", "c"), {"a": "same", "b": "same"})
    assert alike.names == ("a", "b", "c")
    assert alike.name_of("a") == "a"


def test_finer_labels_are_learned_and_count_for_answers() -> None:
    assert ANSWERS.trained_ids == tuple("01234")
    assert ANSWERS.score_groups == ((0, 1), (3, 4))
    assert ANSWERS.describe_finer() == "0, 1 for bad; 2 (neutral) for none; 3, 4 for fine"


def test_without_finer_labels_the_answers_are_learned() -> None:
    plain = LabelSet(("bad", "good"))
    assert plain.trained_ids == plain.ids
    assert plain.score_groups == ((0,), (1,))


@pytest.mark.parametrize(
    ("finer", "problem"),
    [
        ({"x": "a", "y": "b", "z": "c"}, "count for c, but the model answers with a, b"),
        ({"x": "a", "y": ""}, "no finer label counts for b"),
        ({"": "a", "x": "b"}, "must have a name"),
    ],
)
def test_finer_labels_must_fit_the_answers(finer: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        LabelSet(("a", "b"), finer=finer)


def test_no_label_occurs_twice() -> None:
    with pytest.raises(ConfigError, match="twice among a, b, a"):
        LabelSet(("a", "b", "a"))


@pytest.mark.parametrize(
    ("labels", "polarity"),
    [
        (STARS, (0, 0.25, 0.5, 0.75, 1)),
        (LabelSet(("negative", "positive")), (0.25, 0.75)),
        (LabelSet(("0", "1")), (0, 1)),
        (LabelSet(("1", "2", "3")), (0, 0.5, 1)),
        (LabelSet(("HUM", "LOC")), None),
        (LabelSet(("7",)), None),
        (LabelSet(("0", "9" * 5000)), None),
        (LabelSet(()), None),
    ],
)
def test_sentiments_and_numbers_have_an_order(labels: LabelSet, polarity: tuple[float, ...] | None) -> None:
    assert labels.polarity == polarity


def test_a_label_set_is_made_again_of_its_settings() -> None:
    values = ANSWERS.as_dict()
    assert LabelSet(values["labels"], values["label_names"], values["finer_labels"]) == ANSWERS
    assert dataclasses.replace(ANSWERS, readable={}) != ANSWERS


@given(st.lists(st.integers(-50, 50).map(str)))
def test_integers_are_ordered_by_number(labels: list[str]) -> None:
    ordered = order_labels(labels)
    assert [int(label) for label in ordered] == sorted({int(label) for label in labels})


@given(st.lists(st.text(min_size=1, max_size=3)))
def test_order_does_not_depend_on_the_order_met(labels: list[str]) -> None:
    assert order_labels(labels) == order_labels(reversed(labels))
    assert set(order_labels([*labels, ""])) == set(labels)


def test_words_among_numbers_make_the_order_alphabetical() -> None:
    assert order_labels(["9", "10", "a"]) == ("10", "9", "a")
    assert order_labels(["10", "9", "", "9"]) == ("9", "10")


def test_scores_run_from_one_end_of_the_scale_to_the_other() -> None:
    stars = LabelSet(("0", "1", "2", "3", "4"))
    assert stars.scores == (-1.0, -0.5, 0.0, 0.5, 1.0)
    assert stars.mean_score([0.0, 0.0, 0.5, 0.0, 0.5]) == 0.5
    assert LabelSet(("location", "human")).mean_score([0.5, 0.5]) is None
    # Without the stronger labels, the others stand at the ends.
    assert LabelSet(("negative", "neutral", "positive")).scores == (-1.0, 0.0, 1.0)


def test_answers_can_be_coarser() -> None:
    three, two = STARS.with_grain(3), STARS.with_grain(2)
    assert three.names == ("negative", "neutral", "positive")
    assert three.score_groups == ((0, 1), (2,), (3, 4))
    assert two.names == ("negative", "positive")
    assert two.score_groups == ((0, 1), (3, 4))
    assert two.describe("0") == "0 (very negative)"
    # From any grain to any other, by the labels that are learned.
    for labels in (STARS, three, two):
        assert [labels.with_grain(number) for number in (5, 3, 2)] == [STARS, three, two]
        assert labels.grains == (5, 3, 2)
    assert LabelSet(("positive", "negative", "neutral")).with_grain(2).score_groups == ((1,), (0,))


@pytest.mark.parametrize(
    ("labels", "number", "remedy"),
    [
        (STARS, 4, "one of: 5, 3, 2"),
        (LabelSet(("1", "2", "3", "4")), 3, "one of: 4, 2"),
        (LabelSet(("HUM", "LOC", "NUM")), 2, "one of: 3"),
        (LabelSet(("negative", "positive")), 3, "one of: 2"),
    ],
)
def test_not_every_grain_is_there(labels: LabelSet, number: int, remedy: str) -> None:
    with pytest.raises(ConfigError, match="cannot answer with") as caught:
        labels.with_grain(number)
    assert remedy in caught.value.remedy


def test_a_coarser_label_means_the_labels_on_its_side() -> None:
    assert STARS.groups_of(["positive", "negative"]) == {"negative": (0, 1), "positive": (3, 4)}
    three = {"negative": (0, 1), "neutral": (2,), "positive": (3, 4)}
    assert STARS.groups_of(["negative", "neutral", "positive"]) == three
    assert STARS.groups_of(["0", "1"]) == {"0": (0, 1), "1": (3, 4)}


def test_the_same_labels_mean_the_same() -> None:
    singles = {name: (number,) for number, name in enumerate(SENTIMENTS)}
    assert STARS.groups_of(SENTIMENTS) == singles
    assert STARS.groups_of("12345") == {star: (number,) for number, star in enumerate("12345")}
    kinds = LabelSet(("HUM", "LOC", "NUM"))
    assert kinds.groups_of(["NUM", "HUM"]) == {"HUM": (0,), "NUM": (2,)}


def test_finer_labels_on_one_side_mean_the_one_that_is_learned_there() -> None:
    two = LabelSet(("negative", "positive"))
    sides = {"0": (0,), "1": (0,), "2": (), "3": (1,), "4": (1,)}
    assert two.groups_of("01234") == sides
    assert ANSWERS.groups_of(["bad", "good"]) == {"bad": (0, 1), "good": (3, 4)}


def test_what_labels_mean_can_be_given() -> None:
    given = {"ok": ["2", "positive"], "bad": ["0"], "odd": []}
    assert STARS.groups_of(["ok", "bad", "odd"], given) == {"ok": (2, 3), "bad": (0,), "odd": ()}


@pytest.mark.parametrize(
    ("labels", "given", "problem"),
    [
        (["good", "bad"], None, "it is not obvious which of"),
        ("1234567", None, "it is not obvious which of"),
        (["bad"], {"bad": ["1", "awful"]}, "the label 'bad' cannot mean 'awful'"),
        (["bad"], {"bad": []}, "nothing to learn"),
    ],
)
def test_labels_of_unknown_meaning_are_refused(
    labels: list[str], given: dict[str, list[str]] | None, problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        STARS.groups_of(labels, given)
