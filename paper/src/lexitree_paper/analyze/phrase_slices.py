"""Phrase accuracy where composition is hard: the slices of SentiBERT (Yin et al. 2020).

Their phrases have two words or more. *Local difficulty* is the number of a phrase's two parts whose label is another
than its own; phrases are also counted by the negation words of their sentence. *X but Y* counts as right if the
labels of X, of Y and of the whole are right, where those of X and Y differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lexitree.arrays import NO_INDEX, BoolArray, IndexArray
from lexitree.batch.tree_examples import make_examples
from lexitree.errors import ConfigError
from lexitree.models.inference import run_examples
from lexitree.models.label_model import LabelModel
from lexitree.text.word_kinds import WordKind, word_kind
from lexitree.trees.tree import Tree
from lexitree_paper.analyze.mistakes import NEGATIONS, Slice

MOST_NEGATIONS = 2
"""Sentences of more negation words count with those of so many."""
CONTRAST = "but"


@dataclass(frozen=True)
class PhraseAnswers:
    """Which nodes of some trees one system labels right, with one or more seeds."""

    name: str
    gold: tuple[IndexArray, ...]
    """The label of each node, by tree; -1 for none."""
    correct: tuple[BoolArray, ...]
    """[seeds, nodes] of each tree."""


def collect_phrases(name: str, models: Iterable[LabelModel], trees: Sequence[Tree]) -> PhraseAnswers:
    """Collect what the models of one system answer for every phrase.

    Args:
        name: The name of the system.
        models: One model per seed, taken one at a time.
        trees: Trees with labels on phrases.

    Raises:
        ConfigError: There are no models, or no labels.
    """
    seeds: list[list[BoolArray]] = []
    gold: list[IndexArray] = []
    for model in models:
        examples = make_examples(
            trees, model.lexicon, labels=model.config.labels, direction=model.config.binarization
        )
        gold = [example.source_label_index for example in examples]
        outputs = run_examples(model, examples)
        seeds.append([each.probabilities.argmax(1) == own for each, own in zip(outputs, gold, strict=True)])
    if not seeds or not any((own != NO_INDEX).any() for own in gold):
        raise ConfigError(f"{name} has no models" if not seeds else "no phrase has a label")
    return PhraseAnswers(name, tuple(gold), tuple(map(np.stack, zip(*seeds, strict=True))))


def slice_phrases(systems: Sequence[PhraseAnswers], trees: Sequence[Tree]) -> list[Slice]:
    """The accuracy of each system on all phrases of two or more words, and on those that are hard.

    Args:
        systems: The systems, all on these trees.
        trees: The trees.
    """
    gold = systems[0].gold
    if any(not all(map(np.array_equal, gold, system.gold)) for system in systems):
        raise ConfigError("the systems have different labels")
    chosen: dict[str, list[BoolArray]] = {}
    for tree, labels in zip(trees, gold, strict=True):
        for title, nodes in _masks(tree, labels).items():
            chosen.setdefault(title, []).append(nodes)
    slices = [_take(title, systems, masks) for title, masks in chosen.items()]
    return [*slices, _contrast_slice(systems, trees)]


def _masks(tree: Tree, gold: IndexArray) -> dict[str, BoolArray]:
    """Which phrases of a tree are in each slice."""
    is_phrase = (tree.arity > 0) & (gold != NO_INDEX)
    switches = count_switches(tree, gold)
    num_negations = min(sum(word.lower() in NEGATIONS for word in tree.words), MOST_NEGATIONS)
    more = " or more"
    return {
        "of two or more words": is_phrase,
        **{f"local difficulty {number}": is_phrase & (switches == number) for number in (0, 1, 2)},
        **{
            f"with {number}{more * (number == MOST_NEGATIONS)} negations": is_phrase
            & (num_negations == number)
            for number in range(MOST_NEGATIONS + 1)
        },
    }


def count_switches(tree: Tree, gold: IndexArray) -> IndexArray:
    """The number of a phrase's two parts with another label than its own; -1 unless there are two with labels."""
    found = np.full(tree.num_nodes, NO_INDEX)
    for node, parts in enumerate(tree.children):
        labels = gold[list(parts)]
        if len(parts) == 2 and (labels != NO_INDEX).all():
            found[node] = np.count_nonzero(labels != gold[node])
    return found


def find_contrasts(tree: Tree, gold: IndexArray) -> Iterator[tuple[int, int, int]]:
    """The phrases `X but Y` of a tree, with X and Y, that have labels, and different ones."""
    starts, ends = tree.starts, tree.ends
    is_mark = np.array([word_kind(word) == WordKind.PUNCTUATION for word in tree.words])
    for place in (number for number, word in enumerate(tree.words) if word.lower() == CONTRAST):
        # X is more than the comma before the word.
        before = np.flatnonzero(~is_mark[:place])
        around = np.flatnonzero((starts <= before[-1]) & (ends > place + 1)) if len(before) else before
        if not len(around):
            continue
        # In pre-order the last phrase that goes beyond the word on both sides is the smallest, and the first one
        # inside that begins or ends beside the word is the largest.
        whole = int(around[-1])
        inside = np.arange(tree.num_nodes) > whole
        lefts = np.flatnonzero(inside & (starts == starts[whole]) & (ends <= place))
        rights = np.flatnonzero(inside & (starts == place + 1) & (ends <= ends[whole]))
        if len(lefts) and len(rights):
            left, right = int(lefts[0]), int(rights[0])
            labels: list[int] = gold[[whole, left, right]].tolist()
            if NO_INDEX not in labels and labels[1] != labels[2]:
                yield whole, left, right


def _take(title: str, systems: Sequence[PhraseAnswers], masks: Sequence[BoolArray]) -> Slice:
    return _slice(
        title,
        {
            system.name: np.concatenate(
                [right[:, mask] for right, mask in zip(system.correct, masks, strict=True)], axis=1
            )
            for system in systems
        },
    )


def _contrast_slice(systems: Sequence[PhraseAnswers], trees: Sequence[Tree]) -> Slice:
    found = [
        (number, list(nodes))
        for number, (tree, gold) in enumerate(zip(trees, systems[0].gold, strict=True))
        for nodes in find_contrasts(tree, gold)
    ]
    return _slice(
        "X but Y, all three right",
        {
            system.name: np.stack(
                [system.correct[number][:, nodes].all(1) for number, nodes in found], axis=1
            )
            if found
            else np.zeros((len(system.correct[0]), 0), dtype=np.bool_)
            for system in systems
        },
    )


def _slice(title: str, correct: dict[str, npt.NDArray[np.bool_]]) -> Slice:
    """The accuracies of systems, from [seeds, phrases] for each."""
    count = next(iter(correct.values())).shape[1]
    shares = {name: right.mean(1) if count else None for name, right in correct.items()}
    return Slice(
        title,
        count,
        {name: None if each is None else float(each.mean()) for name, each in shares.items()},
        {
            name: None if each is None else float(each.std(ddof=1)) if len(each) > 1 else 0.0
            for name, each in shares.items()
        },
    )
