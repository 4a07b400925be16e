"""Tests between systems come from the answers in their records, and only where sentences can be paired."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.evaluation.significance import compare_recipe_scores, compare_recipes
from lexitree_paper.experiments import find_experiment
from lexitree_paper.score_tables import difference_tables, right_answers

EXPERIMENT = find_experiment("main-table")
GOLD = "0123401234"
GOOD, BAD = ["0123401234", "0123401230"], ["4321043210", "0000000000"]


def record(answers: list[str], gold: str | None = GOLD) -> dict[str, Any]:
    runs = {str(seed): {"test_root_answers": said} for seed, said in enumerate(answers, 1)}
    return {"test_root_gold": gold, "runs": runs}


def test_a_pair_is_tested_as_its_answers_say() -> None:
    records = {"sst-contree": record(BAD), "sst-bicontree": record(GOOD)}
    (table,) = difference_tables(EXPERIMENT, records)
    (row,) = table.rows
    right = [[answer == gold for answer, gold in zip(said, GOLD, strict=True)] for said in (*GOOD, *BAD)]
    expected = compare_recipes(right[:2], right[2:])
    assert row[0] == "BiConTree – ConTree"
    assert row[1] == f"{100 * expected.difference:+.1f}" == "+75.0"
    assert row[3] == expected.shown_p()
    assert len(table.columns) == len(row) == 4, "tasks that nothing is known of have no columns"


def test_phrases_are_compared_by_seeds() -> None:
    records = {"sst-contree": record(BAD), "sst-bicontree": record(GOOD)}
    scores = {"sst-contree": (0.5, 0.52), "sst-bicontree": (0.7, 0.74)}
    for name, values in scores.items():
        for run, value in zip(records[name]["runs"].values(), values, strict=True):
            run["test_phrase"] = value
    _, table = difference_tables(EXPERIMENT, records)
    expected = compare_recipe_scores(scores["sst-bicontree"], scores["sst-contree"])
    assert table.rows[0][1:] == (
        "+21.0",
        f"{100 * expected.low:+.1f} and {100 * expected.high:+.1f}",
        expected.shown_p(),
    )
    assert "seeds only" in table.notes[0]


@pytest.mark.parametrize(
    "other",
    [
        record(GOOD, None),
        record(GOOD, GOLD[::-1]),
        {"runs": {"1": {}, "2": {}}},
        {**record(GOOD), "runs": {"1": {}, "2": {}}},
        record(GOOD[:1]),
    ],
    ids=["no gold", "other sentences", "an old record", "no answers", "one seed"],
)
def test_what_cannot_be_paired_is_left_out(other: dict[str, Any]) -> None:
    assert difference_tables(EXPERIMENT, {"sst-contree": record(BAD), "sst-bicontree": other}) == []
    assert difference_tables(EXPERIMENT, {"sst-contree": record(BAD)}) == []


@given(st.text("01234-", min_size=1, max_size=30), st.data())
def test_sentences_without_a_label_do_not_count(gold: str, data: st.DataObject) -> None:
    said = data.draw(st.text("01234", min_size=len(gold), max_size=len(gold)))
    right = right_answers(record([said], gold))
    assert right is not None
    labelled = [(answer, label) for answer, label in zip(said, gold, strict=True) if label != "-"]
    assert right.tolist() == [[answer == label for answer, label in labelled]]
