"""Weights that stay in their file have the numbers that torch reads, and damaged files are refused alike."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from lexitree.errors import ModelFileError
from lexitree.saving import shipped
from lexitree.saving.quantized import restore_tensors, shrink_tensors
from lexitree.saving.stored_arrays import StoredTable, TableForm, read_stored_arrays, stored_tables
from tests.command import environment

SHIPPED = sorted(shipped.FOLDER.glob("*/*.safetensors"))


def write(tensors: dict[str, torch.Tensor], folder: Path) -> Path:
    save_file(tensors, folder / "weights.safetensors", metadata={"format": "pt"})
    return folder / "weights.safetensors"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_shipped_weights_have_the_numbers_of_torch(path: Path) -> None:
    expected = restore_tensors(load_file(path))
    found = stored_tables(read_stored_arrays(path), "int8")
    assert found.keys() == expected.keys()
    for name, table in found.items():
        assert table.shape == expected[name].shape
        assert np.array_equal(table.all(), expected[name].numpy())


def test_something_is_shipped() -> None:
    assert len(SHIPPED) >= 3


@given(st.lists(st.integers(0, 4), min_size=1, max_size=7), st.sampled_from(["float16", "int8"]))
def test_rows_are_those_of_the_whole_table(
    tmp_path_factory: pytest.TempPathFactory, index: list[int], form: TableForm
) -> None:
    table = torch.randn(5, 3, generator=torch.Generator().manual_seed(len(index)))
    path = write(shrink_tensors({"table": table}, ["table"], form), tmp_path_factory.mktemp("rows"))
    stored = stored_tables(read_stored_arrays(path), form)["table"]
    rows = stored.rows(np.array([index]))
    assert rows.dtype == np.float32
    assert np.array_equal(rows[0], stored.all()[index])


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_every_precision_is_read(tmp_path: Path, dtype: torch.dtype) -> None:
    tensors = {"a": torch.randn(2, 3, dtype=dtype), "none": torch.zeros(4, 0, dtype=dtype)}
    tensors["one"] = torch.tensor(0.5, dtype=dtype)
    found = stored_tables(read_stored_arrays(write(tensors, tmp_path)), "float32")
    assert {name: table.shape for name, table in found.items()} == {"a": (2, 3), "none": (4, 0), "one": ()}
    for name, table in found.items():
        assert table.all().dtype == np.float32
        assert np.array_equal(table.all(), tensors[name].float().numpy())


def test_numbers_stay_in_the_file_and_cannot_be_changed(tmp_path: Path) -> None:
    array = read_stored_arrays(write({"a": torch.ones(2)}, tmp_path))["a"]
    assert not array.flags.owndata
    assert type(array) is np.ndarray
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 2


def test_tables_are_pickled_as_plain_arrays(tmp_path: Path) -> None:
    path = write(shrink_tensors({"a": torch.randn(3, 2)}, ["a"], "int8"), tmp_path)
    table = stored_tables(read_stored_arrays(path), "int8")["a"]
    copy: StoredTable = pickle.loads(pickle.dumps(table))
    path.unlink()
    assert np.array_equal(copy.all(), table.all())


@pytest.mark.parametrize(
    ("tensors", "form", "problem"),
    [
        ({"a": torch.zeros(2, 2, dtype=torch.int8)}, "int8", "a has no scale for each of its rows"),
        ({"a": torch.zeros(2)}, "float16", "a must be float16, or int8 with a scale"),
        ({"a": torch.zeros(2, dtype=torch.int8)}, "float32", "floating-point numbers of one precision"),
        ({"a": torch.zeros(2), "b": torch.zeros(2).half()}, "float32", "numbers of one precision"),
        (
            {"a": torch.zeros(2, 2, dtype=torch.int8), "a.scale": torch.zeros(3).half()},
            "int8",
            "no scale for each",
        ),
    ],
)
def test_another_form_is_refused(
    tmp_path: Path, tensors: dict[str, torch.Tensor], form: TableForm, problem: str
) -> None:
    arrays = read_stored_arrays(write(tensors, tmp_path))
    with pytest.raises(ValueError, match=problem):
        stored_tables(arrays, form)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int64, torch.bool])
def test_other_numbers_are_refused(tmp_path: Path, dtype: torch.dtype) -> None:
    path = write({"a": torch.zeros(2, dtype=dtype)}, tmp_path)
    with pytest.raises(ModelFileError, match=r"holds numbers of type \w+ \(a\)"):
        read_stored_arrays(path)


HEADER = {"a": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]}}


def damaged(header: object, data: bytes = b"\0" * 4) -> bytes:
    written = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written + data


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 7,
        b"\xff" * 64,
        damaged(b"{"),
        damaged(HEADER, b""),
        damaged(HEADER, b"\0" * 5),
        damaged({"a": {**HEADER["a"], "shape": [3]}}),
        damaged({"a": {**HEADER["a"], "data_offsets": [0, 400]}}),
        damaged({"a": {**HEADER["a"], "dtype": "odd"}}),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="is damaged or cut off") as refused:
        read_stored_arrays(path)
    assert refused.value.remedy == "Copy or download the model again."


def test_a_header_that_is_whole_is_read(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(damaged(HEADER))
    assert read_stored_arrays(path)["a"].tolist() == [0, 0]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="damaged or cut off"):
        read_stored_arrays(tmp_path / "nowhere.safetensors")


def test_reading_needs_no_torch() -> None:
    program = (
        "import sys; from pathlib import Path; sys.modules['torch'] = None;"
        "from lexitree.saving.stored_arrays import read_stored_arrays;"
        "sys.exit(len(read_stored_arrays(Path(sys.argv[1]))))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(SHIPPED[0])], env=environment(), check=False)
    assert done.returncode == len(read_stored_arrays(SHIPPED[0]))
