"""Guessing plans: the same on every machine, and by known words where there are any."""

from __future__ import annotations

from lexitree.lexicon.guessing import flatten_bags, letter_groups, plan_guesses
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.lexicon.word_parts import MAX_LETTERS


def test_the_rows_of_letters_are_the_same_on_every_machine() -> None:
    """They are saved with models: other numbers here would be other vectors for all who have one."""
    assert letter_groups("ab", 1 << 15) == GROUPS_OF_AB
    assert letter_groups("Ab", 1 << 15)[:-1] == GROUPS_OF_AB[:-1]
    assert len({letter_groups(word, 1 << 15)[-1] for word in ("ab", "Ab", "AB")}) == 3


GROUPS_OF_AB = [15054, 18541, 1649, 8052, 27787, 11676, 2152]


def test_a_group_counts_once() -> None:
    assert len(letter_groups("haha", 100)) == len({"<h", "ha", "ah", "a>"}) + 4 + 3 + 2 + 1
    assert letter_groups("hahahahaha", 100) == letter_groups("hahahahahahaha", 100)


def test_a_long_word_costs_no_more_than_others() -> None:
    letters = "abcdefghij" * 100_000
    assert letter_groups(letters, 100) == letter_groups(letters[:MAX_LETTERS], 100)


def test_a_plan_names_each_known_row_once() -> None:
    vocabulary = Vocabulary(["good", "well", "made"])
    plan = plan_guesses(["goooood", "well-made", "gooood", "zzz"], vocabulary)
    good, well, made = map(vocabulary.index, ("good", "well", "made"))
    assert plan.known == [good, well, made]
    first = len(plan.spelled)
    assert plan.bags == [[first], [plan.spelled.index("well-made"), first + 1, first + 2], [first], [3]]
    assert plan.spelled[3] == "zzz"
    assert plan.weights == [[1.0], [0.5, 0.25, 0.25], [1.0], [1.0]]


def test_bags_lie_one_after_the_other() -> None:
    rows, starts = flatten_bags([[3, 1], [4], [1, 5, 9]])
    assert rows.tolist() == [3, 1, 4, 1, 5, 9]
    assert starts.tolist() == [0, 2, 3]
