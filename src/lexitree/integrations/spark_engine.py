"""Labels as columns of Spark: a data frame is labelled by a `Labeller` in Spark's Python workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from typing import Any, TypeVar, cast

from lexitree.errors import ConfigError, import_extra
from lexitree.integrations.labeller import Labeller

Frame = TypeVar("Frame")

_KEPT_LABELLERS = 2
"""Labellers that a worker keeps: a plan may have two of them, and any idle worker may be asked for either."""


def label_frame(frame: Frame, labeller: Labeller) -> Frame:
    """Add labels to a data frame of Spark.

        spark = SparkSession.builder.getOrCreate()
        labelled = label_frame(spark.read.parquet("comments"), lexitree.Labeller("sentiment", column="comment"))
        labelled.write.parquet("labelled")

    As always with Spark, nothing is computed before the result is asked for. Every Python worker opens the model
    once, as long as Spark reuses its workers (`spark.python.worker.reuse`, the default). All nodes need the same
    versions of lexitree and of Python.

    Args:
        frame: The data frame.
        labeller: What labels its column of texts.

    Returns:
        The data frame with the columns that the labeller adds.

    Raises:
        TableError: There is no such column of texts, or an added column would have the name of another.
        ConfigError: The column holds no texts, or the frame is not one of Spark.
        MissingExtraError: pyspark, or one of the packages that it needs for this, is not installed.
    """
    given = cast(Any, frame)
    if not hasattr(given, "mapInArrow"):
        raise ConfigError(
            f"a data frame of Spark is needed, not a {type(given).__name__}",
            remedy="A labeller takes other tables itself: labeller(table)",
        )
    # Batches of Arrow, not of pandas, which would convert nested phrases one by one.
    return given.mapInArrow(partial(_label_batches, labeller), _labelled_schema(given, labeller))


def _labelled_schema(frame: Any, labeller: Labeller) -> Any:
    for package in ("pandas", "pyarrow"):
        _import(package)
    types, conversions = _import("pyspark.sql.types"), _import("pyspark.sql.pandas.types")
    # Not `frame.limit(0)`, which a stream does not allow.
    given = frame.sparkSession.createDataFrame([], frame.schema).toArrow().schema
    added = list(labeller.schema(given))[len(given) :]
    fields = [types.StructField(field.name, conversions.from_arrow_type(field.type)) for field in added]
    # The columns of the frame keep their own types, which those of Arrow may describe less exactly.
    return types.StructType([*frame.schema.fields, *fields])


def _import(module: str) -> Any:
    return import_extra(module, extra="spark", purpose="Labelling a data frame of Spark")


def _label_batches(labeller: Labeller, batches: Iterable[Any]) -> Iterator[Any]:
    """What Spark runs in its workers, for each task with another copy of the labeller."""
    return map(_kept(labeller), batches)


@lru_cache(_KEPT_LABELLERS)
def _kept(labeller: Labeller) -> Labeller:
    """The first labeller of this worker that equals the given one: its model is open since an earlier task."""
    return labeller
