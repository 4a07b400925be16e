"""Small word-vector files of every format, written for the tests."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]

GLOVE = b"the 0.5 -1 2e-1\nfilm 1 2 3\n. . . 4 5 6\nat name@domain.com 7 8 9\nThe .5 0 1.\n"


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def text_bytes(words: list[str], vectors: FloatArray, *, header: bool = False, end: str = "\n") -> bytes:
    rows = [f"{len(words)} {vectors.shape[1]}"] if header else []
    rows += [" ".join([word, *map(str, row)]) for word, row in zip(words, vectors, strict=True)]
    return "".join(row + end for row in rows).encode()


def word2vec_bytes(words: list[str], vectors: FloatArray, *, end: bytes = b"\n") -> bytes:
    rows = [
        word.encode() + b" " + row.astype("<f4").tobytes() + end
        for word, row in zip(words, vectors, strict=True)
    ]
    return f"{len(words)} {vectors.shape[1]}\n".encode() + b"".join(rows)


def npz_bytes(**arrays: npt.ArrayLike) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **{name: np.asarray(array) for name, array in arrays.items()})
    return stream.getvalue()


def zip_bytes(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "."), data)
    return stream.getvalue()


def npy_header(description: str, *, version: bytes = b"\x01\x00") -> bytes:
    header = description.encode().ljust(117) + b"\n"
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header
