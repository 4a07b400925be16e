"""Spark labels a data frame as one process does, opens a model per worker, and repeats the work of a killed one."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lexitree import Labeller, Limits
from lexitree.errors import ConfigError, MissingExtraError, TableError
from lexitree.integrations.spark_engine import _label_batches, label_frame
from lexitree.pipeline import loading
from tests.command import run_command
from tests.integrations.engine_tables import compare_rows, read_rows, some_texts, write_table
from tests.integrations.local_spark import (
    BATCH_ROWS,
    Counted,
    KilledOnce,
    local_spark,
    row_groups_as_tasks,
    skip_without_spark,
)
from tests.pipeline.stubs import RightBranching

NUM_ROWS = 600
GROUP_ROWS = 150
EQUAL = {
    "rows": NUM_ROWS,
    "rows missing": 0,
    "rows unknown": 0,
    "rows twice": 0,
    "texts that differ": 0,
    "labels that differ": 0,
    "head words that differ": 0,
    "largest difference of a probability": pytest.approx(0, abs=1e-5),
    "largest difference of a score": pytest.approx(0, abs=1e-5),
}


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"'pandas'[\s\S]*\[spark\]"):
        label_frame(SimpleNamespace(mapInArrow=None, schema=None), Labeller())


def test_other_frames_are_refused() -> None:
    with pytest.raises(ConfigError, match="a data frame of Spark is needed, not a dict"):
        label_frame({"text": ["good"]}, Labeller())


def test_a_worker_opens_a_model_once(saved_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str | None] = []
    monkeypatch.setattr(loading, "open_parser", lambda spec: opened.append(spec) or RightBranching())
    sent = pickle.dumps(Labeller(saved_model, parser="stub"))
    found = [[*_label_batches(pickle.loads(sent), [{"text": ["good"]}] * 2)] for _ in range(2)]
    assert found[0] == found[1]
    assert len(found[0]) == 2
    assert opened == ["stub"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Parquet file of four row groups: some texts are missing or empty, and one is beyond the limits."""
    skip_without_spark()
    values: list[Any] = some_texts(NUM_ROWS)
    values[7::60] = [None] * 10
    values[8::60] = [""] * 10
    values[100] = "word " * 20_001
    return write_table(tmp_path_factory.mktemp("texts") / "texts.parquet", values, GROUP_ROWS)


@pytest.fixture(scope="module")
def spark(texts: Path) -> Iterator[Any]:
    tasks = row_groups_as_tasks(texts, NUM_ROWS // GROUP_ROWS)
    with local_spark(**tasks, **{"spark.sql.execution.arrow.maxRecordsPerBatch": BATCH_ROWS}) as session:
        yield session


@pytest.fixture(scope="module")
def expected(texts: Path) -> list[dict[str, Any]]:
    """What `lexitree predict` makes of them, in one process."""
    folder = texts.parent / "expected"
    done = run_command("predict", texts, "--column", "text", "--phrases", "--errors", "-o", f"{folder}/")
    assert done.returncode == 0, done.stderr
    return read_rows(folder)


@pytest.mark.slow
def test_the_same_rows_as_in_one_process(
    spark: Any, texts: Path, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    labeller = Counted(tmp_path / "notes", phrases=True, errors=True, device="cpu")
    label_frame(spark.read.parquet(str(texts)), labeller).write.parquet(f"{tmp_path}/out")
    found = sorted(read_rows(tmp_path / "out"), key=lambda row: row["id"])
    comparison = compare_rows(found, expected)
    assert len(comparison.pop("near-ties of the parser")) <= 3
    assert comparison == EQUAL
    assert [row["id"] for row in found if row["label"] is None] == sorted(
        [100, *range(7, NUM_ROWS, 60), *range(8, NUM_ROWS, 60)]
    )
    assert [row["error"] for row in found] == [row["error"] for row in expected]
    assert "20,001 words" in found[100]["error"]
    workers = (tmp_path / "notes").read_text(encoding="ascii").split()
    assert 0 < len(workers) <= 2
    assert len(set(workers)) == len(workers)


@pytest.mark.slow
def test_a_killed_worker_loses_and_doubles_nothing(
    spark: Any, texts: Path, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    labeller = KilledOnce(NUM_ROWS // 2 + BATCH_ROWS, tmp_path / "notes", phrases=True, device="cpu")
    label_frame(spark.read.parquet(str(texts)), labeller).write.parquet(f"{tmp_path}/out")
    assert (tmp_path / "killed").exists()
    comparison = compare_rows(read_rows(tmp_path / "out"), expected)
    assert len(comparison.pop("near-ties of the parser")) <= 3
    assert comparison == EQUAL


@pytest.mark.slow
def test_other_columns_are_kept_as_they_are(spark: Any) -> None:
    moment = datetime(2024, 2, 29, 12, tzinfo=UTC)
    rows = [(1, "A great film!", moment, Decimal("1.50"), {"a": [1, 2]}), (2, None, None, None, None)]
    types = (
        "id int not null, text string, moment timestamp, price decimal(9, 2), more map<string, array<int>>"
    )
    frame = spark.createDataFrame(rows, types)
    labelled = label_frame(frame, Labeller(prefix="my_", limits=Limits(words=3), errors=True, device="cpu"))
    assert labelled.schema.fields[: len(frame.schema)] == frame.schema.fields
    assert labelled.columns[len(frame.columns) :] == ["my_label", "my_score", "my_probability", "my_error"]
    found = sorted(labelled.collect())
    assert [tuple(row)[:5] for row in found] == [tuple(row) for row in sorted(frame.collect())]
    assert [row.my_label for row in found] == [None, None]
    assert found[0].my_error == "The text has 4 words, and the limit is 3."


@pytest.mark.slow
def test_mistakes_are_found_before_spark_starts_to_work(spark: Any) -> None:
    frame = spark.createDataFrame([(1, "good")], "score int, text string")
    with pytest.raises(TableError, match="already has a column 'score'"):
        label_frame(frame, Labeller())
    with pytest.raises(TableError, match="no column 'comment'"):
        label_frame(frame, Labeller(column="comment"))
    with pytest.raises(ConfigError, match="'score' holds no texts"):
        label_frame(frame, Labeller(column="score", prefix="my_"))


@pytest.mark.slow
def test_a_stream(spark: Any, tmp_path: Path) -> None:
    for name, text in {"a": "A great film!", "b": "Dull."}.items():
        (tmp_path / f"{name}.csv").write_text(f"{text}\n", encoding="utf-8")
    frame = spark.readStream.schema("text string").csv(str(tmp_path), sep="\t")
    stream = label_frame(frame, Labeller(device="cpu")).writeStream.format("memory").queryName("labelled")
    stream.trigger(availableNow=True).start().awaitTermination()
    found = {row.text: row.label for row in spark.table("labelled").collect()}
    assert set(found) == {"A great film!", "Dull."}
    assert None not in found.values()
