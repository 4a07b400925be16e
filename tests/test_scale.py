"""The extrapolation to many nodes adds up."""

from __future__ import annotations

import importlib
import sys
from dataclasses import fields
from typing import Any

import pytest

from tests.test_results import SCRIPTS

STEPS = ("writing_µs", "reading_µs", "sending_µs", "receiving_µs")
SIZES = {"input": 100.0, "labels": 120.0, "labels and phrases": 900.0}
COSTS: dict[str, list[dict[str, Any]]] = {
    "rates": [
        {"output": "labels", "sentences_per_second": 100.0},
        {"output": "labels and phrases", "sentences_per_second": 50.0},
    ],
    "starts": [{"processor_seconds": 2.0}],
    "tables": [
        {"table": table, "parquet_bytes": size, **dict.fromkeys(STEPS, 1.0)} for table, size in SIZES.items()
    ],
    "lengths": [{"milliseconds_per_sentence": 5.0}, {"milliseconds_per_sentence": 40.0}],
}


@pytest.fixture(scope="module")
def tables() -> Any:
    if str(SCRIPTS) not in sys.path:
        sys.path.append(str(SCRIPTS))
    return importlib.import_module("scale_tables")


def test_hours_and_costs(tables: Any) -> None:
    plan = tables.Plan(sentences=36_000_000, nodes=10, cores=10, engine_share=0.5, core_share=1.0)
    labels, phrases = tables.plan_rows(plan, COSTS, None)
    # 10 nodes of 10 cores with 100 sentences per second each, of which the engine leaves the half.
    assert labels["sentences_per_second_and_node"] == pytest.approx(500)
    assert labels["hours"] == pytest.approx(2)
    assert labels["cost"] == pytest.approx(2 * 10 * plan.cpu_node_price)
    assert labels["cost_per_million"] == pytest.approx(labels["cost"] / 36)
    assert (labels["gigabytes_read"], labels["gigabytes_written"]) == pytest.approx((3.6, 4.32))
    assert phrases["hours"] == pytest.approx(4)


def test_a_gpu_that_was_measured_has_rows_of_its_own(tables: Any) -> None:
    plan = tables.Plan(gpus=4, engine_share=0.5)
    rows = list(tables.plan_rows(plan, COSTS, COSTS))
    assert [row["node"] for row in rows] == ["16 cores", "GPUs: 4"] * 2
    assert rows[1]["sentences_per_second_and_node"] == pytest.approx(4 * 100 * 0.5)


def test_what_does_not_shrink_with_the_nodes_takes_over(tables: Any) -> None:
    plan = tables.Plan(
        sentences=10**6, nodes=10, cores=1, engine_share=1.0, core_share=1.0, part_sentences=100
    )
    rows = {row["work"]: row for row in tables.limit_rows(plan, COSTS)}
    assert rows["labelling"]["seconds"] == pytest.approx(10**6 / (10 * 50))
    assert rows["the store"]["seconds"] == pytest.approx(10**6 * 1000 / 10e9)
    assert rows["a last part of long sentences only"]["seconds"] == pytest.approx(100 * 0.040)
    assert rows["a last part of long sentences only"]["as_long_as_labelling_at_nodes"] == 10 * 2000 // 4
    assert rows["reading and writing Parquet"]["as_long_as_labelling_at_nodes"] is None
    assert rows["reading and writing Parquet"]["seconds"] == pytest.approx(10**5 * 2e-6)


def test_the_page_lists_all_assumptions(tables: Any) -> None:
    shown = tables.render_scale_assumptions(tables.Plan(nodes=7))
    assert "| `--nodes` | 7 |" in shown
    assert shown.count("`--") == len(fields(tables.Plan))
