"""Prepare trees for the students of `make models`, and choose between its runs.

    python scripts/make_models.py parse treebanks/mctb.review.txt runs/parses/mctb.review.txt
    python scripts/make_models.py words glove.extended.npz runs/words.txt
    python scripts/make_models.py vary runs/varied.txt --vectors glove.extended.npz \\
        runs/parses/sst.train.txt runs/domains/*/train.parsed.jsonl.gz
    python scripts/make_models.py choose-seed runs/questions --corpus trec

The same files are written every time.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from lexitree.arrays import DoubleArray, FloatArray
from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import load_corpus
from lexitree.lexicon.vector_files import read_vectors
from lexitree.parsers.adapters import open_parser
from lexitree.pipeline.predictor import Predictor
from lexitree.saving.packing import with_answers_of
from lexitree.saving.pretrained import from_pretrained
from lexitree.tasks.classify.annotated_trees import is_parsed_file, read_parsed
from lexitree.tasks.classify.parsed_corpus import read_unlabelled, with_parses
from lexitree.trees.brackets import surface_form, tree_to_brackets
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
COARSER = {"sst-fine": "sst-polarity"}
"""Tasks with fewer labels for the same model."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("parse", help="parse the sentences of a treebank again")
    command.add_argument("treebank", help="a file of trees, by its path or below $LEXITREE_DATA")
    command.add_argument("output", type=Path, help="the file to write")
    command.set_defaults(run=lambda given: write_parses(given.treebank, given.output))
    command = commands.add_parser("words", help="write words as trees of one word each")
    command.add_argument("vectors", type=Path)
    command.add_argument("output", type=Path, help="the file to write")
    command.set_defaults(run=lambda given: write_word_trees(given.vectors, given.output))
    command = commands.add_parser("vary", help="write variations of parsed sentences")
    command.add_argument("output", type=Path, help="the file to write")
    command.add_argument("parses", nargs="+", help="files of trees with Penn labels, or of parsed texts")
    command.add_argument("--vectors", type=Path, required=True, help="tell which words are near each other")
    command.set_defaults(run=lambda given: write_variations(given.parses, given.vectors, given.output))
    command = commands.add_parser("choose-seed", help="print the run that labels raw development text best")
    command.add_argument("folder", type=Path, help="the directory of the run, with one of each seed in it")
    command.add_argument("--corpus", required=True, help="the corpus that the model was trained on")
    command.set_defaults(run=lambda given: choose_seed(given.folder, given.corpus))
    given = parser.parse_args()
    given.run(given)


def write_parses(treebank: str, output: Path) -> None:
    """Parse the sentences of a treebank again, to get the trees that a model meets in raw text."""
    trees = read_unlabelled([treebank])
    sentences = ([surface_form(word) for word in tree.words] for tree in trees)
    output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(output) as stream:
        for parse, tree in zip(open_parser("builtin").parse_all(sentences), trees, strict=True):
            stream.write(tree_to_brackets(Tree(parse.arity, parse.labels, tree.words)) + "\n")
    print(f"{output}: {len(trees):,} trees")


def write_word_trees(vectors: Path, output: Path) -> None:
    """Write the words of a file of vectors as trees of one word each, for a teacher to label.

    A corpus of sentences shows a model only some of the words that have a vector. A teacher knows most others: from
    its answers the student learns what they say when they stand alone.
    """
    words = [word for word in read_vectors(vectors).words if is_plain(word)]
    output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(output) as stream:
        stream.writelines(tree_to_brackets(Tree([0], ["X"], [word])) + "\n" for word in words)
    print(f"{output}: {len(words):,} trees")


def is_plain(word: str) -> bool:
    """Whether this is an ordinary word: neither a name nor a number, a sign or a letter."""
    return len(word) > 1 and word.isalpha() and word == word.lower()


def write_variations(parses: Sequence[str], vectors: Path, output: Path) -> None:
    """Write variations of parsed sentences, for a teacher to label: other words in the same places, or phrases alone.

    A student that only sees the sentences of its corpora learns which words occur together there. From a teacher's
    answers on variations it learns what each word and each combination does. Nouns, verbs, adjectives and adverbs are
    exchanged at random for words with the same tag: one half for one of the nearest by their vectors, the other for
    any. A file that is given twice has two variations of each sentence.
    """
    trees = [tree for path in parses for tree in read_parses(path)]
    variations = Variations(trees, vectors, np.random.default_rng(1))
    output.parent.mkdir(parents=True, exist_ok=True)
    varied = (variations.vary(tree) for tree in trees)
    written = dict.fromkeys(tree_to_brackets(tree) for tree in varied if tree is not None)
    with atomic_write(output) as stream:
        stream.writelines(f"{line}\n" for line in written)
    print(f"{output}: {len(written):,} trees")


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


def choose_seed(folder: Path, corpus: str) -> None:
    """Print the run whose model labels raw development text best: sentences parsed by the package's parser.

    Where a corpus has a task with fewer labels for the same model (sst-fine read as sst-polarity), both count.
    """
    names = [corpus, *filter(None, [COARSER.get(corpus)])]
    corpora = [parsed_development(load_corpus(name)) for name in names]
    scores: dict[str, float] = {}
    for run in sorted(folder.glob("seed-*")):
        accuracies = [score(run / "model", each) for each in corpora]
        scores[run.name] = sum(accuracies) / len(accuracies)
        print(json.dumps({"run": run.name, **dict(zip(names, accuracies, strict=True))}))
    # Of equals the first: max keeps it.
    print(max(scores, key=scores.__getitem__))


def parsed_development(corpus: Corpus) -> Corpus:
    only_dev = dataclasses.replace(corpus, splits={"train": (), "dev": corpus.dev})
    return with_parses(only_dev, open_parser("builtin"), parses="replace")


def score(folder: Path, corpus: Corpus) -> float:
    model = from_pretrained(folder)
    if corpus.label_set.finer:
        with_answers_of(model, corpus)
    return Predictor(model).evaluate(corpus.dev, supervision="root").root.accuracy


if __name__ == "__main__":
    main()
