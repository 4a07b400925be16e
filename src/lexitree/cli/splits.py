"""Reads the trees that a model is scored on: a split of a named corpus, of a folder, or a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lexitree.cli.options import SplitName, Supervision

if TYPE_CHECKING:
    from lexitree.trees.brackets import ReadReport
    from lexitree.trees.tree import Tree


class SplitTrees(NamedTuple):
    """The trees of a split, and whether all phrases or whole sentences are scored."""

    trees: Sequence[Tree]
    supervision: Supervision


def read_split(
    corpus: str,
    split: SplitName,
    supervision: Supervision | None,
    *,
    default: Supervision,
    data: Path | None,
    options: dict[str, Any],
    report: ReadReport,
) -> SplitTrees:
    """Read the trees to score a model on.

    Args:
        corpus: The name of a corpus, or the path of a folder or file of labelled trees.
        split: The split of a corpus or folder.
        supervision: Whether to score all phrases or whole sentences; None leaves it to the corpus.
        default: What is scored if neither the user nor the corpus says.
        data: The folder with real corpora.
        options: How files are read: `encoding`, `on_error` and `strip`.
        report: Where skipped trees are noted.

    Raises:
        CorpusNotFoundError: There are no such trees.
    """
    from lexitree.corpora.named import find_entry, find_path, load_corpus
    from lexitree.errors import CorpusNotFoundError

    if find_entry(corpus):
        loaded = load_corpus(corpus, data=data, **options)
        trees = loaded.scored_trees(split)
        supervision = supervision or loaded.supervision
    else:
        supervision = supervision or default
        trees = _read_path(find_path(corpus), split, supervision, options, report)
    if not trees:
        raise CorpusNotFoundError(f"{corpus} has no {split} trees to score the model on")
    return SplitTrees(trees, supervision)


def _read_path(
    path: Path, split: SplitName, supervision: Supervision, options: dict[str, Any], report: ReadReport
) -> Sequence[Tree]:
    """Read a file, or one split of a folder; skipped trees are noted in the report."""
    from lexitree.corpora.corpus import SPLITS
    from lexitree.corpora.treebank import find_split_file, load_treebank, read_any, strip_trees

    if path.is_dir():
        files = {name: find_split_file(path, name) for name in SPLITS}
        if split != "test" and files["train"] and not files["dev"]:
            # Training holds out a part of a single file: score on the same part.
            loaded = load_treebank(files["train"], supervision=supervision, **options)
            report.num_errors, report.errors = loaded.num_skipped, list(loaded.skipped)
            return loaded.splits.get(split, ())
        found = files[split]
        if found is None:
            return ()
        path = found
    trees = read_any(path, encoding=options["encoding"], on_error=options["on_error"], report=report)
    return list(strip_trees(trees, options["strip"]))
