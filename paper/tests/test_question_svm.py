"""The SVM for questions: it learns, uses what WordNet knows, and says what is missing."""

from __future__ import annotations

import dataclasses
import os
import sys
import warnings
from pathlib import Path

import pytest

from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import load_corpus
from lexitree.errors import ConfigError, MissingExtraError
from lexitree.labels import LabelSet
from lexitree.trees.brackets import tree_from_brackets
from lexitree_paper import wordnet
from lexitree_paper.question_svm import PENALTIES, SvmClassifier, question_features, train_svm
from lexitree_paper.wordnet import find_nouns
from small_wordnet import write_wordnet

pytest.importorskip("sklearn", reason="needs scikit-learn")


def question(label: str, noun: str) -> str:
    return f"({label} (SBARQ (WHNP (WDT What) (NN {noun})) (SQ (VBZ is) (NP (DT that))) (. ?)))"


def corpus_of(*brackets: str, name: str = "tiny") -> Corpus:
    trees = tuple(tree_from_brackets(text) for text in brackets)
    return Corpus(name, {"train": trees}, LabelSet(("HUM", "LOC")), "root")


@pytest.fixture
def no_wordnet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordnet, "FOLDERS", ())
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    monkeypatch.setitem(sys.modules, "nltk.data", None)


def test_features(tmp_path: Path) -> None:
    nouns = find_nouns(write_wordnet(tmp_path))
    features = question_features(tree_from_brackets(question("LOC", "cities")), nouns)
    assert {"word=what", "word=cities", "asks=what", "head=cities"} <= set(features)
    assert [name for name in features if name.startswith("kind=")] == [
        "kind=city.00000400",
        "kind=place.00000300",
        "kind=entity.00000100",
    ]


def test_finer_labels_count_for_their_answers(tmp_path: Path) -> None:
    """The development split, which chooses C and is learnt from in the end, has no others."""
    nouns = {"HUM:ind": "child", "HUM:gr": "soul", "LOC:city": "city", "LOC:other": "Paris", "X": "thing"}
    finer = {label: label.partition(":")[0] if ":" in label else "" for label in nouns}
    corpus = corpus_of(*(question(label, noun) for label, noun in nouns.items()))
    dev = [tree_from_brackets(question("HUM", "lady")), tree_from_brackets(question("LOC", "church"))]
    corpus = dataclasses.replace(
        corpus, splits={**corpus.splits, "dev": dev}, label_set=LabelSet(corpus.labels, finer=finer)
    )
    machine = train_svm(corpus, wordnet=write_wordnet(tmp_path))
    assert machine.predict(corpus.scored_trees("train")) == ["HUM", "HUM", "LOC", "LOC"]


def test_hypernyms_tell_what_words_cannot(tmp_path: Path) -> None:
    corpus = corpus_of(
        *(question("HUM", noun) for noun in ("child", "soul")),
        *(question("LOC", noun) for noun in ("city", "Paris")),
    )
    unseen = [tree_from_brackets(question("HUM", "lady")), tree_from_brackets(question("LOC", "church"))]
    assert train_svm(corpus, wordnet=write_wordnet(tmp_path)).accuracy(unseen) == 1


@pytest.mark.usefixtures("no_wordnet")
def test_without_wordnet_it_says_so_and_learns_all_the_same() -> None:
    corpus = load_corpus("mini-questions")
    with pytest.warns(UserWarning, match=r"hypernyms are omitted.*wordnet-base"):
        machine = train_svm(corpus)
    assert machine.penalty in PENALTIES
    assert machine.accuracy(corpus.test) > 0.9


@pytest.mark.usefixtures("no_wordnet")
@pytest.mark.filterwarnings("ignore:WordNet is not installed")
def test_no_questions_have_no_labels() -> None:
    machine = train_svm(corpus_of(question("HUM", "child"), question("LOC", "city")))
    assert isinstance(machine, SvmClassifier)
    assert machine.predict([]) == []
    assert machine.accuracy([]) == 0


def test_one_label_is_nothing_to_tell_apart() -> None:
    with pytest.raises(ConfigError, match="fewer than two labels"):
        train_svm(corpus_of(question("HUM", "child")))


@pytest.mark.usefixtures("no_wordnet")
@pytest.mark.filterwarnings("ignore:WordNet is not installed")
def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    with pytest.raises(MissingExtraError, match=r"\[sklearn\]"):
        train_svm(corpus_of(question("HUM", "child"), question("LOC", "city")))


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("LEXITREE_DATA"), reason="needs real data: set LEXITREE_DATA")
def test_accuracy_on_trec() -> None:
    corpus = load_corpus("trec")
    has_wordnet = find_nouns() is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        accuracy = train_svm(corpus).accuracy(corpus.test)
    assert accuracy > (0.94 if has_wordnet else 0.91)
