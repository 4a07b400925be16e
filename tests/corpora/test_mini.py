from __future__ import annotations

from importlib.resources import files

import pytest

from lexitree.corpora.corpus import Corpus
from lexitree.corpora.mini import load_mini, load_mini_parses
from lexitree.errors import ConfigError

EMBEDDED = files("lexitree.corpora").joinpath("embedded")


def all_labels(corpus: Corpus) -> set[str]:
    return {label for trees in corpus.splits.values() for tree in trees for label in tree.labels}


def test_reviews_are_labelled_on_every_phrase() -> None:
    corpus = load_mini("reviews")
    assert corpus.name == "mini-reviews"
    assert list(corpus.splits) == ["train", "dev", "test"]
    assert sum(map(len, corpus.splits.values())) >= 600
    assert all(corpus.splits.values())
    assert all_labels(corpus) == {"0", "1", "2", "3", "4"}
    assert corpus.supervision == "all"


def test_binary_reviews() -> None:
    corpus = load_mini("reviews", "binary")
    assert all_labels(corpus) == {"", "negative", "positive"}
    assert {tree.label for tree in corpus.test} == {"negative", "positive"}


def test_reviews_with_finer_labels_than_answers() -> None:
    corpus, fine, binary = (load_mini("reviews", task) for task in ("polarity", "fine", "binary"))
    assert corpus.name == "mini-reviews-polarity"
    assert corpus.train == fine.train
    assert (corpus.dev, corpus.test) == (binary.dev, binary.test)
    assert (corpus.labels, corpus.label_set.trained_ids) == (binary.labels, fine.labels)


def test_splits_of_the_reviews_share_no_sentence() -> None:
    corpus = load_mini("reviews")
    train, dev, test = ({tree.words for tree in trees} for trees in corpus.splits.values())
    assert train.isdisjoint(dev | test)
    assert dev.isdisjoint(test)


def test_questions_have_six_types_at_their_roots() -> None:
    corpus = load_mini("questions")
    assert corpus.name == "mini-questions"
    assert sum(map(len, corpus.splits.values())) >= 400
    assert corpus.labels == ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
    assert corpus.supervision == "root"
    for trees in corpus.splits.values():
        assert {tree.label for tree in trees} == set(corpus.labels)
        assert all(set(corpus.labels).isdisjoint(tree.labels[1:]) for tree in trees)
        assert {"NP", "SBARQ"} <= {label for tree in trees for label in tree.labels}
    assert max(tree.depths.max() for tree in corpus.train) > 2


def test_fine_questions_refine_the_coarse_ones() -> None:
    coarse, fine = load_mini("questions"), load_mini("questions", "fine")
    assert len(fine.labels) > len(coarse.labels)
    assert [tree.label.split(":")[0] for tree in fine.train] == [tree.label for tree in coarse.train]
    trained = {tree.label for tree in fine.train}
    assert {tree.label for trees in (fine.dev, fine.test) for tree in trees} <= trained


def test_questions_with_finer_types_than_answers() -> None:
    corpus, fine, coarse = (load_mini("questions", task) for task in ("subtypes", "fine", "coarse"))
    assert corpus.name == "mini-questions-subtypes"
    assert corpus.label_set.trained_ids == fine.labels
    assert corpus.train == fine.train
    assert (corpus.labels, corpus.dev, corpus.test) == (coarse.labels, coarse.dev, coarse.test)


def test_the_parses_of_the_questions_keep_their_roots() -> None:
    parses, questions = load_mini_parses(), load_mini("questions")
    assert {tree.label for trees in parses.values() for tree in trees} == {"ROOT"}
    for split, trees in questions.splits.items():
        assert [tree.words for tree in parses[split]] == [tree.words for tree in trees]


def test_unknown_names_and_tasks_are_refused() -> None:
    with pytest.raises(ConfigError, match="reviews"):
        load_mini("reviews", "coarse")
    with pytest.raises(ConfigError, match="films"):
        load_mini("films")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["reviews", "questions"])
def test_embedded_files_are_plain_text(name: str) -> None:
    for split in ("train", "dev", "test"):
        text = EMBEDDED.joinpath(f"{name}.{split}.txt").read_bytes().decode("utf-8")
        assert text.endswith("\n")
        assert "\r" not in text
