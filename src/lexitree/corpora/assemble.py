"""Assemble a corpus from the trees of its splits, inferring its labels and supervision."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TypeVar

from lexitree.corpora.corpus import (
    SPLITS,
    Corpus,
    Supervision,
    sentence_of,
    shorten,
    task_labels,
)
from lexitree.errors import ConfigError, FileError, LabelError
from lexitree.labels import LabelSet, order_labels
from lexitree.trees.brackets import ReadReport
from lexitree.trees.tree import NO_LABEL, Tree

Item = TypeVar("Item")

_HELD_OUT_SEED = 2017
"""Fixed, so that everyone who holds out a development split of the same file gets the same one."""

_HELD_OUT_SHARE = 10
"""One in this many trees is held out if a corpus has no development split."""


def assemble(
    name: str,
    splits: Mapping[str, Sequence[Tree]],
    *,
    supervision: Supervision | None = None,
    hold_out_dev: bool = True,
    about: str = "",
) -> Corpus:
    """Make a corpus from the trees of its splits; its label set is that of the training split.

    If only roots are labelled for the task, the labels of other nodes are kept: they are the parse, which
    head-outward binarization needs. `Corpus.inference` says what was inferred.

    Args:
        name: The name of the corpus.
        splits: The trees of each split.
        supervision: Which nodes are labelled for the task; inferred by default (see `infer_supervision`).
        hold_out_dev: Whether to hold out a tenth of the training split if there is no development split.
        about: The origin of the corpus.

    Raises:
        LabelError: There are no labels, or a split has labels that the training split lacks.
    """
    source = splits.get("train") or list(chain.from_iterable(splits.values()))
    chosen, reason = (supervision, "as asked") if supervision else infer_supervision(source)
    labels = order_labels(chain.from_iterable(task_labels(tree, chosen) for tree in source))
    if not labels:
        raise LabelError(
            f"{name}: no sentence has a label, so there is nothing to learn",
            remedy="A label is the first token of a bracket, as in (positive (_ good) (_ film)).",
        )
    _refuse_unseen_labels(name, splits, labels, chosen)
    where = "all nodes" if chosen == "all" else "the roots only"
    notes = [f"labels on {where} ({reason}), {len(labels)} labels"]
    if hold_out_dev and splits.get("train") and not splits.get("dev"):
        splits, note = _hold_out_dev(splits)
        notes.append(note)
    ordered = {split: tuple(splits[split]) for split in SPLITS if split in splits}
    return Corpus(
        name=name,
        splits=ordered,
        label_set=LabelSet(labels),
        supervision=chosen,
        about=about,
        inference="; ".join(notes),
    )


def assemble_files(
    name: str,
    paths: Mapping[str, str | Path],
    read: Callable[..., Iterable[Tree]],
    *,
    supervision: Supervision | None = None,
    hold_out_dev: bool = True,
) -> Corpus:
    """Make a corpus from one file per split.

    Args:
        name: The name of the corpus; by default that of its first file.
        paths: The file of each split.
        read: Called with a path and `report=`; yields the trees and reports what it skipped.
        supervision: See `assemble`.
        hold_out_dev: See `assemble`.

    Raises:
        ConfigError: There are no files.
        FileError: A file contains no trees.
        LabelError: See `assemble`.
    """
    if not paths:
        raise ConfigError("a corpus needs at least one file")
    splits: dict[str, list[Tree]] = {}
    total = ReadReport()
    for split, path in paths.items():
        report = ReadReport()
        splits[split] = list(read(path, report=report))
        total.num_errors += report.num_errors
        total.errors.extend(report.errors)
        if not splits[split]:
            # Better now than as a division by zero an hour later.
            problem = f"all {report.num_errors:,} are malformed" if report.errors else "it is empty"
            raise FileError(path, f"contains no sentences: {problem}")
    title = name or Path(next(iter(paths.values()))).name
    corpus = assemble(title, splits, supervision=supervision, hold_out_dev=hold_out_dev)
    return replace(corpus, num_skipped=total.num_errors, skipped=tuple(total.errors))


def infer_supervision(trees: Iterable[Tree]) -> tuple[Supervision, str]:
    """Infer whether all nodes are labelled for the task or only the roots.

    Only the roots are if the other nodes have no labels, or if root labels never occur below: question types over a
    parse, for example. If all roots share one label (`ROOT`), it is not a task and says nothing.

    Returns:
        The supervision, and the reason for it.
    """
    at_roots: set[str] = set()
    below: set[str] = set()
    for tree in trees:
        at_roots.add(tree.label)
        below.update(tree.labels[1:])
    at_roots.discard(NO_LABEL)
    below.discard(NO_LABEL)
    if not below:
        return "root", "no other node has one"
    if len(at_roots) > 1 and at_roots.isdisjoint(below):
        return "root", f"{shorten(sorted(at_roots), 3)} never occur below them"
    return "all", "phrases carry them as sentences do" if at_roots & below else "phrases carry them"


def with_root_label(tree: Tree, label: str) -> Tree:
    """Return the tree with another label at its root."""
    return tree.with_labels([label, *tree.labels[1:]])


def hold_out(items: Sequence[Item], num_held: int, seed: int) -> tuple[list[Item], list[Item]]:
    """Split items into those kept and those held out, both in their original order; reproducible by the seed."""
    # Python's generator rather than NumPy's: its `sample` has been stable since Python 3.2.
    held = frozenset(random.Random(seed).sample(range(len(items)), num_held))
    kept = [item for number, item in enumerate(items) if number not in held]
    return kept, [items[number] for number in sorted(held)]


def _hold_out_dev(splits: Mapping[str, Sequence[Tree]]) -> tuple[dict[str, Sequence[Tree]], str]:
    trees = splits["train"]
    if len(trees) < 2:
        return dict(splits), "no development split, and too few sentences to hold one out"
    num_held = max(1, round(len(trees) / _HELD_OUT_SHARE))
    train, dev = hold_out(trees, num_held, _HELD_OUT_SEED)
    share = f"{num_held:,} of {len(trees):,} training sentences"
    note = f"no development split: {share} held out (seed {_HELD_OUT_SEED})"
    return {**splits, "train": train, "dev": dev}, note


def _refuse_unseen_labels(
    name: str, splits: Mapping[str, Sequence[Tree]], labels: tuple[str, ...], supervision: Supervision
) -> None:
    known = {NO_LABEL, *labels}
    for split, trees in splits.items():
        strange = [tree for tree in trees if not known.issuperset(task_labels(tree, supervision))]
        if strange:
            found = chain.from_iterable(task_labels(tree, supervision) for tree in strange)
            unseen = order_labels(set(found) - known)
            raise LabelError(
                f"{name}: the {split} split has {len(unseen)} labels that the training split lacks: "
                f"{shorten(unseen)}; first in the sentence: {sentence_of(strange[0])}",
                remedy="Correct them, or add training sentences with these labels.",
            )
