"""Trees whose treebank splits words at hyphens in, the same trees with whole words out.

Newer treebanks write `purpose - built` as three words, the Penn Treebank and our tokenizer `purpose-built` as one. A
parser that is trained on the former alone takes every such word for an unknown noun.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lexitree.trees.tree import Tree

HYPHEN = "-"
HYPHEN_TAGS = ("HYPH", ":")
COLLAPSED_PHRASES = ("ADJP", "NML", "UCP")
"""A phrase that is one hyphenated word before its noun is no phrase any more."""
NOUN_TAGS = ("NN", "NNS", "NNP", "NNPS")


def join_hyphens(tree: Tree) -> Tree:
    """The tree with every `a - b` of three or more words that are children of one phrase joined to `a-b`.

    A dash between phrases stays, since its neighbours are not single words; so does one that begins or ends a phrase.
    """
    joined = list(_hyphenated(tree))
    if not joined:
        return tree
    labels = list(tree.labels)
    words = list(tree.words)
    kept = np.ones(tree.num_nodes, dtype=np.bool_)
    arity = tree.arity.copy()
    for run in joined:
        first, parent = run[0], int(tree.parents[run[0]])
        words[int(tree.starts[first])] = "".join(tree.words[int(tree.starts[leaf])] for leaf in run)
        labels[first] = _joined_tag(tree, run)
        kept[run[1:]] = False
        arity[parent] -= len(run) - 1
        if arity[parent] == 1 and labels[parent] in COLLAPSED_PHRASES and _noun_follows(tree, parent):
            kept[parent] = False
    return Tree(
        arity[kept],
        [label for label, stays in zip(labels, kept.tolist(), strict=True) if stays],
        [words[place] for place in np.flatnonzero(kept[tree.leaves]).tolist()],
    )


def _hyphenated(tree: Tree) -> Iterator[list[int]]:
    """The leaves of each hyphenated word, from left to right."""
    for children in tree.children:
        run: list[int] = []
        for child in children:
            if not _is_leaf(tree, child):
                yield from _complete(run)
                run = []
            elif _is_hyphen(tree, child):
                run = [*run, child] if len(run) % 2 else []
            elif len(run) % 2 or not _is_word(tree, child):
                yield from _complete(run)
                run = [child] if _is_word(tree, child) else []
            else:
                run = [*run, child]
        yield from _complete(run)


def _complete(run: list[int]) -> Iterator[list[int]]:
    if len(run) >= 3:
        yield run if len(run) % 2 else run[:-1]


def _is_leaf(tree: Tree, node: int) -> bool:
    return not tree.arity[node]


def _is_hyphen(tree: Tree, leaf: int) -> bool:
    return tree.words[int(tree.starts[leaf])] == HYPHEN and tree.labels[leaf] in HYPHEN_TAGS


def _is_word(tree: Tree, leaf: int) -> bool:
    return tree.words[int(tree.starts[leaf])].isalnum()


def _joined_tag(tree: Tree, run: list[int]) -> str:
    """That of the last part, but an adjective where the word stands before a noun, as `purpose-built` does."""
    last = tree.labels[run[-1]]
    parent = int(tree.parents[run[0]])
    if tree.labels[parent] == "ADJP" or last in ("VBN", "VBD"):
        return "JJ"
    if _noun_follows(tree, run[-1]) and not last.startswith("NNP"):
        return "JJ"
    return "NN" if last == "VBG" else last


def _noun_follows(tree: Tree, node: int) -> bool:
    siblings = tree.children[int(tree.parents[node])] if node else ()
    return any(tree.labels[sibling] in NOUN_TAGS for sibling in siblings if sibling > node)
