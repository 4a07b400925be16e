from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.corpora.corpus import Corpus
from lexitree.corpora.trec import load_trec
from lexitree.errors import BracketError, ConfigError, CorpusNotFoundError, SentenceError

LABELS = "HUM:ind Who is sister\xf0city ?\nNUM:dist How far ?\nLOC:city Which city ?\nHUM:gr Who ( they ) ?\n"
PARSES = (
    "(ROOT (SBARQ (WP Who) (VP (VBZ is) (NN sister\xf0city)) (. ?)))\n"
    "(ROOT (WHADVP (WRB How) (RB far) (. ?)))\n"
    "(ROOT (WHNP (WDT Which) (NN city)) (. ?))\n"
    "(ROOT (WP Who) (-LRB- -LRB-) (PRP they) (-RRB- -RRB-) (. ?))\n"
)


def write(folder: Path, labels: str = LABELS, parses: str | None = PARSES) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for label_file, parse_file in (("train_5500.label", "train.parses"), ("TREC_10.label", "test.parses")):
        (folder / label_file).write_text(labels, encoding="latin-1")
        if parses is not None:
            (folder / parse_file).write_text(parses, encoding="utf-8")


def test_types_stand_at_the_roots_of_the_parses(tmp_path: Path) -> None:
    write(tmp_path / "trec")
    corpus = load_trec(tmp_path)
    assert corpus.labels == ("HUM", "LOC", "NUM")
    assert corpus.label_set.readable["NUM"] == "number"
    assert corpus.supervision == "root"
    assert [tree.label for tree in corpus.test] == ["HUM", "NUM", "LOC", "HUM"]
    assert "VP" in corpus.test[0].labels[1:]
    assert corpus.counts("test").num_labelled == 4
    assert corpus.test[0].words == ("Who", "is", "sister\xf0city", "?")
    assert corpus.test[0].num_nodes == 7
    assert len(corpus.train) + len(corpus.dev) == 4


def test_fine_types_keep_their_coarse_part(tmp_path: Path) -> None:
    write(tmp_path)
    corpus = load_trec(tmp_path, "fine")
    assert corpus.labels == ("HUM:gr", "HUM:ind", "LOC:city", "NUM:dist")
    assert corpus.label_set.readable["NUM:dist"] == "number: dist"


def test_subtypes_are_trained_with_and_not_answered(tmp_path: Path) -> None:
    write(tmp_path)
    corpus, fine, coarse = (load_trec(tmp_path, task) for task in ("subtypes", "fine", "coarse"))
    assert corpus.name == "trec-subtypes"
    assert corpus.labels == coarse.labels
    assert dict(corpus.label_set.finer) == {
        "HUM:gr": "HUM",
        "HUM:ind": "HUM",
        "LOC:city": "LOC",
        "NUM:dist": "NUM",
    }
    assert corpus.train == fine.train
    assert (corpus.dev, corpus.test) == (coarse.dev, coarse.test)
    assert {**fine.label_set.readable, **coarse.label_set.readable} == dict(corpus.label_set.readable)
    assert "3 labels" in corpus.inference
    assert "training: 4 labels" in corpus.inference


def test_without_parses_trees_are_flat_and_it_is_said(tmp_path: Path) -> None:
    write(tmp_path, parses=None)
    corpus = load_trec(tmp_path)
    assert corpus.test[1].arity.tolist() == [3, 0, 0, 0]
    assert "flat trees" in corpus.inference


@pytest.mark.parametrize(
    ("parses", "message"),
    [
        (
            PARSES.replace("How", "So"),
            r"train.parses:2:1: this is not one parse of question 2, which is: How far \?",
        ),
        (PARSES.replace("(ROOT (WHADVP", "\n(ROOT (WHADVP"), r"train.parses:2:1: this is not one parse"),
        (PARSES + "(X y)\n", r"train.parses:5: more parses than the 4 questions"),
        (PARSES.split("\n")[0], r"train.parses:1: fewer parses than the 4 questions"),
    ],
)
def test_parses_must_be_those_of_the_questions(tmp_path: Path, parses: str, message: str) -> None:
    write(tmp_path, parses=parses)
    with pytest.raises(SentenceError, match=message):
        load_trec(tmp_path)


def test_malformed_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusNotFoundError, match="lexitree data fetch trec"):
        load_trec(tmp_path)
    write(tmp_path, parses=PARSES.replace("far)", "far"))
    with pytest.raises(BracketError, match=r"train\.parses:2"):
        load_trec(tmp_path)
    write(tmp_path, labels=LABELS.replace("NUM:dist How far ?", "NUM How far ?"))
    with pytest.raises(SentenceError, match=r"train_5500.label:2:1: expected a line"):
        load_trec(tmp_path)
    with pytest.raises(ConfigError, match="binary"):
        load_trec(tmp_path, "binary")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def real_trec(real_data: Path) -> Corpus:
    return load_trec(real_data)


def test_real_counts(real_trec: Corpus, real_data: Path) -> None:
    corpus = real_trec
    assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (4_952, 500, 500)
    assert corpus.labels == ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
    assert all(tree.label for trees in corpus.splits.values() for tree in trees)
    assert {"NP", "SBARQ"} <= {label for tree in corpus.train for label in tree.labels}
    assert corpus.counts("train").num_labelled == len(corpus.train)
    assert len(load_trec(real_data, "fine").labels) == 50


def test_real_development_split_is_always_the_same(real_trec: Corpus, real_data: Path) -> None:
    dev = real_trec.dev
    assert " ".join(dev[0].words) == "What fowl grabs the spotlight after the Chinese Year of the Monkey ?"
    assert dev == load_trec(real_data).dev
