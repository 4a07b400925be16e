"""Divides the rows of a table into training, development and test parts, and remembers which row is where."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from lexitree.corpora.corpus import SPLITS
from lexitree.corpora.text_tables import LabelledTexts
from lexitree.errors import FileError, LabelError
from lexitree.files import to_json
from lexitree.text import Layout
from lexitree.writing import atomic_write

SPLITS_FILE = "splits.json"
"""In the folder of a run: which rows it was trained and scored on."""
FORMAT = 1


def draw_splits(labels: Sequence[str], *, dev: float, test: float, seed: int) -> dict[str, tuple[int, ...]]:
    """Divide rows by chance, each label in the same proportions as far as whole rows allow.

    Of every label at least one row is left for training.

    Args:
        labels: The label of each row.
        dev: The share of the development part; 0 for none.
        test: The share of the test part; 0 for none.
        seed: Determines the rows.

    Returns:
        The numbers of the rows of each part, counted from 0, in their order; parts of a share of 0 are left out.

    Raises:
        LabelError: There are too few rows for all parts.
    """
    counts = Counter(labels)
    # Python's generator rather than NumPy's: what it draws has been the same since Python 3.2.
    rng = random.Random(seed)
    waiting: dict[str, list[int]] = {label: [] for label in sorted(counts)}
    for row, label in enumerate(labels):
        waiting[label].append(row)
    for rows in waiting.values():
        rows[:] = rng.sample(rows, len(rows))
    parts: dict[str, tuple[int, ...]] = {}
    for part, share in (("dev", dev), ("test", test)):
        if share:
            wanted = _allot(counts, {label: len(rows) - 1 for label, rows in waiting.items()}, share)
            taken = [waiting[label].pop() for label, number in wanted.items() for _ in range(number)]
            if not taken:
                raise LabelError(
                    f"{len(labels)} rows with {len(counts)} labels are too few to hold out a part for {part}",
                    remedy="Add rows, or hold out none: --set table.dev=0 --set table.test=0.",
                )
            parts[part] = tuple(sorted(taken))
    return {"train": tuple(sorted(row for rows in waiting.values() for row in rows)), **parts}


def _allot(counts: Mapping[str, int], free: Mapping[str, int], share: float) -> dict[str, int]:
    """How many rows of each label make up a share of all rows: whole numbers first, then the largest remainders."""
    total = max(1, round(share * sum(counts.values())))
    wanted = {label: min(int(share * count), free[label]) for label, count in counts.items()}
    rest = sorted(counts, key=lambda label: (int(share * counts[label]) - share * counts[label], label))
    for label in rest:
        if sum(wanted.values()) < total and wanted[label] < free[label]:
            wanted[label] += 1
    return wanted


@dataclass(frozen=True)
class SplitRecord:
    """Which rows of which table a model was trained and scored on."""

    name: str
    """The name of the file."""
    digest: str
    """See `LabelledTexts.digest`."""
    num_rows: int
    seed: int
    rows: Mapping[str, Sequence[int]]
    """The numbers of the rows of each part, counted from 0."""

    @classmethod
    def draw(cls, texts: LabelledTexts, *, dev: float, test: float, seed: int) -> SplitRecord:
        """Divide a table; see `draw_splits`."""
        rows = draw_splits(texts.labels, dev=dev, test=test, seed=seed)
        return cls(texts.name, texts.digest, len(texts.rows), seed, rows)

    def write(self, folder: Path) -> None:
        """Write the record into the folder of a run."""
        record = {
            "format": FORMAT,
            "file": self.name,
            "digest": self.digest,
            "num_rows": self.num_rows,
            "seed": self.seed,
            "rows": {split: list(rows) for split, rows in self.rows.items()},
        }
        with atomic_write(folder / SPLITS_FILE) as stream:
            stream.write(to_json(record) + "\n")

    @classmethod
    def read(cls, folder: Path) -> SplitRecord | None:
        """Read the record from the folder of a run; None if there is none.

        Raises:
            FileError: It is damaged.
        """
        path = folder / SPLITS_FILE
        if not path.is_file():
            return None
        try:
            return cls._from_values(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FileError(
                path, f"is damaged ({error})", remedy="Score the whole table: --split all."
            ) from error

    @classmethod
    def _from_values(cls, values: Any) -> SplitRecord:
        if values["format"] != FORMAT:
            raise ValueError(f"unknown format {values['format']!r:.40}")
        num_rows = values["num_rows"]
        rows = {
            split: tuple(cast(list[int], values["rows"][split]))
            for split in SPLITS
            if split in values["rows"]
        }
        everything = [row for part in rows.values() for row in part]
        if len(everything) != num_rows or sorted(everything) != [*range(len(everything))]:
            raise ValueError("its rows are not those of the table")
        return cls(str(values["file"]), str(values["digest"]), num_rows, int(values["seed"]), rows)

    def part_of(self, texts: LabelledTexts, split: str) -> list[int]:
        """The rows of a part of the table that the model was trained on.

        Raises:
            FileError: It is another table, or has changed, or has no such part.
        """
        if texts.digest != self.digest:
            raise FileError(
                texts.name,
                f"is not the table that the model was trained on ({self.name}, {self.num_rows:,} rows), or has"
                f" changed since then (it has {len(texts.rows):,} rows): its {split} part is not known",
                remedy="Give the unchanged table, or score all rows, which may include rows of the training:"
                " --split all.",
            )
        if split not in self.rows:
            raise FileError(texts.name, f"has no {split} part: training held none out")
        return list(self.rows[split])


@dataclass(frozen=True, slots=True)
class TextOrigin:
    """What is known of a corpus whose trees a parser has made of texts."""

    parser: str
    """The parser, as `open_parser` names it; empty if it was given as an object."""
    layout: Layout
    """How sentences were found; see `split_sentences`."""
    columns: tuple[str, str]
    """The columns of texts and labels; empty names if there was no table."""
    document_sizes: Mapping[str, Sequence[int]]
    """By split: how many of its trees, one after the other, make up each text."""
    record: SplitRecord | None
    """Which rows each split has; None if every split is a table of its own."""
