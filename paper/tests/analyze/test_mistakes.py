"""Where systems are right: by class, with negation, when long, together, and sentence by sentence."""

from __future__ import annotations

import pytest
from tests.evaluation.systems import made_up_system

from lexitree_paper.analyze.mistakes import (
    accuracy_by_class,
    accuracy_on_hard_sentences,
    agreement,
    has_negation,
    won_examples,
)

SENTENCES = ["Not bad", "it is nothing", "w " * 31, "does n't work", "NO way", "w " * 30]
GOLD = [0, 0, 1, 1, 1, 1]
NAMES = {"a": "very negative"}
CONFIDENCE = [0.6, 0.7, 0.8, 0.5, 0.9, 0.9]
FIRST = made_up_system(
    "first", GOLD, [[0, 0, 1, 1, 1, 0]], sentences=SENTENCES, confidence=CONFIDENCE, names=NAMES
)
SECOND = made_up_system("second", GOLD, [[0, 1, 0, 2, 0, 1]], sentences=SENTENCES, names=NAMES)


def test_by_gold_class() -> None:
    rows = accuracy_by_class([FIRST, SECOND])
    assert [(row.title, row.num_sentences) for row in rows] == [("very negative", 2), ("b", 4), ("c", 0)]
    assert rows[0].accuracies == {"first": 1.0, "second": 0.5}
    assert rows[1].accuracies == {"first": 0.75, "second": 0.25}
    assert rows[2].as_dict()["accuracies"] == {"first": None, "second": None}
    assert rows[0].deviations == {"first": 0.0, "second": 0.0}
    assert rows[2].deviations == {"first": None, "second": None}
    seeds = made_up_system("seeds", GOLD, [[0, 0, 1, 1, 1, 0], [2] * 6], sentences=SENTENCES)
    assert accuracy_by_class([seeds])[0].deviations == {"seeds": pytest.approx(1 / 2**0.5)}


def test_negation_and_length() -> None:
    assert has_negation(FIRST).tolist() == [True, False, False, True, True, False]
    rows = {row.title: row for row in accuracy_on_hard_sentences([FIRST, SECOND])}
    assert rows["with negation"].accuracies == pytest.approx({"first": 1.0, "second": 1 / 3})
    assert rows["over 30 words"].num_sentences == 1
    assert rows["over 30 words"].accuracies == {"first": 1.0, "second": 0.0}
    assert rows["with negation"].num_sentences + rows["without negation"].num_sentences == 6
    assert rows["over 30 words"].num_sentences + rows["up to 30 words"].num_sentences == 6


def test_agreement() -> None:
    found = agreement(FIRST, SECOND)
    assert (found.both, found.only_first, found.only_second, found.neither) == (1, 4, 1, 0)
    seeds = made_up_system("seeds", GOLD, [[0, 0, 1, 1, 1, 0], [2] * 6], sentences=SENTENCES)
    halved = agreement(seeds, SECOND)
    assert (halved.both, halved.only_first, halved.only_second, halved.neither) == (0.5, 2, 1.5, 2)
    assert sum(halved.as_dict()[key] for key in ("both", "only_first", "only_second", "neither")) == 6


def test_examples_come_surest_first() -> None:
    won = won_examples(FIRST, SECOND)
    assert [example.number for example in won] == [5, 3, 2, 4]
    assert [example.confidence for example in won] == pytest.approx([0.9, 0.8, 0.7, 0.5])
    assert (won[0].gold, won[0].wrong, won[0].wrong_confidence) == ("b", "very negative", pytest.approx(0.9))
    assert won_examples(FIRST, SECOND, limit=2) == won[:2]
    assert len(won_examples(FIRST, SECOND, limit=None)) == 4
    assert won[0].text() == "5. NO way\n   first: b (0.90); second: very negative (0.90)"
    assert won[0].as_dict()["words"] == ["NO", "way"]


def test_no_word_steers_the_terminal() -> None:
    texts = ["\x1b[31mred -LRB-"]
    first = made_up_system("x", [0], [[0]], sentences=texts)
    second = made_up_system("y", [0], [[1]], sentences=texts)
    assert won_examples(first, second)[0].text().startswith("1. \\x1b[31mred (\n")


def test_seeds_speak_with_one_voice() -> None:
    seeds = made_up_system("seeds", [0, 0], [[0, 1], [0, 0], [1, 1]])
    other = made_up_system("other", [0, 0], [[1, 1]])
    assert [example.number for example in won_examples(seeds, other)] == [1]
