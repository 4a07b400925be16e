"""Spark on this machine with two Python workers, of which one is killed while they label a table."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lexitree.integrations.labeller import Labeller
from lexitree.integrations.spark_engine import label_frame
from lexitree.pipeline.inputs import Inputs
from lexitree.pipeline.labelling import LabellingJob
from lexitree.pipeline.workers import LabellerSettings
from tests.integrations.engine_tables import compare_rows, read_rows, some_texts, write_table

ROOT = Path(__file__).parents[2]
BATCH_ROWS = 50
"""Rows that a worker gets at a time: a partition has several batches."""


def skip_without_spark() -> None:
    pytest.importorskip("pyspark", reason="needs the extra spark")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java")


@contextmanager
def local_spark(num_workers: int = 2, **settings: object) -> Generator[Any]:
    """A session with so many workers; a task is tried four times."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{num_workers},4]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **settings,
    }.items():
        builder = builder.config(name, value)
    with pytest.MonkeyPatch.context() as patch:
        # Workers are processes of their own, with this Python and these modules.
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


def row_groups_as_tasks(table: Path, num_groups: int) -> dict[str, object]:
    """Settings by which Spark reads each row group of a file in a task of its own, if they are of about one size."""
    return {
        "spark.sql.files.maxPartitionBytes": -(-table.stat().st_size // num_groups),
        "spark.sql.files.openCostInBytes": 0,
    }


_noted: list[Labeller] = []


class Counted(Labeller):
    """Notes in a file which process uses it for the first time."""

    def __init__(self, notes: Path, **settings: Any) -> None:
        super().__init__(**settings)
        self.notes = notes

    def __call__(self, batch: Any) -> Any:
        if not any(each is self for each in _noted):
            _noted.append(self)
            with self.notes.open("a", encoding="ascii") as notes:
                notes.write(f"{os.getpid()}\n")
        return super().__call__(batch)


class KilledOnce(Counted):
    """Kills its process when it has a certain row to label, the first time."""

    def __init__(self, row: int, notes: Path, **settings: Any) -> None:
        super().__init__(notes, **settings)
        self.row = row

    def __call__(self, batch: Any) -> Any:
        if self.row in batch.column("id").to_pylist():
            try:
                self.notes.with_name("killed").touch(exist_ok=False)
            except FileExistsError:
                return super().__call__(batch)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(batch)


def label_with_death(folder: Path, num_rows: int, group_rows: int) -> dict[str, Any]:
    """Label a table in one process and with two workers of Spark, kill one of these, and compare.

    Args:
        folder: An empty folder for input and output.
        num_rows: The rows of the table.
        group_rows: The rows of a row group.
    """
    table = write_table(folder / "texts.parquet", some_texts(num_rows), group_rows)
    settings = LabellerSettings(device="cpu")
    LabellingJob(Inputs([table]), f"{folder}/one/", settings, column="text", phrases=True).run()
    labeller = KilledOnce(num_rows // 2, folder / "notes", phrases=True, device="cpu")
    batches = {"spark.sql.execution.arrow.maxRecordsPerBatch": BATCH_ROWS}
    with local_spark(**batches, **row_groups_as_tasks(table, -(-num_rows // group_rows))) as spark:
        start = time.monotonic()
        frame = spark.read.parquet(str(table))
        num_tasks = frame.rdd.getNumPartitions()
        label_frame(frame, labeller).write.parquet(f"{folder}/spark")
        seconds = time.monotonic() - start
    opened = (folder / "notes").read_text(encoding="ascii").split()
    return {
        "nodes": 1,
        "killed": [f"a worker at row {num_rows // 2:,}"] * (folder / "killed").exists(),
        "parts": num_tasks,
        "workers": len(opened),
        "seconds": round(seconds, 1),
        **compare_rows(read_rows(folder / "spark"), read_rows(folder / "one")),
    }
