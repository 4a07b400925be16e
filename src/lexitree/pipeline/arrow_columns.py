"""Labels as columns of Arrow: their schema, and how they are added to a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from lexitree.corpora.tables import find_column
from lexitree.errors import ConfigError, Place, import_extra
from lexitree.pipeline.formats import PHRASE_NAMES, OutputSettings

_TEXT_TYPES = ("string", "large_string", "string_view", "null")
_NUMBERS_OF_PHRASES = {"start": "int64", "end": "int64", "probability": "float64", "score": "float64"}


def _arrow() -> Any:
    return import_extra("pyarrow", extra="parquet", purpose="A table of Arrow")


def added_fields(settings: OutputSettings) -> list[Any]:
    """The columns that are added to a table, as fields of Arrow: the same for every model."""
    arrow = _arrow()
    phrase = arrow.struct(
        [(name, getattr(arrow, _NUMBERS_OF_PHRASES.get(name, "string"))()) for name in PHRASE_NAMES]
    )
    types = {"score": arrow.float64(), "probability": arrow.float64(), "phrases": arrow.list_(phrase)}
    return [
        arrow.field(name, types.get(name.removeprefix(settings.prefix), arrow.string()))
        for name in settings.added_names
    ]


def extend_schema(schema: Any, settings: OutputSettings, place: Place) -> Any:
    """The schema of a table with the columns that are added to it.

    Raises:
        TableError: There is no column of texts, or there is one already of the name of an added column.
        ConfigError: The column of texts holds something else.
    """
    names: list[str] = schema.names
    assert settings.column is not None
    number = find_column(settings.column, names, place)
    settings.refuse_clash(names, place)
    _check_texts(schema.field(number), place)
    for field in added_fields(settings):
        schema = schema.append(field)
    return schema


def _check_texts(field: Any, place: Place) -> None:
    kind = field.type.value_type if _arrow().types.is_dictionary(field.type) else field.type
    if str(kind) not in _TEXT_TYPES:
        raise ConfigError(
            f"{place}: the column {field.name!r} holds no texts but values of type {field.type}",
            remedy="Name the column that holds the texts.",
        )


def texts_of_arrow(column: Any) -> list[Any]:
    """The texts of a column of Arrow, None where there is none; bytes where the file holds no valid text."""
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        arrow = _arrow()
        if arrow.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        return [_decoded(value) for value in column.cast(arrow.large_binary()).to_pylist()]


def _decoded(value: bytes | None) -> str | bytes | None:
    try:
        return value if value is None else value.decode()
    except UnicodeDecodeError:
        return value


def added_arrays(records: Sequence[Sequence[Any]], settings: OutputSettings) -> list[Any]:
    """The added columns as arrays of Arrow, one for each of `added_fields`.

    Args:
        records: The values of each row (`ValuesFormat`).
        settings: Which columns are added.
    """
    arrow = _arrow()
    columns = zip(*records, strict=True) if records else ((),) * len(settings.added_names)
    return [
        arrow.array(list(values), type=field.type)
        for values, field in zip(columns, added_fields(settings), strict=True)
    ]


def extend_batch(batch: Any, records: Sequence[Sequence[Any]], settings: OutputSettings, schema: Any) -> Any:
    """An Arrow table or record batch with its added columns, in the schema of `extend_schema`."""
    kind = cast(Any, type(batch))
    return kind.from_arrays([*batch.columns, *added_arrays(records, settings)], schema=schema)
