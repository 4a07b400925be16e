"""Faulty word-vector files: every fault is named with its place, in little memory."""

from __future__ import annotations

import gzip
import pickle
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from lexitree.errors import ConfigError, FileError, VectorsError
from lexitree.lexicon.vector_files import read_vectors
from lexitree.lexicon.vector_streams import _MAX_KEPT_ERRORS
from tests.lexicon.vector_files import (
    GLOVE,
    npy_header,
    npz_bytes,
    word2vec_bytes,
    write,
    zip_bytes,
)

# Faults in text

GOOD = b"the 1 2 3\nfilm 1 2 3\n"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (b"a 1 2", "2 numbers after the word instead of 3"),
        (b"a", "0 numbers after the word"),
        (b"a 1 2 3 4", "more than 3 numbers after the word"),
        (b"a 1 2 x3", "'x3' is not a number"),
        (b"a 1  3", "'' is not a number"),
        (b"a 1 1_0 3", "'1_0' is not a number"),
        (b"a 1 nan 3", "'nan' is not a number"),
        (b"a 1 -inf 3", "'-inf' is not a number"),
        (b"a 1 1e99 3", "1e99 is too large"),
        (b"a\xff 1 2 3", "the byte 0xff in the word is not UTF-8"),
        (b" 1 2 3", "no word before the numbers"),
    ],
)
def test_bad_text_row(tmp_path: Path, row: bytes, problem: str) -> None:
    path = write(tmp_path, "g.txt", GOOD + row + b"\nlast 4 5 6\n")
    with pytest.raises(VectorsError, match=problem) as caught:
        read_vectors(path)
    assert f"{path}:3" in str(caught.value)
    assert "--on-error skip" in str(caught.value)
    assert caught.value.place.line == 3
    vectors = read_vectors(path, on_error="skip")
    assert vectors.words == ("the", "film", "last")
    assert [error.place.line for error in vectors.errors] == [3]
    assert (vectors.num_read, vectors.num_skipped) == (3, 1)


def test_caret_points_at_the_bad_number(tmp_path: Path) -> None:
    with pytest.raises(VectorsError) as caught:
        read_vectors(write(tmp_path, "g.txt", GOOD + "né 1 2 x3\n".encode()))
    lines = str(caught.value).splitlines()
    assert lines[1][lines[2].index("^") :] == "x3"


def test_unwanted_rows_are_checked_for_their_fields_only(tmp_path: Path) -> None:
    path = write(tmp_path, "g.txt", GOOD + b"a nan x 3\n")
    assert read_vectors(path, {"the"}).words == ("the",)
    with pytest.raises(VectorsError, match="2 numbers"):
        read_vectors(write(tmp_path, "h.txt", GOOD + b"a 1 2\n"), {"the"})


def test_a_bad_first_row_does_not_set_the_dimension(tmp_path: Path) -> None:
    path = write(tmp_path, "g.txt", b"a 1 2\n" + GOOD)
    with pytest.raises(VectorsError, match=r":1.*2 numbers after the word instead of 3"):
        read_vectors(path)
    assert read_vectors(path, on_error="skip").words == ("the", "film")


def test_many_bad_rows_are_counted_but_not_all_kept(tmp_path: Path) -> None:
    path = write(tmp_path, "g.txt", GOOD * 20 + b"a 1\n" * 500)
    vectors = read_vectors(path, on_error="skip")
    assert vectors.num_skipped == 500
    assert len(vectors.errors) == _MAX_KEPT_ERRORS


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_empty_text(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(VectorsError, match="contains no word vectors"):
        read_vectors(write(tmp_path, "g.txt", data))


def test_not_one_good_row(tmp_path: Path) -> None:
    path = write(tmp_path, "g.txt", b"a x y\nb z w\n")
    with pytest.raises(VectorsError, match="no row can be read; the first error: 'x' is not a number"):
        read_vectors(path, on_error="skip")


@pytest.mark.parametrize("data", [b"a\nb\nc\n", b"a\t1\t2\nb\t1\t2\n"])
def test_no_spaces_at_all(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(VectorsError, match="separated by spaces"):
        read_vectors(write(tmp_path, "g.txt", data))


@pytest.mark.parametrize("data", [b"the\nfilm 1 2\n", b"the\na\nfilm 1 2\n", b"2 2\nthe\nfilm 1 2\n"])
def test_a_word_without_numbers_is_not_a_row_of_dimension_0(tmp_path: Path, data: bytes) -> None:
    path = write(tmp_path, "g.txt", data)
    with pytest.raises(VectorsError, match="0 numbers after the word instead of 2") as caught:
        read_vectors(path)
    assert caught.value.place.line == 1 + data.startswith(b"2")
    vectors = read_vectors(path, on_error="skip")
    assert (vectors.words, vectors.num_skipped) == (("film",), data.count(b"\n") - 1 - data.startswith(b"2"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("wanted", [None, set[str]()])
def test_text_that_is_not_utf_8(tmp_path: Path, encoding: str, wanted: set[str] | None) -> None:
    path = write(tmp_path, "g.txt", GOOD.decode().encode(encoding))
    with pytest.raises(VectorsError, match=r"contains zero bytes(.|\n)*iconv"):
        read_vectors(path, wanted, on_error="skip")
    with pytest.raises(VectorsError, match="contains zero bytes"):
        read_vectors(write(tmp_path, "z.txt", bytes(100)))


def test_text_header_that_does_not_fit(tmp_path: Path) -> None:
    path = write(tmp_path, "g.vec", b"1000000000000 3\n" + GOOD)
    with pytest.raises(VectorsError, match=r"says 1,000,000,000,000 rows, but the file has 2"):
        read_vectors(path)
    assert read_vectors(path, on_error="skip").words == ("the", "film")
    with pytest.raises(VectorsError, match="3 numbers after the word instead of 4"):
        read_vectors(write(tmp_path, "h.vec", b"2 4\n" + GOOD))
    with pytest.raises(VectorsError, match="vectors have 3 dimensions, but 4 were requested"):
        read_vectors(write(tmp_path, "i.vec", b"2 3\n" + GOOD), dim=4)
    with pytest.raises(VectorsError, match="vectors have 999,999,999 dimensions"):
        read_vectors(write(tmp_path, "j.vec", b"2 999999999\n" + GOOD))


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_line_without_end_is_refused_in_little_memory(tmp_path: Path, on_error: str) -> None:
    path = write(tmp_path, "g.txt.gz", gzip.compress(GOOD + bytes(200_000_000), 1))
    error, peak = caught_with_peak(lambda: read_vectors(path, on_error=on_error))
    assert "line is longer than" in str(error)
    assert error.place.line == 3
    assert peak < 20_000_000


def caught_with_peak(call: Callable[[], object]) -> tuple[VectorsError, int]:
    """The error of a call and the most memory it held."""
    tracemalloc.start()
    try:
        with pytest.raises(VectorsError) as caught:
            call()
        return caught.value, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# Faults in word2vec files

WORD2VEC = word2vec_bytes(["the", "film", "last"], np.arange(9, dtype=np.float32).reshape(3, 3))


@pytest.mark.parametrize("size", [8, 9, 14, 20, len(WORD2VEC) // 2, len(WORD2VEC) - 5])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_truncated_word2vec(tmp_path: Path, size: int, on_error: str) -> None:
    path = write(tmp_path, "w.bin", WORD2VEC[:size])
    with pytest.raises(VectorsError, match=r"the file ends in row \d of 3") as caught:
        read_vectors(path, on_error=on_error)
    assert str(path) in str(caught.value)
    assert "download it again" in str(caught.value)


def test_word2vec_header_is_not_believed(tmp_path: Path) -> None:
    path = write(tmp_path, "w.bin", b"1000000000000" + WORD2VEC[1:])
    error, peak = caught_with_peak(lambda: read_vectors(path))
    assert "the file ends in row 4 of 1,000,000,000,000" in str(error)
    assert peak < 10_000_000
    path = write(tmp_path, "w.bin", b"3 1000000000000" + WORD2VEC[3:])
    error, peak = caught_with_peak(lambda: read_vectors(path))
    assert "vectors have 1,000,000,000,000 dimensions" in str(error)
    assert peak < 10_000_000


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is empty"),
        (b"the 1 2 3\n", "does not start with the line 'count dim'"),
        (bytes(100), "does not start with the line 'count dim'"),
        (b"3" * 50 + b" 3\n", "does not start with the line 'count dim'"),
        (b"\xba\x16\x4f\x2f" + bytes(50), "fastText model"),
        (b"1 0\na ", "vectors have 0 dimensions"),
        (b"0 3\n", "contains no word vectors"),
        (b"2 3\n" + b"x" * 100_000, "row 1 has no word"),
        (b"2" + WORD2VEC[1:], "the file has more than the 2 rows"),
    ],
)
def test_bad_word2vec(tmp_path: Path, data: bytes, problem: str) -> None:
    with pytest.raises(VectorsError, match=problem):
        read_vectors(write(tmp_path, "w.bin", data))


@pytest.mark.parametrize(
    ("word", "row", "problem"),
    [
        (b"a", [1, np.nan, 3], "row 2: number 2 of the vector is not finite"),
        (b"a", [1, 2, np.inf], "row 2: number 3 of the vector is not finite"),
        (b"\xff", [1, 2, 3], "row 2: the byte 0xff in the word is not UTF-8"),
        (b"", [1, 2, 3], "row 2: no word"),
    ],
)
def test_bad_word2vec_row(tmp_path: Path, word: bytes, row: list[float], problem: str) -> None:
    good = [b"the " + np.ones(3, "<f4").tobytes(), b"film " + np.ones(3, "<f4").tobytes()]
    data = b"3 3\n" + good[0] + word + b" " + np.array(row, "<f4").tobytes() + good[1]
    path = write(tmp_path, "w.bin", data)
    with pytest.raises(VectorsError, match=problem):
        read_vectors(path)
    vectors = read_vectors(path, on_error="skip")
    assert vectors.words == ("the", "film")
    assert vectors.num_skipped == 1
    if word == b"a":
        assert read_vectors(path, {"the"}).words == ("the",)


# Faults in packed files


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("name", ["g.txt.gz", "g.zip", "w.bin.gz", "g.npz"])
def test_truncated_archives(tmp_path: Path, name: str, on_error: str) -> None:
    text = b"".join(b"w%d 1 2 3\n" % number for number in range(5000))
    whole = {
        "g.txt.gz": gzip.compress(text),
        "g.zip": zip_bytes(g__txt=text),
        "w.bin.gz": gzip.compress(WORD2VEC),
        "g.npz": npz_bytes(words=["a", "b"], vectors=np.ones((2, 3))),
    }[name]
    for size in (0, 3, 15, len(whole) // 2, len(whole) - 3):
        path = write(tmp_path, name, whole[:size])
        with pytest.raises(VectorsError) as caught:
            read_vectors(path, on_error=on_error)
        assert str(path) in str(caught.value)
        assert size == 0 or "download it again" in str(caught.value)


@pytest.mark.parametrize("name", ["g.txt.gz", "g.zip"])
def test_flipped_bytes_are_noticed(tmp_path: Path, name: str) -> None:
    text = b"".join(b"w%d 1 2 3\n" % number for number in range(5000))
    data = bytearray(gzip.compress(text) if name.endswith("gz") else zip_bytes(g__txt=text))
    for position in range(len(data) // 2, len(data) // 2 + 8):
        data[position] ^= 0x5A
    with pytest.raises(VectorsError):
        read_vectors(write(tmp_path, name, bytes(data)), set(), on_error="skip")


def test_not_an_archive(tmp_path: Path) -> None:
    for name in ("g.gz", "g.zip", "g.npz"):
        with pytest.raises(VectorsError, match=r"archive|cannot be read to its end"):
            read_vectors(write(tmp_path, name, GLOVE * 10))
    with pytest.raises(VectorsError, match="the archive is empty"):
        read_vectors(write(tmp_path, "e.zip", zip_bytes()))


def test_a_member_without_a_name(tmp_path: Path) -> None:
    data = zip_bytes(x=GLOVE)
    start, entry = data.index(b"x"), data.rindex(b"x")
    nameless = bytearray(data[:start] + data[start + 1 : entry] + data[entry + 1 :])
    directory = data.rindex(b"PK\x01\x02") - 1
    for place in (26, directory + 28):
        nameless[place : place + 2] = bytes(2)
    # The directory begins one byte earlier and is one byte shorter.
    end = nameless.rindex(b"PK\x05\x06")
    nameless[end + 12 : end + 20] = (end - directory).to_bytes(4, "little") + directory.to_bytes(4, "little")
    path = write(tmp_path, "g.zip", bytes(nameless))
    assert read_vectors(path, {"film"}).words == ("film",)


def test_encrypted_zip(tmp_path: Path) -> None:
    data = bytearray(zip_bytes(g__txt=GLOVE))
    data[6] |= 1
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(VectorsError, match="encrypted"):
        read_vectors(write(tmp_path, "g.zip", bytes(data)))


# Faults in npz files

ONES = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"vectors": ONES}, "array 'words' is missing .found: vectors"),
        ({"words": ["a", "b"]}, "array 'vectors' is missing"),
        ({}, "found: nothing"),
        ({"words": ["a", "b", "c"], "vectors": ONES}, "3 words but 2 vectors"),
        ({"words": ["a", "b"], "vectors": ONES[0]}, r"'vectors' has type float32 and shape \(3,\)"),
        ({"words": ["a", "b"], "vectors": ONES.astype(int)}, "'vectors' has type int64"),
        ({"words": ["a", "b"], "vectors": ONES.astype(complex)}, "'vectors' has type complex128"),
        ({"words": ["a", "b"], "vectors": ONES[:, :0]}, "vectors have 0 dimensions"),
        ({"words": ["a", "b"], "vectors": np.asfortranarray(ONES)}, "column-major"),
        ({"words": [1, 2], "vectors": ONES}, "'words' has type int64"),
        ({"words": [["a"], ["b"]], "vectors": ONES}, "'words' has type <U1 and shape"),
        ({"words": np.array(["a" * 20_000, "b"]), "vectors": ONES}, "has the unsupported type <U20000"),
        ({"words": np.array([], "U1"), "vectors": ONES[:0]}, "contains no word vectors"),
    ],
)
def test_wrong_arrays(tmp_path: Path, arrays: dict[str, npt.ArrayLike], problem: str) -> None:
    path = write(tmp_path, "v.npz", npz_bytes(**arrays))
    with pytest.raises(VectorsError, match=problem) as caught:
        read_vectors(path)
    assert str(path) in str(caught.value)


class Bomb:
    """Unpickling it would be noticed."""

    exploded = False

    def __reduce__(self) -> tuple[object, ...]:
        return explode, ()


def explode() -> None:
    Bomb.exploded = True


@pytest.mark.parametrize("name", ["words", "vectors"])
def test_nothing_is_unpickled(tmp_path: Path, name: str) -> None:
    arrays = {"words": np.array(["a", "b"]), "vectors": ONES, name: np.array([Bomb(), Bomb()], dtype=object)}
    with pytest.raises(VectorsError, match="pickled objects"):
        read_vectors(write(tmp_path, "v.npz", npz_bytes(**arrays)), on_error="skip")
    with pytest.raises(VectorsError):
        read_vectors(write(tmp_path, "v.pkl", pickle.dumps(Bomb())), on_error="skip")
    assert not Bomb.exploded


@pytest.mark.parametrize(
    ("row", "problem"),
    [([1, np.nan, 3], r"row 2 \('b'\) is not finite"), ([1, 1e300, 3], r"row 2 \('b'\) is not finite")],
)
def test_bad_npz_row(tmp_path: Path, row: list[float], problem: str) -> None:
    path = write(tmp_path, "v.npz", npz_bytes(words=["a", "b", "c"], vectors=[[1, 2, 3], row, [4, 5, 6]]))
    with pytest.raises(VectorsError, match=problem) as caught:
        read_vectors(path)
    assert "--on-error skip" in str(caught.value)
    vectors = read_vectors(path, on_error="skip")
    assert vectors.words == ("a", "c")
    assert vectors.vectors.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert (vectors.num_read, vectors.num_skipped) == (2, 1)
    assert read_vectors(path, {"a"}).words == ("a",)


def test_npz_words_that_do_not_decode(tmp_path: Path) -> None:
    path = write(tmp_path, "v.npz", npz_bytes(words=[b"a", b"\xff"], vectors=ONES))
    with pytest.raises(VectorsError, match="row 2: the word is not UTF-8"):
        read_vectors(path)
    assert read_vectors(path, on_error="skip").words == ("a",)
    for dtype in ("<U1", ">U1"):
        no_characters = np.frombuffer(b"\xff" * 8, dtype=dtype)
        with pytest.raises(VectorsError, match="contains invalid characters"):
            read_vectors(write(tmp_path, "w.npz", npz_bytes(words=no_characters, vectors=ONES)))
    swapped = np.array(["a", "é"], dtype=">U3")
    assert read_vectors(write(tmp_path, "x.npz", npz_bytes(words=swapped, vectors=ONES))).words == ("a", "é")


@pytest.mark.parametrize(
    ("words", "vectors", "problem"),
    [
        (
            "{'descr': '<U1', 'fortran_order': False, 'shape': (1000000000000,), }",
            None,
            "1,000,000,000,000 words",
        ),
        (
            None,
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1000000000000), }",
            "1,000,000,000,000 dimensions",
        ),
        (
            "{'descr': '<U1', 'fortran_order': False, 'shape': (1000000000000,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 3), }",
            "that its header claims",
        ),
        (
            "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 3), }",
            "has the unsupported type <U0",
        ),
        (None, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", "that its header claims"),
        (None, "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }", "but -2 vectors"),
        (
            None,
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, }",
            "is not a NumPy array",
        ),
        (None, "((((", "is not a NumPy array"),
        (
            None,
            "{'descr': 'x9', 'fortran_order': False, 'shape': (2, 3), }",
            "is not a NumPy array",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:Reading `.npy`")
def test_npz_headers_are_not_believed(
    tmp_path: Path, words: str | None, vectors: str | None, problem: str
) -> None:
    good_words = "{'descr': '<U1', 'fortran_order': False, 'shape': (2,), }"
    good_vectors = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
    data = zip_bytes(
        words__npy=npy_header(words or good_words) + "ab".encode("utf-32-le"),
        vectors__npy=npy_header(vectors or good_vectors) + ONES.tobytes(),
    )
    path = write(tmp_path, "v.npz", data)
    error, peak = caught_with_peak(lambda: read_vectors(path))
    assert problem in str(error)
    assert peak < 20_000_000


def test_npz_header_of_any_length_is_not_read(tmp_path: Path) -> None:
    data = zip_bytes(
        words__npy=b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 1000,
        vectors__npy=b"\x93NUMPY\x02\x00" + b" " * 9,
    )
    with pytest.raises(VectorsError, match="not version 1"):
        read_vectors(write(tmp_path, "v.npz", data))


# Faults in the call


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for name in ("v.txt", "v.gz", "v.zip", "v.bin", "v.npz"):
        with pytest.raises(FileError, match="No such file"):
            read_vectors(tmp_path / name)
    with pytest.raises(FileError, match="directory"):
        read_vectors(tmp_path)
    with pytest.raises(FileError, match="is not a valid file name"):
        read_vectors("v\0.txt")


def test_dimension_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must be at least 1"):
        read_vectors(write(tmp_path, "g.txt", GLOVE), dim=0)
    for name, data in [("w.bin", WORD2VEC), ("v.npz", npz_bytes(words=["a", "b"], vectors=ONES))]:
        with pytest.raises(VectorsError, match="vectors have 3 dimensions, but 4 were requested"):
            read_vectors(write(tmp_path, name, data), dim=4)
