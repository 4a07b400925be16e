"""Trees with learned head words in, one picture of them out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lexitree.files import atomic_write
from lexitree.reproduction.experiments import Experiment
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.picture import PictureTree, draw_svg
from lexitree.trees.tree import NO_LABEL, Tree

PICTURE = "reranker-heads.svg"


def write_drawings(experiment: Experiment, figures: Mapping[str, Any], folder: Path) -> list[str]:
    """Draw the experiment's sentences with the heads of the system that is shown; the names of the pictures."""
    if not figures["drawn"]:
        return []
    trees = [_without_tags(tree_from_brackets(text)) for text in experiment.details["drawn"]]
    pictures = [
        PictureTree(tree, heads) for tree, heads in zip(trees, figures["drawn"]["heads"], strict=True)
    ]
    labels = sorted({label for tree in trees for label in tree.labels if label != NO_LABEL})
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / PICTURE) as stream:
        stream.write(draw_svg(pictures, labels))
    return [PICTURE]


def _without_tags(tree: Tree) -> Tree:
    """Colours for phrases only: there are too many tags."""
    pairs = zip(tree.arity.tolist(), tree.labels, strict=True)
    return Tree(tree.arity, [label if num_parts else NO_LABEL for num_parts, label in pairs], tree.words)
