"""Write variations of parsed sentences, for a teacher to label: other words in the same places, and phrases alone.

    python scripts/write_varied_trees.py runs/varied.txt --vectors glove.extended.npz \\
        runs/parses/sst.train.txt runs/domains/*/train.parsed.jsonl.gz

A student that only sees the sentences of its corpora learns which words occur together there. From a teacher's
answers on variations it learns what each word and each combination does. Nouns, verbs, adjectives and adverbs are
exchanged at random for words with the same tag: one half for one of the nearest by their vectors, the other for any.
A file that is given twice has two variations of each sentence. The same variations are written every time.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from lexitree.arrays import DoubleArray, FloatArray
from lexitree.lexicon.vector_files import read_vectors
from lexitree.tasks.classify.annotated_trees import is_parsed_file, read_parsed
from lexitree.tasks.classify.parsed_corpus import read_unlabelled
from lexitree.trees.brackets import tree_to_brackets
from lexitree.trees.tree import Tree
from lexitree.writing import atomic_write

EXCHANGED = frozenset(
    ("JJ", "JJR", "JJS", "NN", "NNS", "RB", "RBR", "RBS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ")
)
"""Tags of words that can be exchanged."""
EXCHANGED_SHARE = 0.3
PHRASE_SHARE = 0.25
"""How many variations are a phrase of the sentence, alone."""
PHRASE_WORDS = range(2, 9)
NUM_NEAREST = 10
ROWS_AT_ONCE = 1000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, help="the file to write")
    parser.add_argument("parses", nargs="+", help="files of trees with Penn labels, or of parsed texts")
    parser.add_argument("--vectors", type=Path, required=True, help="tell which words are near each other")
    options = parser.parse_args()
    trees = [tree for path in options.parses for tree in read_parses(path)]
    variations = Variations(trees, options.vectors, np.random.default_rng(1))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    varied = (variations.vary(tree) for tree in trees)
    written = dict.fromkeys(tree_to_brackets(tree) for tree in varied if tree is not None)
    with atomic_write(options.output) as stream:
        stream.writelines(f"{line}\n" for line in written)
    print(f"{options.output}: {len(written):,} trees")


def read_parses(path: str) -> Iterable[Tree]:
    if is_parsed_file(path):
        return (tree for text in read_parsed(Path(path)) for tree in text.trees)
    return read_unlabelled([path])


class Variations:
    """Varies trees by the words of all of them."""

    def __init__(self, trees: Sequence[Tree], vectors: Path, rng: np.random.Generator) -> None:
        self.rng = rng
        counts: dict[str, Counter[str]] = {tag: Counter() for tag in EXCHANGED}
        for tree in trees:
            for tag, word in tagged_words(tree):
                if tag in counts and word.isalpha():
                    counts[tag][word] += 1
        wanted = {word for found in counts.values() for word in found}
        read = read_vectors(vectors, wanted)
        rows = {word: row for row, word in enumerate(read.words)}
        self.by_tag = {
            tag: ExchangedWords.of({word: n for word, n in found.items() if word in rows}, rows, read.vectors)
            for tag, found in sorted(counts.items())
        }

    def vary(self, tree: Tree) -> Tree | None:
        """The tree, or a phrase of it, with other words; None if it would be the same tree."""
        words = list(tree.words)
        is_chosen = self.rng.random(len(words)) < EXCHANGED_SHARE
        for place, (tag, word) in enumerate(tagged_words(tree)):
            if is_chosen[place] and tag in self.by_tag:
                words[place] = self.by_tag[tag].other(word, self.rng)
        varied = Tree(tree.arity, tree.labels, words)
        if self.rng.random() < PHRASE_SHARE:
            varied = self._phrase(varied)
        return None if varied == tree else varied

    def _phrase(self, tree: Tree) -> Tree:
        """One of its phrases, if any has the right length."""
        lengths = (tree.ends - tree.starts).tolist()
        nodes = [node for node in range(1, tree.num_nodes) if lengths[node] in PHRASE_WORDS]
        if not nodes:
            return tree
        node = nodes[int(self.rng.integers(len(nodes)))]
        beyond = np.flatnonzero(tree.depths[node + 1 :] <= tree.depths[node])
        end = node + 1 + int(beyond[0]) if len(beyond) else tree.num_nodes
        return Tree(tree.arity[node:end], tree.labels[node:end], tree.phrase(node))


class ExchangedWords:
    """The words with one tag: how frequent they are, and which are near."""

    def __init__(self, words: Sequence[str], shares: DoubleArray, nearest: Sequence[Sequence[int]]) -> None:
        self.words = words
        self.ends = np.cumsum(shares)
        self.nearest = dict(zip(words, nearest, strict=True))

    @classmethod
    def of(cls, counts: Mapping[str, int], rows: Mapping[str, int], table: FloatArray) -> ExchangedWords:
        words = sorted(counts)
        shares = np.array([counts[word] for word in words], dtype=np.float64) ** 0.75
        vectors = table[[rows[word] for word in words]].astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
        return cls(words, shares / shares.sum() if words else shares, find_nearest(vectors))

    def other(self, word: str, rng: np.random.Generator) -> str:
        near = self.nearest.get(word, ())
        if not self.words:
            return word
        if len(near) and rng.random() < 0.5:
            return self.words[near[int(rng.integers(len(near)))]]
        return self.words[min(int(np.searchsorted(self.ends, rng.random())), len(self.words) - 1)]


def find_nearest(vectors: FloatArray) -> list[list[int]]:
    """For each vector the others with the largest cosines."""
    nearest: list[list[int]] = []
    number = min(NUM_NEAREST, len(vectors) - 1)
    for start in range(0, len(vectors), ROWS_AT_ONCE):
        cosines = vectors[start : start + ROWS_AT_ONCE] @ vectors.T
        own = np.arange(len(cosines))
        cosines[own, start + own] = -2
        nearest += np.argpartition(-cosines, number - 1, axis=1)[:, :number].tolist() if number > 0 else [[]]
    return nearest


def tagged_words(tree: Tree) -> Iterator[tuple[str, str]]:
    tags = (tree.labels[node] for node in cast(list[int], tree.leaves.tolist()))
    return zip(tags, tree.words, strict=True)


if __name__ == "__main__":
    main()
