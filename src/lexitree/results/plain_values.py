"""Turn results into plain numbers and text for JSON, brackets and tables."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from lexitree.trees.brackets import tree_to_brackets
from lexitree.trees.tree import Tree

DIGITS = 6
"""Probabilities are rounded to so many decimals: a model's last bits mean nothing, and files stay small."""

_WHITE_SPACE = re.compile(r"\s+")


def rounded(values: npt.ArrayLike | None) -> Any:
    """Numbers as JSON has them: a float for a number, nested lists for an array, None for None."""
    if values is None:
        return None
    # In single precision, rounded numbers would still be written with all their digits.
    return np.asarray(values).astype(np.float64).round(DIGITS).tolist()


def written_tree(tree: Tree) -> str:
    """The tree in brackets; white space inside a word, which brackets cannot hold, becomes `_`."""
    if any(map(_WHITE_SPACE.search, tree.words)):
        tree = Tree(tree.arity, tree.labels, [_WHITE_SPACE.sub("_", word) for word in tree.words])
    return tree_to_brackets(tree)


def to_json(record: object, *, indent: int | None = None) -> str:
    """JSON in which text stays readable; line separators of JavaScript are escaped, so one line stays one line."""
    written = json.dumps(record, ensure_ascii=False, indent=indent, allow_nan=False)
    if not _has_whole_characters(written):
        return json.dumps(record, indent=indent, allow_nan=False)
    return written.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")


def _has_whole_characters(text: str) -> bool:
    """Half a surrogate pair, which JSON can hold and files cannot, has to stay escaped."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
