"""What engines get wrong is found when their rows are compared with those of one process."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.integrations.engine_tables import compare_rows, outcome

Rows = list[dict[str, Any]]
PHRASE = {"start": 0, "end": 4, "label": "good", "head": "good", "probability": 0.9, "score": 0.5}
ROWS: Rows = [
    {"id": number, "text": "good", "label": "good", "probability": 0.9, "score": 0.5, "phrases": [{**PHRASE}]}
    for number in range(1000)
]


def other_spans(rows: Rows) -> None:
    for row in rows:
        row["phrases"][0]["end"] = 3


def without_score(rows: Rows) -> None:
    for row in rows:
        del row["score"]


CHANGES: dict[str, Callable[[Rows], object]] = {
    "rows with other phrases, too many for near-ties: 1000": other_spans,
    "rows with other phrases, too many for near-ties: 2": lambda rows: other_spans(rows[:2]),
    "rows missing: 1": lambda rows: rows.pop(),
    "rows twice: 1": lambda rows: rows.append(rows[0]),
    "rows unknown: 1": lambda rows: rows.append({**rows[0], "id": 1000}),
    "labels that differ: 1": lambda rows: rows[0].update(label="bad"),
    "head words that differ: 1": lambda rows: rows[0]["phrases"][0].update(head="a"),
    "largest difference of a probability: 0.1": lambda rows: rows[0].update(probability=0.8),
    "largest difference of a score: 0.2": lambda rows: rows[0]["phrases"][0].update(score=0.3),
    "largest difference of a score: 1": without_score,
}


@pytest.mark.parametrize("said", CHANGES)
def test_what_differs_is_said(said: str) -> None:
    found = deepcopy(ROWS)
    CHANGES[said](found)
    assert outcome({**compare_rows(found, ROWS), "killed": ["a node"]}, num_deaths=1) == said


def test_a_near_tie_in_a_thousand_rows_is_equal() -> None:
    found = deepcopy(ROWS)
    other_spans(found[:1])
    compared = compare_rows(found, ROWS)
    assert outcome({**compared, "killed": ["a node"]}, num_deaths=1) == "equal"
    assert outcome({**compared, "killed": []}, num_deaths=1) == "killed: 0 instead of 1"
