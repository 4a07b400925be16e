"""The choices that options offer are those of the library."""

from __future__ import annotations

from typing import get_args

import pytest

from lexitree.cli import options
from lexitree.corpora import corpus
from lexitree.models import cells, transformer
from lexitree.ops import precision
from lexitree.saving import quantized
from lexitree.tasks.classify import config, parsed_corpus
from lexitree.trees import Direction


@pytest.mark.parametrize(
    ("offered", "known"),
    [
        (options.Supervision, corpus.Supervision),
        (options.SplitName, corpus.SplitName),
        (options.Direction, Direction),
        (options.Parses, parsed_corpus.Parses),
        (options.DecayKind, config.DecayKind),
        (options.Schedule, config.Schedule),
        (options.LayerChoice, transformer.LayerChoice),
        (options.BiasInit, cells.BiasInit),
        (options.Precision, precision.Precision),
        (options.TableForm, quantized.TableForm),
    ],
)
def test_choices_are_those_of_the_library(offered: object, known: object) -> None:
    assert get_args(offered) == get_args(known)
    assert len(get_args(known)) >= 2
