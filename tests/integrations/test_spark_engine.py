"""Spark labels a data frame as one process does, opens a model per worker, and repeats the work of a killed one."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
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
from tests.pipeline.stubs import RightBranching

ROOT = Path(__file__).parents[2]
NUM_PARTITIONS = 5


class Counted(Labeller):
    """Notes in a file which process unpickles it."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        with open(os.environ["LEXITREE_TEST_NOTES"], "a", encoding="ascii") as notes:
            notes.write(f"{os.getpid()}\n")


class KilledOnce(Labeller):
    """Kills its process at the batch with a certain row, the first time."""

    def __call__(self, batch: Any) -> Any:
        if 300 in batch.column("id").to_pylist():
            try:
                os.close(os.open(os.environ["LEXITREE_TEST_NOTES"], os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return super().__call__(batch)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(batch)


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
    settings = pickle.dumps(Labeller(saved_model, parser="stub"))
    found = [[*_label_batches(settings, [{"text": ["good"]}] * 2)] for _ in range(2)]
    assert found[0] == found[1]
    assert len(found[0]) == 2
    assert opened == ["stub"]


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("notes") / "notes"


@pytest.fixture(scope="module")
def spark(notes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Spark in this process with two cores; a task is tried four times."""
    sql = pytest.importorskip("pyspark.sql", reason="needs the extra spark")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("LEXITREE_TEST_NOTES", str(notes))
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            # Several batches per partition.
            "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
        }
        session = sql.SparkSession.builder.master("local[2,4]").config(map=settings).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Parquet file of 600 texts: some are missing or empty, one is beyond the limits."""
    arrow = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    from pyarrow import parquet

    lines = (ROOT / "benchmarks" / "other_texts.tsv").read_text(encoding="utf-8").splitlines()
    values: list[str | None] = [lines[k % len(lines)].rpartition("\t")[2] for k in range(600)]
    values[7::60] = [None] * 10
    values[8::60] = [""] * 10
    values[100] = "word " * 20_001
    path = tmp_path_factory.mktemp("texts") / "texts.parquet"
    parquet.write_table(arrow.table({"id": range(600), "text": values}), path, row_group_size=150)
    return path


@pytest.fixture(scope="module")
def expected(texts: Path) -> Any:
    """What `lexitree predict` makes of them, in one process."""
    from pyarrow import parquet

    folder = texts.parent / "expected"
    done = run_command("predict", texts, "--column", "text", "--phrases", "--errors", "-o", f"{folder}/")
    assert done.returncode == 0, done.stderr
    return parquet.read_table(folder)


def label_texts(spark: Any, texts: Path, labeller: Labeller, output: Path) -> Any:
    """The table that Spark has written, by the order of the input."""
    from pyarrow import parquet

    frame = spark.read.parquet(str(texts)).repartitionByRange(NUM_PARTITIONS, "id")
    label_frame(frame, labeller).write.parquet(str(output))
    return parquet.read_table(output).sort_by("id")


def assert_same_rows(found: Any, expected: Any) -> None:
    """Fails unless two tables have the same texts, trees, labels and heads and, nearly, the same numbers."""
    assert found.column_names == expected.column_names
    for name in ("id", "text", "label", "error"):
        assert found[name].to_pylist() == expected[name].to_pylist(), name
    for name in ("score", "probability"):
        assert found[name].to_pylist() == pytest.approx(expected[name].to_pylist(), abs=1e-5), name
    for ours, theirs in zip(found["phrases"].to_pylist(), expected["phrases"].to_pylist(), strict=True):
        assert len(ours) == len(theirs)
        for our, their in zip(ours, theirs, strict=True):
            assert our == {**their, "probability": pytest.approx(their["probability"], abs=1e-5)}


@pytest.mark.slow
def test_the_same_rows_as_in_one_process(
    spark: Any, texts: Path, expected: Any, notes: Path, tmp_path: Path
) -> None:
    labeller = Counted(column="text", phrases=True, errors=True, device="cpu")
    found = label_texts(spark, texts, labeller, tmp_path / "out")
    assert_same_rows(found, expected)
    assert found["label"].null_count == 21
    assert "20,001 words" in found["error"].to_pylist()[100]
    workers = notes.read_text(encoding="ascii").split()
    assert 0 < len(workers) <= 2
    assert len(set(workers)) == len(workers)


@pytest.mark.slow
def test_a_killed_worker_loses_and_doubles_nothing(
    spark: Any, texts: Path, expected: Any, notes: Path, tmp_path: Path
) -> None:
    notes.unlink(missing_ok=True)
    labeller = KilledOnce(column="text", phrases=True, errors=True, device="cpu")
    assert_same_rows(label_texts(spark, texts, labeller, tmp_path / "out"), expected)
    assert notes.exists()


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
    assert found == {"A great film!": "very positive", "Dull.": "very negative"}
