"""The SVM of Silva et al. (2011) for question types: words, head words and hypernyms."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lexitree.corpora.corpus import Corpus
from lexitree.errors import ConfigError, import_extra
from lexitree.trees.tree import Tree
from lexitree_paper.question_heads import question_focus
from lexitree_paper.wordnet import Nouns, find_nouns

PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)
"""Values of C to choose from on the development split; of equals, the first, which generalizes better."""


class SvmClassifier:
    """A linear classifier of questions over binary features."""

    def __init__(self, vectorizer: Any, machine: Any, nouns: Nouns | None) -> None:
        self._vectorizer = vectorizer
        self._machine = machine
        self._nouns = nouns

    @property
    def penalty(self) -> float:
        """The value of C it was trained with."""
        return float(self._machine.C)

    def predict(self, trees: Sequence[Tree]) -> list[str]:
        """Return the label of each question."""
        if not trees:
            return []
        features = self._vectorizer.transform([question_features(tree, self._nouns) for tree in trees])
        return [str(label) for label in self._machine.predict(features)]

    def accuracy(self, trees: Sequence[Tree]) -> float:
        """Return the share of questions with the right label; 0 if there are none."""
        right = sum(tree.label == found for tree, found in zip(trees, self.predict(trees), strict=True))
        return right / len(trees) if trees else 0.0


def train_svm(corpus: Corpus, *, wordnet: str | Path | None = None) -> SvmClassifier:
    """Train a classifier on the questions of a corpus.

    The development split chooses C; the final classifier is trained on it as well.

    Args:
        corpus: Questions with labels at their roots.
        wordnet: Folder of WordNet's files; by default the usual places are searched.

    Raises:
        ConfigError: The corpus has fewer than two labels.
        MissingExtraError: scikit-learn is not installed.
    """
    trees = [tree for tree in corpus.scored_trees("train") if tree.label]
    if len({tree.label for tree in trees}) < 2:
        raise ConfigError(f"the corpus {corpus.name} has fewer than two labels")
    nouns = find_nouns(wordnet)
    if nouns is None:
        warnings.warn(
            "WordNet is not installed, so hypernyms are omitted; its files are in Debian's package"
            " wordnet-base and in NLTK's data (python -m nltk.downloader wordnet)",
            stacklevel=2,
        )
    dev = [tree for tree in corpus.dev if tree.label]
    if not dev:
        return _fit(trees, 1.0, nouns)
    best = max(PENALTIES, key=lambda penalty: _fit(trees, penalty, nouns).accuracy(dev))
    return _fit([*trees, *dev], best, nouns)


def question_features(tree: Tree, nouns: Nouns | None) -> list[str]:
    """Return the features of a question, possibly with duplicates."""
    focus = question_focus(tree)
    names = [f"word={word.lower()}" for word in tree.words]
    names += [f"asks={focus.wh_word}", f"head={focus.head}", f"pattern={focus.pattern}"]
    if nouns is not None and focus.head:
        names += [f"kind={name}" for name in nouns.hypernyms(focus.head)]
    return names


def _fit(trees: Sequence[Tree], penalty: float, nouns: Nouns | None) -> SvmClassifier:
    text, svm = (
        import_extra(module, extra="sklearn", purpose="The SVM", package="scikit-learn")
        for module in ("sklearn.feature_extraction.text", "sklearn.svm")
    )
    # The features are already a list of names, so there is nothing to tokenize.
    vectorizer: Any = text.CountVectorizer(analyzer=list, binary=True)
    features: Any = vectorizer.fit_transform([question_features(tree, nouns) for tree in trees])
    machine = svm.LinearSVC(C=penalty, random_state=0)
    machine.fit(features, [tree.label for tree in trees])
    return SvmClassifier(vectorizer, machine, nouns)
