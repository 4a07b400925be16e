"""A corpus by name or path and the name of a split in, the trees of that split out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lexitree.cli.options import SplitName, Supervision

if TYPE_CHECKING:
    from lexitree.trees.brackets import ReadReport
    from lexitree.trees.tree import Tree


class SplitTrees(NamedTuple):
    """The trees of a split and which of their nodes count."""

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
    """The trees to score a model on; `default` says which nodes count where neither user nor corpus does."""
    from lexitree.corpora import load_corpus
    from lexitree.corpora.named import find_entry, find_path
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
    """The trees of a file, or of one split of a folder; what was skipped goes into the report."""
    from lexitree.corpora.corpus import SPLITS
    from lexitree.corpora.treebank import find_split_file, load_treebank, read_any, strip_trees

    if path.is_dir():
        files = {name: find_split_file(path, name) for name in SPLITS}
        if split != "test" and files["train"] and not files["dev"]:
            # Training has held out a part of the one file: score on the same part.
            loaded = load_treebank(files["train"], supervision=supervision, **options)
            report.num_errors, report.errors = loaded.num_skipped, list(loaded.skipped)
            return loaded.splits.get(split, ())
        found = files[split]
        if found is None:
            return ()
        path = found
    trees = read_any(path, encoding=options["encoding"], on_error=options["on_error"], report=report)
    return list(strip_trees(trees, options["strip"]))
