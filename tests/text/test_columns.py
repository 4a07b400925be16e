"""Texts out of lists, arrays and columns of data frames, and a clear error for what is none of these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lexitree.errors import TextError
from lexitree.text.columns import texts_of_column

TEXTS = ["A fine film.", "", "Dull."]


@pytest.mark.parametrize(
    "column",
    [
        TEXTS,
        tuple(TEXTS),
        ["A fine film.", None, "Dull."],
        ["A fine film.", float("nan"), "Dull."],
        np.array(TEXTS),
        np.array(["A fine film.", None, "Dull."], dtype=object),
        pd.Series(TEXTS, index=[7, 7, 3]),
        pd.Series(["A fine film.", None, "Dull."], dtype="string"),
        pd.Series(["A fine film.", np.nan, "Dull."], dtype=object),
        pd.DataFrame({"comment": ["A fine film.", pd.NaT, "Dull."]}, dtype=object)["comment"],
        pd.Series(TEXTS, dtype="category"),
        pd.Index(TEXTS),
    ],
    ids=lambda column: type(column).__name__,
)
def test_every_kind_of_column(column: Any) -> None:
    assert texts_of_column(column) == TEXTS


@pytest.mark.slow
def test_columns_of_other_packages() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    assert texts_of_column(polars.Series(["A fine film.", None, "Dull."])) == TEXTS
    assert texts_of_column(pyarrow.chunked_array([["A fine film.", None], ["Dull."]])) == TEXTS
    assert texts_of_column(datasets.Dataset.from_dict({"comment": TEXTS})["comment"]) == TEXTS
    with pytest.raises(TextError, match="this DataFrame is a whole table"):
        texts_of_column(polars.DataFrame({"comment": TEXTS}))
    with pytest.raises(TextError, match="this Dataset is a whole table"):
        texts_of_column(datasets.Dataset.from_dict({"comment": TEXTS}))


@pytest.mark.parametrize("value", [None, 7, b"bytes", {"a": "b"}, {"a"}, iter(TEXTS), object()], ids=type)
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(
        TextError, match=rf"is not a string but of type {type(value).__name__}\nGive one text"
    ):
        texts_of_column(value)


@pytest.mark.parametrize("table", [pd.DataFrame({"comment": TEXTS}), np.array([TEXTS])])
def test_a_whole_table_is_refused(table: Any) -> None:
    with pytest.raises(TextError, match=r"is a whole table\nGive one column"):
        texts_of_column(table)
