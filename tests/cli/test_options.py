"""The choices that options offer are those of the library."""

from __future__ import annotations

from typing import get_args

import pytest

from lexitree.cli import options
from lexitree.corpora import corpus
from lexitree.ops import devices as precision
from lexitree.saving import quantized
from lexitree.trees.binarize import Direction


@pytest.mark.parametrize(
    ("offered", "known"),
    [
        (options.Supervision, corpus.Supervision),
        (options.SplitName, corpus.SplitName),
        (options.Direction, Direction),
        (options.Precision, precision.Precision),
        (options.TableForm, quantized.TableForm),
    ],
)
def test_choices_are_those_of_the_library(offered: object, known: object) -> None:
    assert get_args(offered) == get_args(known)
    assert len(get_args(known)) >= 2
