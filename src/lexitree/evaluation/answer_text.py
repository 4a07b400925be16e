"""The numbers of labels in, one character a sentence out, and back: answers small enough for every record."""

from __future__ import annotations

import string

import numpy as np
import numpy.typing as npt

from lexitree.batch import NO_INDEX
from lexitree.errors import ConfigError

IndexArray = npt.NDArray[np.int64]

ALPHABET = string.digits + string.ascii_lowercase + string.ascii_uppercase
NO_LABEL_SIGN = "-"
"""Stands for a sentence without a gold label."""


def answers_to_text(numbers: npt.ArrayLike) -> str | None:
    """`012-` for the labels 0, 1, 2 and none; None where there are more labels than characters."""
    values: list[int] = np.asarray(numbers, dtype=np.int64).tolist()
    if any(value >= len(ALPHABET) for value in values):
        return None
    return "".join(NO_LABEL_SIGN if value == NO_INDEX else ALPHABET[value] for value in values)


def answers_from_text(text: str) -> IndexArray:
    """The inverse."""
    numbers = {sign: number for number, sign in enumerate(ALPHABET)} | {NO_LABEL_SIGN: NO_INDEX}
    unknown = sorted(set(text) - set(numbers))
    if unknown:
        raise ConfigError(f"{unknown[0]!r} stands for no label: answers are written in digits and letters")
    return np.array([numbers[sign] for sign in text], dtype=np.int64)
