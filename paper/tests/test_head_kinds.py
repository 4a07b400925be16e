"""The program that counts the kinds of head words counts as it says."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.pipeline.stubs import tiny_pipeline

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from head_kinds import count_alone, spread


def test_texts_are_spread_over_a_set() -> None:
    assert spread(list("abcde"), 3) == ["a", "c", "e"]
    assert spread(list("ab"), 3) == ["a", "b"]


def test_heads_are_read_alone() -> None:
    pipe, texts = tiny_pipeline(), ["the film is not bad", "a good film", "the film is not bad"]
    counts = count_alone(pipe, texts)
    same = 0
    for text in texts:
        (sentence,) = pipe(text).sentences
        assert sentence.head_index is not None
        (head,) = pipe(sentence.words[sentence.head_index[0]]).sentences
        assert sentence.label_set.scores is not None
        assert set(sentence.label_set.scores) == {-1.0, 1.0}, "the labels of the tiny model have two sides"
        same += sentence.label == head.label
    assert counts["sentences"] == 3
    assert counts["same"] == same
    assert counts["neutral"] == 0
