"""Measure how a model does on words that its table lacks: all alike, guessed, or with their own vectors.

    lexitree train --recipe sst-bicontree-tuned -o runs/unseen-words --epochs 10 --vectors GLOVE
    python paper/benchmarks/unseen_words.py runs/unseen-words/model --vectors GLOVE --output results/unseen-words.json

Words of the development and test sentences are taken out of the table in all their forms (`Film`, `film`), a guesser
is fitted to what is left of the table and of the vectors, and sentences are labelled with it and without. Hidden are
either words that the training sentences do not contain, as a new text would have them, or these and words that occur
in training once. Other rows are about words that even the vectors lack (most are joined: `well-paced`), and about one
word of each sentence, not a neutral one, in which a letter is repeated (`gooood`).
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import root_path  # noqa: F401
from environment import corpus_files, describe_run
from lexitree.corpora.named import load_corpus
from lexitree.lexicon.vector_files import read_vectors, with_length
from lexitree.lexicon.vocabulary import UNK, Vocabulary, count_words
from lexitree.models.classifier import TreeClassifier
from lexitree.models.guesses import FittedGuesser, VectorGuesser, fit_guesser
from lexitree.models.inference import run_examples
from lexitree.models.word_table import WordTable
from lexitree.saving.pretrained import from_pretrained
from lexitree.trees.brackets import surface_form
from lexitree.trees.tree import Tree

Rows = dict[str, torch.Tensor]
NEUTRAL = "2"
HIDDEN = ("words not met in training", "words met at most once")
NAMES = ("hidden", "split", "unknown")
SCORES = ("root", "phrase", "watched_root", "watched_phrase", "watched_word_accuracy")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--vectors", type=Path, required=True, help="those the model was trained with")
    parser.add_argument("--vector-length", type=float, default=6.0, help="the length they were scaled to")
    parser.add_argument("--share", type=float, default=0.5, help="how many of the words are hidden")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    bench = Bench.open(options.model, options.vectors, options.vector_length)
    rows = [
        row
        for seed in options.seeds
        for often in (0, 1)
        for row in bench.hide(often, options.share, seed, splits=("dev", "test"))
    ]
    rows += [*bench.without_vectors(), *bench.lengthened()]
    if options.output:
        record = {
            **describe_run({**corpus_files("sst-fine"), "vectors": options.vectors}),
            "what": "accuracy on SST, dev and test, when words are not in the table",
            "seeds": options.seeds,
            "training": from_pretrained(options.model).training_record,
            "means": means(rows),
            "rows": rows,
        }
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Bench:
    """A trained model, the vectors it started from, and sentences."""

    model: TreeClassifier
    table: Rows
    """The rows of its table, by word."""
    vectors: Rows
    """All vectors of the file, as training scaled them."""
    trees: Mapping[str, Sequence[Tree]]

    @classmethod
    def open(cls, model: Path, vectors: Path, length: float) -> Bench:
        loaded = from_pretrained(model)
        words = loaded.lexicon
        assert isinstance(words, WordTable)
        table = dict(zip(words.vocabulary, words.vectors.detach()[1:], strict=True))
        scaled = with_length(read_vectors(vectors), length)
        rows = dict(zip(scaled.words, torch.from_numpy(scaled.vectors), strict=True))
        rows.pop(UNK, None)
        return cls(loaded, table, rows, load_corpus("sst-fine").splits)

    def hide(self, often: int, share: float, seed: int, splits: Sequence[str]) -> Iterable[dict[str, Any]]:
        """Take a share of the words out of the table that training has met `often` times at most."""
        counts: dict[str, int] = {}
        for word, count in count_words(self.trees["train"]).items():
            counts[word.lower()] = counts.get(word.lower(), 0) + count
        candidates = sorted({word.lower() for word in self.table if counts.get(word.lower(), 0) <= often})
        hidden = set(random.Random(seed).sample(candidates, int(share * len(candidates))))
        kept = {word: row for word, row in self.table.items() if word.lower() not in hidden}
        others = {word: row for word, row in self.vectors.items() if word.lower() not in hidden}
        fitted = fit({**others, **kept}, seed)
        condition = {"hidden": HIDDEN[often], "seed": seed, "num_hidden": len(hidden)}
        for split in splits:
            trees = self.trees[split]
            watched = {word for word in surfaces(trees) if word.lower() in hidden}
            yield from self.compare(
                {**condition, "split": split, "similarity": fitted.similarity},
                trees,
                watched,
                {
                    "all alike": (kept, None),
                    "guessed": (kept, fitted.guesser),
                    "their own rows": (self.table, None),
                },
            )

    def without_vectors(self) -> Iterable[dict[str, Any]]:
        """Words that not even the vectors have."""
        guesser = fit({**self.vectors, **self.table}).guesser
        known = Vocabulary(self.table)
        trees = [*self.trees["dev"], *self.trees["test"]]
        watched = {word for word in surfaces(trees) if not known.index(word)}
        yield from self.compare(
            {"hidden": "words without a vector", "split": "dev and test"},
            trees,
            watched,
            {"all alike": (self.table, None), "guessed": (self.table, guesser)},
        )

    def lengthened(self) -> Iterable[dict[str, Any]]:
        """One word of each sentence with a repeated letter; its own row is that of the word as it was."""
        guesser = fit({**self.vectors, **self.table}).guesser
        chooser = random.Random(1)
        meant: dict[str, str] = {}
        trees = [
            lengthen(tree, Vocabulary(self.table), chooser, meant)
            for tree in [*self.trees["dev"], *self.trees["test"]]
        ]
        rows = {word: self.table.get(meant[word], self.table.get(meant[word].lower())) for word in meant}
        yield from self.compare(
            {"hidden": "a word lengthened in each sentence", "split": "dev and test"},
            trees,
            set(meant),
            {
                "all alike": (self.table, None),
                "guessed": (self.table, guesser),
                "their own rows": ({**self.table, **rows}, None),
            },
        )

    def compare(
        self,
        condition: Mapping[str, Any],
        trees: Sequence[Tree],
        watched: set[str],
        tables: Mapping[str, tuple[Rows, VectorGuesser | None]],
    ) -> Iterable[dict[str, Any]]:
        for name, (rows, guesser) in tables.items():
            row = {**condition, "unknown": name, **self.score(trees, watched, rows, guesser)}
            shares = "".join(f"{100 * row[score]:8.2f}" for score in SCORES)
            print(f"{row['hidden']:<36}{row['split']:<14}{name:<16}{shares}", flush=True)
            yield row

    def score(
        self, trees: Sequence[Tree], watched: set[str], rows: Rows, guesser: VectorGuesser | None
    ) -> dict[str, Any]:
        """Accuracy with these rows in the table: of all, and of what contains the watched words."""
        unknown = self.model.state_dict()["lexicon.vectors"][:1]
        lexicon = WordTable(Vocabulary(rows), torch.cat([unknown, torch.stack(list(rows.values()))]), guesser)
        model = TreeClassifier(self.model.config, lexicon)
        weights = {k: v for k, v in self.model.state_dict().items() if not k.startswith("lexicon.")}
        model.load_state_dict({**lexicon.state_dict(prefix="lexicon."), **weights})
        right: dict[str, list[bool]] = {name: [] for name in SCORES}
        for output in run_examples(model, model.prepare(trees)):
            tree = output.example.tree
            gold = output.example.source_label_index
            correct = (output.probabilities.argmax(1) == gold).tolist()
            counts = np.cumsum([0, *(surface_form(word) in watched for word in tree.words)])
            contains = counts[tree.ends] > counts[tree.starts]
            right["root"].append(correct[0])
            right["watched_root"] += [correct[0]] * bool(contains[0])
            for node in np.flatnonzero(gold >= 0).tolist():
                right["phrase"].append(correct[node])
                right["watched_phrase"] += [correct[node]] * bool(contains[node])
                right["watched_word_accuracy"] += [correct[node]] * bool(
                    contains[node] and not tree.arity[node]
                )
        numbers = {f"num_{name}": len(each) for name, each in right.items() if name.startswith("watched")}
        return {**{name: float(np.mean(each)) for name, each in right.items()}, **numbers}


def means(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each comparison over all seeds."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in NAMES), []).append(row)
    return [
        {
            **dict(zip(NAMES, key, strict=True)),
            **{name: float(np.mean([row[name] for row in group])) for name in SCORES},
        }
        for key, group in groups.items()
    ]


def fit(rows: Rows, seed: int = 1) -> FittedGuesser:
    return fit_guesser(list(rows), torch.stack(list(rows.values())), seed=seed)


def surfaces(trees: Iterable[Tree]) -> set[str]:
    return {surface_form(word) for tree in trees for word in tree.words}


def lengthen(tree: Tree, known: Vocabulary, chooser: random.Random, meant: dict[str, str]) -> Tree:
    """The tree with a vowel of a known, non-neutral word repeated, if it has such a word."""
    words = list(tree.words)
    leaves = [node for node, arity in enumerate(tree.arity.tolist()) if not arity]
    places = [
        place
        for place, (word, node) in enumerate(zip(words, leaves, strict=True))
        if tree.labels[node] != NEUTRAL and word.isalpha() and known.index(word)
    ]
    if not places:
        return tree
    place = chooser.choice(places)
    word = words[place]
    letters = [at for at, letter in enumerate(word) if at and letter in "aeiouy"] or [len(word) - 1]
    at = chooser.choice(letters)
    words[place] = word[:at] + word[at] * chooser.randint(3, 6) + word[at + 1 :]
    meant[words[place]] = word
    return Tree(tree.arity, tree.labels, words)


if __name__ == "__main__":
    main()
