"""The sentiment treebank as dependency trees: labels from its phrases, and every way its files can disagree."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import find_corpus, load_corpus
from lexitree.corpora.sst import binary_sentiment, load_sst_dependencies
from lexitree.errors import ConfigError, CorpusNotFoundError, DependencyError
from lexitree.trees.dependencies import DependencyTree

TREES = "(3 (2 a) (4 film))\n(2 (1 so) (3 (2 1\\/2) (3 so)))\n(0 (2 -LRB-) (0 good))\n"
WORDS = "a film\nso 1/2 so\n-LRB- good\n"
PARENTS = "2 0\n0 3 1\n0 1\n"


def write(folder: Path, words: str = WORDS, parents: str = PARENTS) -> None:
    (folder / "dependencies").mkdir(parents=True, exist_ok=True)
    for split in ("train", "dev", "test"):
        (folder / f"{split}.txt").write_text(TREES, encoding="utf-8")
        (folder / "dependencies" / f"{split}.toks").write_text(words, encoding="utf-8")
        (folder / "dependencies" / f"{split}.dparents").write_text(parents, encoding="utf-8")


def test_phrases_give_their_labels(tmp_path: Path) -> None:
    write(tmp_path / "sst")
    corpus = load_corpus("sst-dependencies", data=tmp_path)
    assert corpus.name == "sst-dependencies"
    assert [tree.node_words for tree in corpus.dev] == [("film", "a"), ("so", "so", "1/2"), ("-LRB-", "good")]
    assert [tree.labels for tree in corpus.dev] == [("3", "2"), ("2", "3", "2"), ("0", "0")]
    assert corpus.supervision == "all"


def test_binary_leaves_out_neutral_sentences(tmp_path: Path) -> None:
    write(tmp_path)
    corpus = load_corpus("sst-dependencies-binary", data=tmp_path)
    assert corpus.labels == ("negative", "positive")
    assert [tree.labels for tree in corpus.train] == [("positive", ""), ("negative", "negative")]
    assert all(isinstance(tree, DependencyTree) for tree in corpus.train)
    with pytest.raises(ConfigError, match="coarse"):
        load_sst_dependencies(tmp_path, "coarse")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="unknown task 'polarity'"):
        load_sst_dependencies(tmp_path, "polarity")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "parents", "message"),
    [
        (
            WORDS.replace("good", "bad"),
            PARENTS,
            "train.toks:3: these are not the words of the treebank's line 3",
        ),
        ("a film\n", "2 0\n", "train.toks:2: fewer sentences than the 3 of the treebank"),
        (WORDS + "a\n", PARENTS + "0\n", "train.toks:4: more sentences than the 3 of the treebank"),
        (WORDS, PARENTS.replace("2 0", "2 1"), "train.dparents:1: no word is the root"),
    ],
)
def test_files_that_disagree(tmp_path: Path, words: str, parents: str, message: str) -> None:
    write(tmp_path, words, parents)
    with pytest.raises(DependencyError) as caught:
        load_sst_dependencies(tmp_path)
    assert message in str(caught.value)


def test_without_parses_it_is_said_how_to_get_them(no_data: Path, tmp_path: Path) -> None:
    write(tmp_path / "sst")
    (tmp_path / "sst" / "dependencies" / "dev.dparents").unlink()
    assert find_corpus("sst-fine", tmp_path) == tmp_path / "sst"
    with pytest.raises(
        CorpusNotFoundError, match=r"Parse the treebank .* sst/dependencies/ .* set LEXITREE_DATA"
    ):
        load_corpus("sst-dependencies", data=tmp_path)
    with pytest.raises(CorpusNotFoundError, match="Parse the treebank"):
        load_sst_dependencies(tmp_path)


@pytest.fixture(scope="module")
def real_dependencies(real_data: Path) -> Corpus:
    return load_sst_dependencies(real_data)


def test_real_counts(real_dependencies: Corpus, real_sst: Corpus) -> None:
    corpus = real_dependencies
    assert [corpus.counts(split).num_trees for split in corpus.splits] == [8_544, 1_101, 2_210]
    assert [corpus.counts(split).num_nodes for split in corpus.splits] == [163_563, 21_274, 42_405]
    for split, trees in corpus.splits.items():
        assert [tree.label for tree in trees] == [tree.label for tree in real_sst.splits[split]]
    splits = {split: tuple(trees) for split, trees in corpus.splits.items()}
    binary = binary_sentiment("binary", splits, "")
    assert [binary.counts(split).num_trees for split in binary.splits] == [6_920, 872, 1_821]


def test_real_labels_are_those_of_the_phrases(real_dependencies: Corpus, real_sst: Corpus) -> None:
    """Each labelled node is looked up among the phrases by its very words' places."""
    num_gaps = 0
    for tree, whole in zip(real_dependencies.dev, real_sst.dev, strict=True):
        assert isinstance(tree, DependencyTree)
        by_span = dict(zip(whole.spans, whole.labels, strict=True))
        num_gaps += int((~tree.is_contiguous).sum())
        for span, label, is_contiguous in zip(tree.spans, tree.labels, tree.is_contiguous, strict=True):
            assert label == (by_span.get(span, "") if is_contiguous else "")
    assert num_gaps > 0
