"""Bins of lengths hold the right sentences, and their counts add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.systems import made_up_system

from lexitree.errors import ConfigError
from lexitree_paper.analyze.comparison import accuracy_by_length


def test_bins_of_five_words() -> None:
    lengths = [1, 5, 6, 10, 21]
    sentences = [" ".join(["w"] * length) for length in lengths]
    good = made_up_system("good", [0, 1, 2, 0, 1], [[0, 1, 2, 0, 1]], sentences=sentences)
    bad = made_up_system("bad", [0, 1, 2, 0, 1], [[0, 0, 0, 0, 0], [0, 1, 0, 1, 0]], sentences=sentences)
    bins = accuracy_by_length([good, bad])
    assert [(part.first, part.last, part.num_sentences) for part in bins] == [
        (1, 5, 2),
        (6, 10, 2),
        (21, 25, 1),
    ]
    assert [part.title for part in bins] == ["1–5", "6–10", "21–25"]
    assert [part.accuracies["good"] for part in bins] == [1, 1, 1]
    assert [part.accuracies["bad"] for part in bins] == pytest.approx([0.75, 0.25, 0])
    assert bins[0].as_dict()["accuracies"] == {"good": 1.0, "bad": 0.75}
    # Of the first bin the seeds have one and two right, of the second one and none, of the last none.
    assert [part.deviations["bad"] for part in bins] == pytest.approx([0.5 / 2**0.5, 0.5 / 2**0.5, 0])
    assert [part.deviations["good"] for part in bins] == [0, 0, 0]


@given(st.lists(st.tuples(st.integers(1, 60), st.booleans()), min_size=1, max_size=40), st.integers(1, 12))
def test_the_bins_add_up(sentences: list[tuple[int, bool]], words_per_bin: int) -> None:
    texts = [" ".join(["w"] * length) for length, _ in sentences]
    system = made_up_system(
        "it", [1] * len(sentences), [[int(right) for _, right in sentences]], sentences=texts
    )
    bins = accuracy_by_length([system], words_per_bin=words_per_bin)
    joined = accuracy_by_length([system], words_per_bin=words_per_bin, fewest=4)
    assert [part.as_dict() for part in joined[:-1]] == [part.as_dict() for part in bins[: len(joined) - 1]]
    assert sum(part.num_sentences for part in joined) == len(sentences)
    assert joined[-1].last == bins[-1].last
    assert len(joined) == 1 or joined[-1].num_sentences >= 4
    counts = [part.num_sentences for part in bins]
    assert sum(counts) == len(sentences)
    assert np.average([part.accuracies["it"] for part in bins], weights=counts) == pytest.approx(
        system.accuracy
    )
    assert all(part.last - part.first + 1 == words_per_bin for part in bins)


def test_a_bin_holds_something() -> None:
    with pytest.raises(ConfigError):
        accuracy_by_length([made_up_system("it", [0], [[0]])], words_per_bin=0)
    with pytest.raises(ConfigError):
        accuracy_by_length([made_up_system("it", [0], [[0]])], fewest=0)


def test_the_longest_sentences_share_a_bin() -> None:
    lengths = [3] * 5 + [8] * 2 + [12] + [33]
    sentences = [" ".join(["w"] * length) for length in lengths]
    system = made_up_system("it", [0] * 9, [[0] * 7 + [0, 1]], sentences=sentences)
    bins = accuracy_by_length([system], fewest=4)
    assert [(part.title, part.num_sentences) for part in bins] == [("1–5", 5), ("6–35", 4)]
    assert bins[-1].accuracies == {"it": 0.75}
