"""Columns in, columns out: every kind of batch comes back with the same labels."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lexitree
from lexitree import Labeller, Limits
from lexitree.errors import ConfigError, TableError
from lexitree.ops import threads
from lexitree.pipeline import loading
from lexitree.pipeline.formats import PHRASE_NAMES
from lexitree.text.columns import is_null
from tests.pipeline.stubs import RightBranching

TEXTS = ["the film is good .", None, "", "bad " * 9, "a plot"]
LIMITS = Limits(words=8)
NAMES = ["label", "score", "probability", "phrases", "error"]


@pytest.fixture
def labeller(saved_model: Path, monkeypatch: pytest.MonkeyPatch) -> Labeller:
    monkeypatch.setattr(loading, "open_parser", lambda spec: RightBranching())
    return Labeller(saved_model, "comment", phrases=True, errors=True, parser="stub", limits=LIMITS)


def expected_columns(model: Path) -> dict[str, list[Any]]:
    documents = lexitree.load(model, parser="stub", limits=LIMITS)([TEXTS[0], "", "", "", TEXTS[4]])
    return {
        "label": [document.label for document in documents],
        "score": [document.score for document in documents],
        "probability": [document.probability for document in documents],
    }


def assert_expected(columns: dict[str, list[Any]], model: Path) -> None:
    for name, values in expected_columns(model).items():
        if name == "label":
            assert columns[name] == values
        else:
            found = [np.nan if value is None else value for value in columns[name]]
            wanted = [np.nan if value is None else value for value in values]
            np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert [len(phrases) for phrases in columns["phrases"]] == [9, 0, 0, 0, 3]
    assert list(columns["phrases"][4][1]) == [*PHRASE_NAMES]
    assert columns["phrases"][4][1]["text"] == "a"
    assert columns["error"] == [*[None] * 3, "The text has 9 words, and the limit is 8.", None]


def test_a_dictionary_of_lists(labeller: Labeller, saved_model: Path) -> None:
    batch = {"id": list(range(5)), "comment": TEXTS}
    found = labeller(batch)
    assert list(found) == [*batch, *NAMES]
    assert found["comment"] is TEXTS
    assert_expected(found, saved_model)
    assert set(batch) == {"id", "comment"}


def test_a_dictionary_of_arrays(labeller: Labeller, saved_model: Path) -> None:
    found = labeller({"comment": np.array(TEXTS, dtype=object)})
    assert {name: found[name].dtype.kind for name in NAMES} == dict(zip(NAMES, "OffOO", strict=True))
    assert_expected({name: values.tolist() for name, values in found.items()}, saved_model)
    alike = labeller({"comment": np.array(["a b", "b a"])})
    assert alike["phrases"].shape == (2,)


def test_a_data_frame(labeller: Labeller, saved_model: Path) -> None:
    frame = pd.DataFrame({"comment": TEXTS}, index=list("vwxyz"))
    found = labeller(frame)
    assert list(found.columns) == ["comment", *NAMES]
    assert list(found.index) == list("vwxyz")
    assert list(frame.columns) == ["comment"]
    assert [str(kind) for kind in found.dtypes[1:]] == ["object", "float64", "float64", "object", "object"]
    assert_expected({name: found[name].tolist() for name in found}, saved_model)
    empty = labeller(frame.iloc[:0])
    assert empty.dtypes.equals(found.dtypes)
    assert len(empty) == 0


def test_tables_of_arrow(labeller: Labeller, saved_model: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    table = arrow.table({"comment": arrow.chunked_array([TEXTS[:2], TEXTS[2:]]), "id": list(range(5))})
    schema = labeller.schema(table.schema)
    assert labeller._pipe is None
    assert schema.names == ["comment", "id", *NAMES]
    assert str(schema.field("phrases").type.value_type.field("head").type) == "string"
    for batch in (table, table.combine_chunks().to_batches()[0], table.slice(0, 0)):
        found = labeller(batch)
        assert type(found) is type(batch)
        assert found.schema.equals(schema)
    assert_expected(labeller(table).to_pydict(), saved_model)
    coded = table.set_column(0, "comment", table.column(0).dictionary_encode())
    assert labeller(coded).column("label").equals(labeller(table).column("label"))
    with pytest.raises(ConfigError, match=r"'comment' holds no texts but values of type int64"):
        labeller.schema(arrow.schema([("comment", arrow.int64())]))


def test_bytes_that_are_no_text_spoil_their_row_only(labeller: Labeller) -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    broken = arrow.array([b"good", b"\xff", None]).view(arrow.string())
    found = labeller(arrow.table({"comment": broken}))
    assert found["label"].is_valid().to_pylist() == [True, False, False]
    assert found["error"].to_pylist() == [None, "The text is not a string but of type bytes.", None]


def test_values_that_are_no_texts_spoil_their_row_only(labeller: Labeller) -> None:
    found = labeller({"comment": ["good", 3, float("nan")]})
    assert [label is None for label in found["label"]] == [False, True, True]
    assert found["error"] == [None, "The text is not a string but of type int.", None]


def test_columns_are_never_overwritten(labeller: Labeller, saved_model: Path) -> None:
    with pytest.raises(TableError, match="already has a column 'score'"):
        labeller({"comment": ["good"], "score": [1]})
    with pytest.raises(TableError, match="no column 'comment'"):
        labeller({"text": ["good"]})
    renamed = Labeller(saved_model, "label", prefix="new_", parser="stub")
    found = renamed({"label": ["good"], "score": [1]})
    assert list(found) == ["label", "score", "new_label", "new_score", "new_probability"]
    assert isinstance(found["new_score"][0], float)


def test_what_is_no_table_is_refused(labeller: Labeller) -> None:
    with pytest.raises(ConfigError, match="a batch is a table, not a list"):
        labeller(["good"])
    with pytest.raises(ConfigError, match="num_threads must be at least 1"):
        Labeller(num_threads=0)


def test_a_pickle_holds_the_settings_only(labeller: Labeller, saved_model: Path) -> None:
    before = pickle.dumps(labeller)
    batch = {"comment": TEXTS}
    found = labeller(batch)
    assert pickle.dumps(labeller) == before
    assert len(before) < 2000
    assert pickle.loads(before)(batch) == found
    labeller.close()
    assert labeller._pipe is None
    assert labeller(batch) == found


def test_labellers_with_the_same_settings_are_equal(labeller: Labeller, saved_model: Path) -> None:
    again = pickle.loads(pickle.dumps(labeller))
    assert again == labeller
    assert hash(again) == hash(labeller)
    assert (
        len({Labeller(saved_model), Labeller(saved_model, num_threads=2), Labeller(saved_model, "comment")})
        == 3
    )
    assert labeller != "comment"


@pytest.mark.parametrize(("num_threads", "expected"), [(1, 1), (2, 2), (None, 3)])
def test_threads(
    saved_model: Path, monkeypatch: pytest.MonkeyPatch, num_threads: int | None, expected: int
) -> None:
    seen: list[int] = []

    class Watching(RightBranching):
        def parse_all(self, sentences: Any) -> Any:
            seen.append(threads.torch.get_num_threads())
            return super().parse_all(sentences)

    monkeypatch.setattr(loading, "open_parser", lambda spec: Watching())
    with threads.openmp_threads(3):
        Labeller(saved_model, parser="stub", num_threads=num_threads)({"text": ["good"]})
        assert threads.torch.get_num_threads() == 3
    assert seen == [expected]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [None, "arrow", "pandas", "numpy"])
def test_datasets_of_hugging_face(kind: str | None) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    rows = {"id": list(range(6)), "text": ["Not a bad film.", None, "", "It is great!", "Dull.", "good"]}
    source = datasets.Dataset.from_dict(rows)
    labeller = Labeller("sentiment", device="cpu")
    features = datasets.Features.from_arrow_schema(labeller.schema(source.features.arrow_schema))
    # Two texts at a time: one batch has no labels at all.
    found = source.with_format(kind).map(labeller, batched=True, batch_size=2, features=features)
    again = source.with_format(kind).map(labeller, batched=True, batch_size=2, features=features)
    assert found._fingerprint == again._fingerprint  # by which datasets on disk are found again
    expected = lexitree.load("sentiment", device="cpu")(rows["text"])
    assert found.with_format(None)["label"][:] == [document.label for document in expected]
    assert found.features == features
    assert is_null(found.with_format(None)["score"][1])
