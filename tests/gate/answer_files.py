"""The answers of a checkout as plain arrays, and the files in which they travel to the comparison."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class SentenceAnswer(NamedTuple):
    """The answer to one sentence; its nodes are those of the binary tree that the model reads, in pre-order."""

    words: Sequence[str]
    parse: str = ""
    """The parse in brackets; "" for trees that were given."""
    text: int = 0
    """The number of its text."""
    places: Sequence[int] = ()
    """Where each word begins in the text."""
    nodes: Sequence[Sequence[int]] | Array = ()
    """[nodes, 4]: first word, the word after the last, number of the label, and place of the head (-1: none)."""
    shares: Sequence[float] | Array = ()
    """[nodes]: the head's share of the head vector."""
    probabilities: Sequence[Sequence[float]] | Array = ()
    """[nodes, labels]"""


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers to many sentences, one after the other."""

    words: tuple[tuple[str, ...], ...]
    parses: tuple[str, ...]
    texts: Array  # [sentences]
    places: Array  # [words]
    num_nodes: Array  # [sentences]
    nodes: Array  # [nodes, 4]
    shares: Array  # [nodes]
    probabilities: Array  # [nodes, labels]

    @classmethod
    def of(cls, sentences: Iterable[SentenceAnswer]) -> Answers:
        """Join the answers to some sentences."""
        rows = list(sentences)
        num_labels = max((np.shape(row.probabilities)[1] for row in rows if len(row.nodes)), default=0)
        return cls(
            tuple(tuple(row.words) for row in rows),
            tuple(row.parse for row in rows),
            np.array([row.text for row in rows], dtype=np.int64),
            _joined([np.asarray(row.places, dtype=np.int64) for row in rows], np.int64),
            np.array([len(row.nodes) for row in rows], dtype=np.int64),
            _joined([np.reshape(row.nodes, (-1, 4)) for row in rows], np.int64),
            _joined([np.asarray(row.shares) for row in rows], np.float64),
            _joined(
                [np.reshape(row.probabilities, (len(row.nodes), num_labels)) for row in rows], np.float64
            ),
        )

    def save(self, path: Path) -> None:
        """Write an uncompressed .npz file."""
        arrays = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in ("words", "parses"):
            arrays[name] = np.frombuffer(json.dumps(arrays[name]).encode(), dtype=np.uint8)
        np.savez(path, **arrays)

    @classmethod
    def read(cls, path: Path) -> Answers:
        """Read what `save` wrote."""
        with np.load(path) as found:
            arrays = {name: found[name] for name in found.files}
        words, parses = (json.loads(arrays.pop(name).tobytes()) for name in ("words", "parses"))
        return cls(tuple(map(tuple, words)), tuple(parses), **arrays)


def _joined(parts: Sequence[Array], kind: type[Any]) -> Array:
    return np.concatenate(parts).astype(kind) if parts else np.zeros(0, dtype=kind)
