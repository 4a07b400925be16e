"""Word-vector files: every format read back, tables built from them, and real vectors."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexitree.errors import ConfigError, FileError, VectorsError
from lexitree.lexicon.vector_files import (
    build_table,
    read_vectors,
    unknown_vector,
    vectors_for,
    wanted_forms,
    with_length,
)
from lexitree.lexicon.vector_npz import write_vectors_npz
from lexitree.lexicon.vector_streams import CHUNK_BYTES, WordVectors
from lexitree.lexicon.vocabulary import Vocabulary, coverage
from lexitree.tasks.classify.building import build_model, load_recipe_corpus
from lexitree.tasks.classify.recipe import Recipe
from tests.lexicon.vector_files import (
    GLOVE,
    FloatArray,
    npz_bytes,
    text_bytes,
    word2vec_bytes,
    write,
    zip_bytes,
)

# Reading what is well formed


def test_glove_text_keeps_only_what_is_wanted(tmp_path: Path) -> None:
    vectors = read_vectors(write(tmp_path, "g.txt", GLOVE), {"film", "The", "nothing"})
    assert vectors.words == ("film", "The")
    assert vectors.vectors.tolist() == [[1, 2, 3], [0.5, 0, 1]]
    assert vectors.vectors.dtype == np.float32
    assert (vectors.dim, len(vectors), vectors.num_read, vectors.errors) == (3, 2, 5, ())
    assert vectors.source.endswith("g.txt")


def test_words_with_spaces_are_split_from_the_right(tmp_path: Path) -> None:
    vectors = read_vectors(write(tmp_path, "g.txt", GLOVE))
    assert vectors.words == ("the", "film", ". . .", "at name@domain.com", "The")
    assert vectors.vectors[2:4].tolist() == [[4, 5, 6], [7, 8, 9]]


@pytest.mark.parametrize("rows", [b". . . 4 5 6\nthe 1 2 3\n", b"the 1 2 3\n. . . 4 5 6\n"])
def test_dimension_of_a_short_file_with_spaces(tmp_path: Path, rows: bytes) -> None:
    vectors = read_vectors(write(tmp_path, "g.txt", rows))
    assert set(vectors.words) == {"the", ". . ."}
    assert vectors.dim == 3


def test_dimension_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path, "g.txt", b". . . 4 5 6\n")
    assert read_vectors(path, dim=3).words == (". . .",)
    with pytest.raises(VectorsError, match=r"'\.' is not a number"):
        read_vectors(path)


def test_words_that_are_numbers(tmp_path: Path) -> None:
    vectors = read_vectors(write(tmp_path, "g.txt", b"2 0.1 0.2\n1 0.3 0.4\n3 1 2\n"))
    assert vectors.words == ("2", "1", "3")


def test_one_dimension_is_no_header(tmp_path: Path) -> None:
    assert read_vectors(write(tmp_path, "g.txt", b"7 3\na 0.5\nb 1\n")).words == ("7", "a", "b")


@pytest.mark.parametrize("line_end", ["\n", "\r\n", " \n"])
@pytest.mark.parametrize("header", [False, True])
def test_line_ends_headers_and_marks(tmp_path: Path, line_end: str, header: bool) -> None:
    numbers = np.array([[1, 2], [3, 4]], np.float32)
    data = text_bytes(["a\u00a0b", "x\u2028\u0085y"], numbers, header=header, end=line_end)
    for variant in (data, b"\xef\xbb\xbf" + data, data.rstrip(), data + b"\n\n"):
        vectors = read_vectors(write(tmp_path, "v.vec", variant))
        assert vectors.words == ("a\u00a0b", "x\u2028\u0085y")
        assert vectors.vectors.tolist() == numbers.tolist()


def test_first_of_two_rows_wins_in_every_format(tmp_path: Path) -> None:
    words, numbers = ["a", "b", "a"], np.array([[1, 1], [2, 2], [3, 3]], np.float32)
    for name, data in [
        ("v.txt", text_bytes(words, numbers)),
        ("v.bin", word2vec_bytes(words, numbers)),
        ("v.npz", npz_bytes(words=words, vectors=numbers)),
    ]:
        vectors = read_vectors(write(tmp_path, name, data))
        assert vectors.words == ("a", "b")
        assert vectors.vectors.tolist() == [[1, 1], [2, 2]]
        assert vectors.num_read == 3


def test_packed_files(tmp_path: Path) -> None:
    binary = word2vec_bytes(["film"], np.array([[1, 2, 3]], np.float32))
    for name, data in [
        ("g.txt.gz", gzip.compress(GLOVE)),
        ("g.gz", gzip.compress(GLOVE[:40]) + gzip.compress(GLOVE[40:])),
        ("g.zip", zip_bytes(g__txt=GLOVE)),
        ("w.bin.gz", gzip.compress(binary)),
        ("w.zip", zip_bytes(w__bin=binary)),
    ]:
        vectors = read_vectors(write(tmp_path, name, data), ["film"])
        assert vectors.words == ("film",)
        assert vectors.vectors.tolist() == [[1, 2, 3]]


def test_zip_of_several_files_needs_the_dimension(tmp_path: Path) -> None:
    data = zip_bytes(glove__2d__txt=b"a 1 2\n", glove__3d__txt=b"a 1 2 3\n", __MACOSX=b"")
    path = write(tmp_path, "g.zip", data)
    assert read_vectors(path, dim=3).dim == 3
    with pytest.raises(VectorsError, match=r"contains 3 files .*glove\.2d\.txt") as caught:
        read_vectors(path)
    assert "--dim" in str(caught.value)


def test_rows_across_chunks(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(size=(400, 700)).astype(np.float32)
    assert numbers.nbytes > CHUNK_BYTES
    words = [f"w{number}" for number in range(400)]
    for name, data in [
        ("v.txt", text_bytes(words, numbers)),
        ("v.bin", word2vec_bytes(words, numbers)),
        ("v.npz", npz_bytes(words=words, vectors=numbers)),
    ]:
        vectors = read_vectors(write(tmp_path, name, data), set(words[::7]))
        assert vectors.words == tuple(words[::7])
        assert np.array_equal(vectors.vectors, numbers[::7])


def test_npz_ignores_other_arrays_and_widens_numbers(tmp_path: Path) -> None:
    numbers = np.array([[1, 2], [3, 4], [5, 6]], ">f8")
    data = npz_bytes(words=np.array(["a", "é", "c"]), vectors=numbers, exact=[True, False, True])
    vectors = read_vectors(write(tmp_path, "v.npz", data), {"é", "c"})
    assert vectors.words == ("é", "c")
    assert vectors.vectors.dtype == np.dtype(np.float32)
    assert vectors.vectors.tolist() == [[3, 4], [5, 6]]
    data = npz_bytes(words=np.array([b"a", "é".encode()]), vectors=numbers[:2].astype(np.float16))
    assert read_vectors(write(tmp_path, "v.npz", data)).words == ("a", "é")


def test_nothing_wanted_is_found(tmp_path: Path) -> None:
    for name, data in [
        ("v.txt", GLOVE),
        ("v.bin", word2vec_bytes(["a"], np.ones((1, 3), np.float32))),
        ("v.npz", npz_bytes(words=["a"], vectors=np.ones((1, 3)))),
    ]:
        vectors = read_vectors(write(tmp_path, name, data), set())
        assert vectors.vectors.shape == (0, 3)
        with pytest.raises(VectorsError, match="none of the requested words"):
            build_table(vectors)


def test_progress_ends_at_the_whole(tmp_path: Path) -> None:
    binary = word2vec_bytes(["a"], np.ones((1, 3), np.float32))
    for name, data in [
        ("v.txt", GLOVE),
        ("v.txt.gz", gzip.compress(GLOVE)),
        ("v.zip", zip_bytes(v__txt=GLOVE)),
        ("v.bin", binary),
        ("v.npz", npz_bytes(words=["a"], vectors=np.ones((1, 3)))),
    ]:
        calls: list[tuple[int, int]] = []
        read_vectors(write(tmp_path, name, data), progress=lambda *call, calls=calls: calls.append(call))
        assert calls[-1][0] == calls[-1][1] > 0
        assert [done for done, _ in calls] == sorted(done for done, _ in calls)


# Round trips

numbers_32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw: st.DrawFn, alphabet: st.SearchStrategy[str]) -> tuple[list[str], FloatArray]:
    words = draw(st.lists(st.text(alphabet, min_size=1, max_size=6), unique=True, min_size=1, max_size=6))
    dim = draw(st.integers(2, 5))
    rows = draw(
        st.lists(st.lists(numbers_32, min_size=dim, max_size=dim), min_size=len(words), max_size=len(words))
    )
    return words, np.array(rows, dtype=np.float32)


def any_character_but(excluded: str) -> st.SearchStrategy[str]:
    return st.characters(exclude_categories=["Cs"], exclude_characters=excluded)


@given(tables(any_character_but(" \n\r\ufeff\0")), st.booleans(), st.booleans())
@settings(max_examples=60)
def test_text_round_trip(
    tmp_path_factory: pytest.TempPathFactory, table: tuple[list[str], FloatArray], header: bool, packed: bool
) -> None:
    words, numbers = table
    data = text_bytes(words, numbers, header=header)
    name = "v.txt.gz" if packed else "v.txt"
    path = write(tmp_path_factory.mktemp("round"), name, gzip.compress(data) if packed else data)
    vectors = read_vectors(path)
    assert vectors.words == tuple(words)
    assert np.array_equal(vectors.vectors, numbers)


@given(tables(any_character_but(" \n")), st.sampled_from([b"", b"\n"]))
@settings(max_examples=60)
def test_word2vec_round_trip(
    tmp_path_factory: pytest.TempPathFactory, table: tuple[list[str], FloatArray], end: bytes
) -> None:
    words, numbers = table
    path = write(tmp_path_factory.mktemp("round"), "v.bin", word2vec_bytes(words, numbers, end=end))
    vectors = read_vectors(path)
    assert vectors.words == tuple(words)
    assert np.array_equal(vectors.vectors, numbers)


@given(tables(any_character_but("\0")))
@settings(max_examples=60)
def test_npz_round_trip(
    tmp_path_factory: pytest.TempPathFactory, table: tuple[list[str], FloatArray]
) -> None:
    words, numbers = table
    path = tmp_path_factory.mktemp("round") / "v.npz"
    write_vectors_npz(path, WordVectors(tuple(words), numbers, "here"))
    vectors = read_vectors(path)
    assert vectors.words == tuple(words)
    assert np.array_equal(vectors.vectors, numbers)
    with np.load(path, allow_pickle=False) as archive:
        assert sorted(archive.files) == ["vectors", "words"]


# Writing


def test_float16_halves_and_refuses_what_does_not_fit(tmp_path: Path) -> None:
    vectors = WordVectors(("a",), np.array([[0.1, 65504]], np.float32), "here")
    write_vectors_npz(tmp_path / "v.npz", vectors, float16=True)
    with np.load(tmp_path / "v.npz") as archive:
        assert archive["vectors"].dtype == np.float16
    assert np.allclose(read_vectors(tmp_path / "v.npz").vectors, vectors.vectors, rtol=1e-3)
    before = (tmp_path / "v.npz").read_bytes()
    large = WordVectors(("a",), np.array([[1e6]], np.float32), "here")
    with pytest.raises(VectorsError, match="16 bits"):
        write_vectors_npz(tmp_path / "v.npz", large, float16=True)
    assert (tmp_path / "v.npz").read_bytes() == before


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "v.npz", b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(FileError, match="No space"):
        write_vectors_npz(path, WordVectors(("a",), np.ones((1, 2), np.float32), "here"))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_words_that_npz_would_change_are_refused(tmp_path: Path) -> None:
    with pytest.raises(VectorsError, match="zero byte"):
        write_vectors_npz(tmp_path / "v.npz", WordVectors(("a\0",), np.ones((1, 2), np.float32), "here"))


def test_no_words_at_all_can_be_written(tmp_path: Path) -> None:
    write_vectors_npz(tmp_path / "v.npz", WordVectors((), np.ones((0, 2), np.float32), "here"))
    with pytest.raises(VectorsError, match="contains no word vectors"):
        read_vectors(tmp_path / "v.npz")


# Tables


def test_wanted_forms() -> None:
    assert wanted_forms(["The", "-LRB-", "1\\/2", "U.S.", "<unk>", "<UNK>"]) == {
        "The", "the", "(", "1/2", "U.S.", "u.s.", "<UNK>"
    }  # fmt: skip


def test_table_has_the_mean_in_row_0(tmp_path: Path) -> None:
    vectors = vectors_for(["The", "FILM"], write(tmp_path, "g.txt", GLOVE + b"<unk> 9 9 9\n"))
    assert vectors.words == ("the", "film", "The")
    vocabulary, table = build_table(vectors)
    assert vocabulary.indices(["The", "FILM", "zzz"]).tolist() == [3, 2, 0]
    assert table.shape == (vocabulary.num_rows, 3)
    assert table.dtype == np.float32
    assert np.allclose(table[0], vectors.vectors.mean(axis=0))
    assert np.array_equal(table[1:], vectors.vectors)
    assert np.array_equal(unknown_vector(vectors), table[0])


def test_vectors_for_a_vocabulary(tmp_path: Path) -> None:
    assert vectors_for(Vocabulary(["film"]), write(tmp_path, "g.txt", GLOVE)).words == ("film",)


def test_the_files_own_unknown_row_is_left_out_of_the_table(tmp_path: Path) -> None:
    vocabulary, table = build_table(read_vectors(write(tmp_path, "g.txt", b"<unk> 9 9\na 1 2\nb 3 4\n")))
    assert vocabulary.words == ("a", "b")
    assert table.tolist() == [[2, 3], [1, 2], [3, 4]]


def test_word_vectors_must_fit() -> None:
    with pytest.raises(VectorsError, match="2 words do not match"):
        WordVectors(("a", "b"), np.ones((1, 3), np.float32), "here")


def test_memory_grows_with_what_is_kept_only(tmp_path: Path) -> None:
    row = " ".join(["0.12345"] * 300)
    path = tmp_path / "g.txt.gz"
    with gzip.open(path, "wt", compresslevel=1) as stream:
        stream.writelines(f"w{number} {row}\n" for number in range(20_000))
    tracemalloc.start()
    vectors = read_vectors(path, {"w7", "w19999"})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert vectors.num_read == 20_000
    assert vectors.words == ("w7", "w19999")
    assert peak < 8_000_000


# Real data


def data_folder() -> Path:
    folder = os.environ.get("LEXITREE_DATA")
    if not folder or not (Path(folder) / "vectors").is_dir():
        pytest.skip("LEXITREE_DATA does not name a folder with vectors/")
    return Path(folder)


def test_real_glove_covers_real_trees() -> None:
    from lexitree.trees.brackets import read_trees

    folder = data_folder()
    vectors = read_vectors(folder / "vectors" / "glove.840B.300d.approx.npz")
    assert (len(vectors), vectors.dim) == (51_387, 300)
    vocabulary, table = build_table(vectors)
    assert table.shape == (51_388, 300)
    report = coverage(read_trees(folder / "sst" / "train.txt"), vocabulary)
    assert report.tokens.total == 163_563
    assert 0.985 < report.tokens.covered < 0.995


def test_real_small_glove() -> None:
    vectors = read_vectors(data_folder() / "vectors" / "glove.6B.100d.npz", {"the", "film", "The"})
    assert vectors.num_read == 33_872
    assert sorted(vectors.words) == ["film", "the"]
    assert vectors.dim == 100


def test_vectors_are_scaled_to_one_length(tmp_path: Path) -> None:
    """Directions stay; a vector of zeros has none."""
    vectors = read_vectors(write(tmp_path, "g.txt", b"a 3 4\nb 0 0.5\nc 0 0\n"))
    scaled = with_length(vectors, 10.0)
    np.testing.assert_allclose(scaled.vectors, [[6, 8], [0, 10], [0, 0]], rtol=1e-6)
    assert scaled.words == vectors.words
    np.testing.assert_allclose(vectors.vectors[0], [3, 4])


def test_a_length_without_vectors_is_refused() -> None:
    recipe = Recipe(vector_length=5.0)
    with pytest.raises(ConfigError, match="no vectors to be scaled"):
        build_model(recipe, load_recipe_corpus(recipe))


def test_first_rows_are_kept_whatever_is_wanted(tmp_path: Path) -> None:
    rows = b"a 1 2\nb 3 4\nc 5 6\nd 7 8\n"
    npz = npz_bytes(words=list("abcd"), vectors=np.arange(8, dtype=np.float32).reshape(4, 2))
    for name, data in (("g.txt", rows), ("v.npz", npz)):
        path = write(tmp_path, name, data)
        assert read_vectors(path, {"d"}, num_first=2).words == ("a", "b", "d")
        assert read_vectors(path, {"a"}, num_first=1).words == ("a",)
        assert read_vectors(path, {"d"}).words == ("d",)
