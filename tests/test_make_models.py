"""Variations of parsed sentences keep what the parser said of them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree

sys.path.append(str(Path(__file__).parents[1] / "scripts"))

from make_models import EXCHANGED, PHRASE_WORDS, Variations, find_nearest, main, tagged_words

SENTENCES = (
    "(S (NP (DT The) (JJ quiet) (NN kettle)) (VP (VBZ works) (ADVP (RB well))) (. .))",
    "(S (NP (DT The) (JJ loud) (NN fan)) (VP (VBD broke) (ADVP (RB soon))) (. .))",
    "(S (NP (PRP It)) (VP (VBZ is) (ADJP (RB not) (JJ cheap))) (. .))",
)
WORDS = ["quiet", "loud", "cheap", "kettle", "fan", "works", "is", "broke", "well", "soon", "not"]


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    rows = np.random.default_rng(3).normal(size=(len(WORDS), 4)).round(3)
    path.write_text(
        "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(WORDS, rows, strict=True))
    )
    return path


def words_by_tag(trees: list[Tree]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for tree in trees:
        for tag, word in tagged_words(tree):
            found.setdefault(tag, set()).add(word)
    return found


def test_words_are_exchanged_for_others_with_their_tag(vectors: Path) -> None:
    trees = [tree_from_brackets(sentence) for sentence in SENTENCES]
    known = words_by_tag(trees)
    variations = Variations(trees, vectors, np.random.default_rng(1))
    varied = [found for _ in range(100) for tree in trees if (found := variations.vary(tree)) is not None]
    for tag, words in words_by_tag(varied).items():
        assert words <= known[tag]
        # Each word gets everywhere within its tag, and no other word changes.
        assert words == known[tag] or tag not in EXCHANGED
    phrases = [tree for tree in varied if tree.label != "S"]
    assert phrases
    assert {tree.num_words for tree in phrases} <= set(PHRASE_WORDS)
    assert {tree.label for tree in phrases} == {"NP", "VP", "ADJP"}
    assert not set(varied) & set(trees)


def test_the_nearest_have_the_largest_cosines() -> None:
    vectors = np.array([[1, 0], [0.8, 0.6], [0, 1], [-1, 0]], dtype=np.float32)
    assert [sorted(row) for row in find_nearest(vectors)] == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
    many = np.random.default_rng(5).normal(size=(40, 6)).astype(np.float32)
    many /= np.linalg.norm(many, axis=1, keepdims=True)
    cosines = many @ many.T - 5 * np.eye(40, dtype=np.float32)
    expected = [sorted(row) for row in np.argsort(-cosines, axis=1)[:, :10].tolist()]
    assert [sorted(row) for row in find_nearest(many)] == expected


def test_the_same_file_is_written_every_time(
    vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parses = tmp_path / "parses.txt"
    parses.write_text("\n".join(SENTENCES) + "\n")
    written: list[str] = []
    for name in ("one.txt", "two.txt"):
        files = ["vary", str(tmp_path / name), *[str(parses)] * 5]
        monkeypatch.setattr(sys, "argv", ["make_models.py", *files, "--vectors", str(vectors)])
        main()
        written.append((tmp_path / name).read_text())
    assert written[0] == written[1]
    lines = written[0].splitlines()
    assert len(lines) > len(SENTENCES)
    assert len(set(lines)) == len(lines)
