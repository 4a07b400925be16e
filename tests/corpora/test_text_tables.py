"""Texts with labels from columns of Python values, and the settings of tables."""

from __future__ import annotations

from typing import Any

import pytest

from lexitree.corpora.text_tables import LabelledTexts, TableSettings, label_text, texts_from_columns
from lexitree.errors import ConfigError, FileError, TableError


def pairs(texts: LabelledTexts) -> list[tuple[str, str]]:
    return [(row.text, row.label) for row in texts.rows]


@pytest.mark.parametrize("settings", [{"delimiter": ";;"}, {"delimiter": '"'}, {"dev": 0.6, "test": 0.5}])
def test_settings_that_cannot_be_met(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        TableSettings(**settings)


def test_columns_of_python() -> None:
    numpy = pytest.importorskip("numpy")
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    expected = [("a", "0"), ("b", "1")]
    frame = pandas.DataFrame({"t": ["a", "b"], "n": [0, 1], "f": [0.0, 1.0]})
    for labels in ([0, 1], ("0", "1"), numpy.array([0, 1]), frame["n"], frame["f"], iter([0, 1])):
        assert pairs(texts_from_columns(frame["t"], labels)) == expected
    with pytest.raises(TableError, match="texts:2: the label is empty"):
        texts_from_columns(["a", "b"], [0.0, float("nan")])
    with pytest.raises(TableError, match="texts:2: the text is missing"):
        texts_from_columns(["a", None], [0, 1])
    with pytest.raises(TableError, match="2 texts, but 1 labels"):
        texts_from_columns(["a", "b"], [0])
    with pytest.raises(TableError, match="single string"):
        texts_from_columns("ab", [0, 1])
    with pytest.raises(FileError, match="contains no texts"):
        texts_from_columns([], [])


@pytest.mark.slow
def test_columns_of_other_packages() -> None:
    polars = pytest.importorskip("polars", reason="needs polars")
    datasets = pytest.importorskip("datasets", reason="needs datasets")
    data = {"t": ["a", "b"], "n": [0, 1]}
    for table in (polars.DataFrame(data), datasets.Dataset.from_dict(data)):
        assert pairs(texts_from_columns(table["t"], table["n"])) == [("a", "0"), ("b", "1")]


def test_labels_as_text() -> None:
    assert [label_text(label) for label in (1, 1.0, "1", True, " a ", None, 0.5)] == [
        "1",
        "1",
        "1",
        "True",
        "a",
        "",
        "0.5",
    ]
