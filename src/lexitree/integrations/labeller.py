"""Add labels to batches of columns, as Arrow, pandas and Hugging Face datasets hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from threading import Lock
from typing import Any, Self, TypeVar, cast

import numpy as np

from lexitree.corpora.tables import Row, find_column
from lexitree.errors import ConfigError, InputError, Place
from lexitree.ops.openmp import openmp_threads
from lexitree.pipeline.arrow_columns import extend_batch, extend_schema, texts_of_arrow
from lexitree.pipeline.formats import OutputSettings, ValuesFormat
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.pipeline.workers import LabellerSettings
from lexitree.saving.shipped import DEFAULT_MODEL
from lexitree.text.columns import column_values, is_null

Batch = TypeVar("Batch")

_BATCH = Place("the batch")
_NUMBERS = ("score", "probability")
"""Columns that hold numbers; NumPy and pandas have NaN where there is none."""


class Labeller:
    """Labels the texts in a column of a batch, and returns the batch with the labels as further columns.

        labeller = lexitree.Labeller("sentiment", column="comment")
        table = labeller(table)                           # pyarrow, pandas, or a dictionary of columns

    A labeller opens its model with the first batch, once per process. It pickles as its settings, so an engine can
    send it to its workers; those with the same settings are equal. The added columns are the same for every model
    and batch:

    - `label` (text): the likeliest label of the text. Null for a text that is missing, empty or refused.
    - `score` (number): where the text stands between the ends of an ordered set of labels, from -1 to 1. Null
      for labels without an order.
    - `probability` (number): the probability of the label.
    - `phrases`, if asked for: a list of the phrases, each with `start`, `end`, `text`, `label`, `probability`,
      `score` and `head`. Empty for a text without label.
    - `warning` (text), if asked for: why the label may mean nothing, since the model does not know the text.
    - `error` (text), if asked for: why the text was refused, because it is beyond a limit or is not a text.

    Args:
        model: A shipped model, a model folder, or `owner/name` on the Hugging Face hub.
        column: The column of the texts.
        prefix: What the names of the added columns begin with.
        phrases: Whether to add the phrases.
        errors: Whether to add why a text was refused.
        warnings: Whether to add why a label may mean nothing.
        num_threads: How many threads PyTorch uses. Engines run a labeller per core, so the default is 1; None leaves
            PyTorch's own setting.
        settings: The other fields of `LabellerSettings`: `parser`, `device`, `precision`, `batch_size`, `limits` ...
    """

    def __init__(
        self,
        model: str | Path = DEFAULT_MODEL,
        column: str = "text",
        *,
        prefix: str = "",
        phrases: bool = False,
        errors: bool = False,
        warnings: bool = False,
        num_threads: int | None = 1,
        **settings: Any,
    ) -> None:
        if num_threads is not None and num_threads < 1:
            raise ConfigError(f"num_threads must be at least 1, not {num_threads}")
        self._settings = LabellerSettings(model, **settings)
        self._output = OutputSettings(
            column,
            prefix=prefix,
            phrases=phrases,
            score=True,
            errors=errors,
            warnings=warnings,
            keeps_refused=True,
        )
        self._num_threads = num_threads
        self._prepare()

    def _prepare(self) -> None:
        self._pipe: TextPipeline | None = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """The settings, without the open model."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_pipe", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__getstate__() == self.__getstate__()

    def __hash__(self) -> int:
        return hash((type(self), *self.__getstate__().values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._settings.model)!r}, column={self._output.column!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the model; the next batch opens it again."""
        with self._lock:
            pipe, self._pipe = self._pipe, None
        if pipe is not None:
            pipe.close()

    def schema(self, input_schema: Any) -> Any:
        """The Arrow schema of the output for that of an input; the model is not opened.

        Raises:
            TableError: There is no such column of texts, or an added column would have the name of another.
            ConfigError: The column holds no texts.
        """
        return extend_schema(input_schema, self._output, _BATCH)

    def __call__(self, batch: Batch) -> Batch:
        """Label a batch.

        Args:
            batch: A pyarrow table or record batch, a pandas data frame, or a dictionary of lists or NumPy arrays. It
                is not changed.

        Returns:
            The same kind of batch, with the added columns.

        Raises:
            TableError: There is no such column of texts, or an added column would have the name of another.
            ConfigError: The column holds no texts, or the batch is something else.
        """
        given = cast(Any, batch)
        if isinstance(given, Mapping):
            return cast(Batch, self._label_dictionary(cast("Mapping[str, Any]", given)))
        if hasattr(given, "schema") and hasattr(given, "num_rows"):
            return self._label_arrow(given)
        if hasattr(given, "iloc") and hasattr(given, "assign"):
            return self._label_frame(given)
        raise ConfigError(
            f"a batch is a table, not a {type(given).__name__}",
            remedy="Give a table of pyarrow or pandas, or a dictionary of columns; polars has to_arrow().",
        )

    def _label_arrow(self, table: Any) -> Any:
        schema = self.schema(table.schema)
        texts = texts_of_arrow(table.column(self._column))
        return extend_batch(table, self._records(texts), self._output, schema)

    def _label_frame(self, frame: Any) -> Any:
        self._check_names([str(name) for name in frame.columns])
        texts = frame[self._output.column]
        kinds = self._kinds
        return frame.assign(
            **{
                name: type(texts)(values, index=frame.index, dtype=kinds[name])
                for name, values in self._columns(texts).items()
            }
        )

    def _label_dictionary(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        self._check_names(list(columns))
        texts = columns[self._column]
        added: Mapping[str, Any] = self._columns(texts)
        if isinstance(texts, np.ndarray):
            kinds = self._kinds
            # Not np.array, which would make a table of lists of equal length.
            added = {
                name: np.array(values, float) if kinds[name] is float else np.fromiter(values, object)
                for name, values in added.items()
            }
        return {**columns, **added}

    @property
    def _column(self) -> str:
        assert self._output.column is not None
        return self._output.column

    @property
    def _kinds(self) -> dict[str, type]:
        """What NumPy and pandas hold in each added column; NaN is the missing number, None any other."""
        return {
            name: float if name.removeprefix(self._output.prefix) in _NUMBERS else object
            for name in self._output.added_names
        }

    def _check_names(self, names: Sequence[str]) -> None:
        find_column(self._column, names, _BATCH)
        self._output.refuse_clash(names, _BATCH)

    def _columns(self, texts: Any) -> dict[str, list[Any]]:
        """The added columns by name."""
        records = self._records(column_values(texts))
        return {name: [record[k] for record in records] for k, name in enumerate(self._output.added_names)}

    def _records(self, texts: Iterable[object]) -> list[list[Any]]:
        """The values that are added to each row."""
        rows = (
            Row(cast(str, "" if is_null(text) else text), (), Place(self._column, number))
            for number, text in enumerate(texts, 1)
        )
        with openmp_threads(self._num_threads) if self._num_threads else nullcontext():
            results = self._settings.records(self._open(), rows, ValuesFormat(self._output))
            return [result for result in results if not isinstance(result, InputError)]

    def _open(self) -> TextPipeline:
        with self._lock:
            if self._pipe is None:
                self._pipe = self._settings.open_pipeline()
            return self._pipe
