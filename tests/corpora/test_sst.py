from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.corpora.corpus import Corpus
from lexitree.corpora.sst import load_sst
from lexitree.errors import ConfigError, CorpusNotFoundError, LabelError

TEXT = "(3 (2 a) (4 film))\n(2 (1 so) (3 so))\n(0 (2 no) (0 good))\n"


def write(folder: Path, text: str = TEXT) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for split in ("train", "dev", "test"):
        (folder / f"{split}.txt").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("below", ["sst", "trees", "sst/trees", "."])
def test_every_layout_is_found(tmp_path: Path, below: str) -> None:
    write(tmp_path / below)
    corpus = load_sst(tmp_path)
    assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (3, 3, 3)
    assert corpus.labels == ("0", "1", "2", "3", "4")
    assert corpus.label_set.name_of("0") == "very negative"
    assert corpus.supervision == "all"


def test_binary_drops_neutral_sentences_and_neutral_labels(tmp_path: Path) -> None:
    write(tmp_path)
    corpus = load_sst(tmp_path, "binary")
    assert corpus.labels == ("negative", "positive")
    assert [tree.labels for tree in corpus.train] == [
        ("positive", "", "positive"),
        ("negative", "", "negative"),
    ]


def test_polarity_is_trained_on_everything_and_scored_as_binary_is(tmp_path: Path) -> None:
    write(tmp_path)
    corpus, fine, binary = (load_sst(tmp_path, task) for task in ("polarity", "fine", "binary"))
    assert corpus.name == "sst-polarity"
    assert corpus.train == fine.train
    assert (corpus.dev, corpus.test) == (binary.dev, binary.test)
    assert corpus.labels == binary.labels
    assert corpus.label_set.trained_ids == fine.labels
    assert dict(corpus.label_set.finer) == {
        "0": "negative",
        "1": "negative",
        "2": "",
        "3": "positive",
        "4": "positive",
    }
    assert list(corpus.scored_trees("train")) == list(binary.train)
    assert "training: labels on all nodes, 5 labels" in corpus.inference


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(CorpusNotFoundError, match="lexitree data fetch sst"):
        load_sst(tmp_path)
    write(tmp_path, "(S (NP a) (VP b))\n")
    with pytest.raises(LabelError, match="labels other than 0 to 4: 'NP', 'S', 'VP'"):
        load_sst(tmp_path)
    write(tmp_path)
    with pytest.raises(ConfigError, match="coarse"):
        load_sst(tmp_path, "coarse")  # type: ignore[arg-type]


def test_real_counts(real_sst: Corpus) -> None:
    corpus = real_sst
    assert [corpus.counts(split).num_trees for split in corpus.splits] == [8_544, 1_101, 2_210]
    assert [corpus.counts(split).num_nodes for split in corpus.splits] == [318_582, 41_447, 82_600]
    assert [corpus.counts(split).num_labelled for split in corpus.splits] == [318_582, 41_447, 82_600]
    assert all(tree.is_binary for trees in corpus.splits.values() for tree in trees)


def test_real_binary_and_polarity_counts(real_data: Path) -> None:
    corpus, binary = load_sst(real_data, "polarity"), load_sst(real_data, "binary")
    assert [binary.counts(split).num_trees for split in binary.splits] == [6_920, 872, 1_821]
    assert [binary.counts(split).num_labelled for split in binary.splits] == [84_440, 11_033, 22_451]
    assert [corpus.counts(split).num_trees for split in corpus.splits] == [8_544, 872, 1_821]
    assert [corpus.counts(split).num_labelled for split in corpus.splits] == [318_582, 11_033, 22_451]
    assert sum(corpus.counts("train").node_labels.values()) == 318_582
    assert (corpus.dev, corpus.test) == (binary.dev, binary.test)
    assert list(corpus.scored_trees("train")) == list(binary.train)
