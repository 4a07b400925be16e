"""Small treebanks and small models: what the tests of training, saving and prediction work on."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import torch

from lexitree.arrays import NO_INDEX
from lexitree.corpora.corpus import Corpus
from lexitree.kernels.library import why_absent
from lexitree.labels import LabelSet
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.models.registries import ENCODERS
from lexitree.models.word_table import WordTable
from lexitree.tasks.classify.recipe import Recipe, TrainingConfig
from lexitree.trees.brackets import tree_from_brackets, tree_to_brackets
from lexitree.trees.dependencies import DependencyTree, label_by_spans
from lexitree.trees.jsonl import write_json_lines
from lexitree.trees.tree import NO_LABEL, Tree

CONSTITUENCY_MODELS = tuple(
    name
    for name, encoder in ENCODERS.items()
    if encoder.tree_kind == "constituency" and encoder.reads == "word"
)
"""The models that read the trees made here; the others have tests of their own."""

FASTEST_ON_A_CPU = "native" if why_absent() is None else "levelwise"
"""What runs the tiny models, if the kernels are compiled."""

LABELS = ("0", "1")
FINER_LABELS = {"--": "0", "-": "0", "o": "", "+": "1", "++": "1"}
"""What `tiny_polarity` is trained with: the labels may be strong, and nodes without one are neutral."""
SIZES: dict[str, Any] = {"hidden": 8, "word_size": 8, "output": 8}
SPLITS = {"train": 40, "dev": 10, "test": 10}

_WORDS = {"1": ("good", "great", "fine"), "0": ("bad", "dull", "poor")}
_NOUNS = ("film", "plot", "cast", "story")
_FLIPPED = {"0": "1", "1": "0"}


def tiny_trees(count: int, seed: int = 0) -> list[Tree]:
    """Sentences such as `the plot is not bad`: binary, some nodes without a label, easy to learn."""
    rng = random.Random(seed)
    return [tree_from_brackets(_sentence(rng)) for _ in range(count)]


def _sentence(rng: random.Random) -> str:
    label = rng.choice(LABELS)
    adjective, subject = rng.choice(_WORDS[label]), f"(_ (_ the) (_ {rng.choice(_NOUNS)}))"
    if rng.random() < 0.4:
        flipped = _FLIPPED[label]
        return f"({flipped} {subject} ({flipped} (_ is) ({flipped} (_ not) ({label} {adjective}))))"
    return f"({label} {subject} ({label} (_ is) ({label} {adjective})))"


def tiny_polarity() -> Corpus:
    """The splits of `write_treebank`, the one for training with finer labels and with some neutral sentences."""
    train, dev, test = (tiny_trees(count, seed) for seed, count in enumerate(SPLITS.values()))
    neutral = [tree_from_brackets(f"(o (o (o the) (o {noun})) (o (o is) (o good)))") for noun in _NOUNS]
    splits = {"train": [*map(_with_finer_labels, train), *neutral], "dev": dev, "test": test}
    return Corpus("tiny-polarity", splits, LabelSet(LABELS, {"o": "neutral"}, FINER_LABELS), "all")


def _with_finer_labels(tree: Tree) -> Tree:
    """Sentences with a negation are strong."""
    names = {"0": "--", "1": "++"} if "not" in tree.words else {"0": "-", "1": "+"}
    return tree.with_labels({**names, NO_LABEL: "o"}[label] for label in tree.labels)


def tiny_dependencies(count: int, seed: int = 0) -> list[DependencyTree]:
    """The same sentences as dependency trees: `is` is the root, on which the noun and the adjective depend."""
    return [_depending_on_the_verb(tree) for tree in tiny_trees(count, seed)]


def _depending_on_the_verb(tree: Tree) -> DependencyTree:
    parents = [1, 2, NO_INDEX, 2] if tree.num_words == 4 else [1, 2, NO_INDEX, 4, 2]
    return label_by_spans(DependencyTree.from_parents(tree.words, parents), tree)


def write_dependency_treebank(folder: Path) -> Path:
    """Files train.jsonl, dev.jsonl and test.jsonl in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (split, count) in enumerate(SPLITS.items()):
        with (folder / f"{split}.jsonl").open("w", encoding="utf-8") as stream:
            write_json_lines(tiny_dependencies(count, seed), stream.write)
    return folder


def write_treebank(folder: Path, sizes: dict[str, int] | None = None) -> Path:
    """Files train.txt, dev.txt and test.txt in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (split, count) in enumerate((sizes or SPLITS).items()):
        lines = (tree_to_brackets(tree) + "\n" for tree in tiny_trees(count, seed))
        (folder / f"{split}.txt").write_text("".join(lines), encoding="utf-8")
    return folder


def tiny_recipe(treebank: Path, *, model: dict[str, Any] | None = None, **training: Any) -> Recipe:
    """A recipe that trains in a fraction of a second."""
    settings = {"epochs": 2, "learning_rate": 0.01, **training}
    return Recipe(
        corpus=str(treebank),
        model={**SIZES, "dropout": 0.2, **(model or {})},
        training=TrainingConfig(**settings),
    )


def tiny_model(name: str = "bicontree", *, seed: int = 1, **settings: Any) -> TreeClassifier:
    """A model with random weights that knows the words of `tiny_trees`."""
    torch.manual_seed(seed)
    config = ModelConfig(**{"model": name, "labels": LABELS, **SIZES, **settings})
    vocabulary = Vocabulary.from_trees(tiny_trees(60))
    return TreeClassifier(config, WordTable.random(vocabulary, config.word_size)).eval()


def chain(num_words: int, side: str = "left") -> Tree:
    """A tree as deep as it has words, branching to one side only."""
    num_inner = num_words - 1
    arity = [2] * num_inner + [0] * num_words if side == "left" else [2, 0] * num_inner + [0]
    labels = [LABELS[node % 2] for node in range(len(arity))]
    return Tree(arity, labels, ["good" if place % 2 else "bad" for place in range(num_words)])
