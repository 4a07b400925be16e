"""The embedded reviews need composition: counting words falls at least ten points short of BiConTree."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from lexitree.cli.demo import demo_recipe
from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import load_corpus
from lexitree.tasks.classify.run import train

POINTS_SHORT = 0.10


def word_counting_accuracy(corpus: Corpus) -> float:
    text = pytest.importorskip("sklearn.feature_extraction.text", reason="needs scikit-learn")
    linear = pytest.importorskip("sklearn.linear_model")
    counter = text.CountVectorizer(token_pattern=r"\S+")
    sentences = {split: [" ".join(tree.words) for tree in trees] for split, trees in corpus.splits.items()}
    gold = {split: [tree.label for tree in trees] for split, trees in corpus.splits.items()}
    train_counts = counter.fit_transform(sentences["train"])
    # The strength that is best on the test split itself: more than any honest choice would reach.
    models = [
        linear.LogisticRegression(C=c, max_iter=3000).fit(train_counts, gold["train"]) for c in (0.1, 1, 10)
    ]
    return max(model.score(counter.transform(sentences["test"]), gold["test"]) for model in models)


@pytest.mark.slow
def test_word_counting_falls_short(tmp_path: Path) -> None:
    corpus = load_corpus("mini-reviews")
    short = demo_recipe(epochs=6)
    half_size = dataclasses.replace(short, model={"hidden": 75, "word_size": 150})
    trees = train(half_size, tmp_path / "run", corpus=corpus).scores()["test_root"]
    words = word_counting_accuracy(corpus)
    assert trees - words >= POINTS_SHORT, f"BiConTree {trees:.3f}, word counting {words:.3f}"
