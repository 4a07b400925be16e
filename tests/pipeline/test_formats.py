"""Output formats: the columns they add, and how a new one joins."""

from __future__ import annotations

import pytest

from lexitree.corpora.tables import Row
from lexitree.errors import ConfigError, Place, TableError
from lexitree.pipeline.formats import OutputSettings, RecordFormat
from lexitree.pipeline.known_formats import FORMATS, CsvFormat, JsonFormat, find_format, open_format
from lexitree.plugins import register
from lexitree.results.document import Document
from tests.pipeline.stubs import tiny_pipeline


def test_added_columns_never_overwrite_others() -> None:
    assert OutputSettings(phrases=True).added_names == ["label", "probability", "phrases"]
    place = Place("t.csv", 1)
    with pytest.raises(TableError, match=r"t\.csv:1: the input already has a column 'label'") as caught:
        CsvFormat(OutputSettings("text", ("text", "label"), header_place=place))
    assert "--prefix" in caught.value.remedy
    with pytest.raises(TableError, match=r"t\.csv:1: the input already has a column 'label'"):
        JsonFormat(OutputSettings("text", ("text", "label"), header_place=place))
    with pytest.raises(TableError, match=r"t\.csv:1: two columns have the same name"):
        JsonFormat(OutputSettings("text", ("text", "a", "a"), header_place=place))
    assert (
        CsvFormat(OutputSettings("text", ("text", "label"), prefix="p_"))
        .opening()
        .startswith("text,label,p_")
    )


@pytest.fixture
def another(monkeypatch: pytest.MonkeyPatch) -> type[RecordFormat]:
    """The format of the module's docstring."""
    monkeypatch.setattr(FORMATS, "_added", {})

    @register("format", "labels")
    class LabelFormat(RecordFormat):
        name = "labels"
        sources = frozenset({"texts"})

        def text_record(self, row: Row, document: Document) -> str:
            return f"{document.label}\n"

    return LabelFormat


def test_a_new_format_is_one_class(another: type[RecordFormat]) -> None:
    row = Row("Good.", (), Place("t.txt", 1))
    document = tiny_pipeline()(row.text)
    assert find_format("labels") is another
    made = open_format("labels", "texts", OutputSettings())
    assert isinstance(made, RecordFormat)
    assert made.text_record(row, document) == f"{document.label}\n"
    with pytest.raises(ConfigError, match="labels is for text"):
        open_format("labels", "trees", OutputSettings())
