"""A tree with Penn labels in, the head child and the head word of every phrase out, by rules such as Collins'."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from lexitree.arrays import NodeArray
from lexitree.trees.head_tables import COLLINS, Default, HeadRule, HeadRules
from lexitree.trees.tree import (
    CHAIN_JOINT,
    INTERMEDIATE_MARK,
    Tree,
    child_slots,
    intermediate_nodes,
    nearest_kept_ancestors,
    refuse_inner_words,
)

_CONJUNCTIONS = frozenset({"CC", "CONJP"})
_QUOTES_AND_STOPS = {",", ".", ":", ";", "!", "?", "-", "``", "''", "`", "'", '"', "HYPH", "NFP"}
_BRACKETS = {"-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-"}
_NEVER_BY_DEFAULT = frozenset(_QUOTES_AND_STOPS | _BRACKETS | {"-NONE-"})


def head_children(tree: Tree, rules: HeadRules = COLLINS) -> NodeArray:
    """For every node the place of its head child, counted from 0; 0 for leaves.

    Binarization changes no head: a phrase with nodes @X inside is read as the whole X, and those nodes lead
    to its head. In those that do not hold it, the rule of X decides; in a collapsed `S+VP`, that of VP.
    """
    refuse_inner_words(tree, "given heads by rules; each node is the head of what depends on it")
    children = tree.children
    categories = [_child_category(label) for label in tree.labels]
    heads = [
        _find_head([categories[child] for child in parts], _rule_of(label, rules)) if len(parts) > 1 else 0
        for parts, label in zip(children, tree.labels, strict=True)
    ]
    _correct_binarized(tree, categories, heads, rules)
    return np.array(heads, dtype=np.int32)


def head_slot(label: str, parts: Sequence[str], rules: HeadRules = COLLINS) -> int:
    """The place of the head among the parts of one phrase, counted from 0, by their labels; none of them is an @X."""
    return _find_head([_child_category(part) for part in parts], _rule_of(label, rules))


def head_words(tree: Tree) -> NodeArray:
    """For every node the index of its head word in `tree.words`."""
    slots = child_slots(tree).tolist()
    heads = head_children(tree).tolist()
    parents, words = tree.parents.tolist(), tree.starts.tolist()
    # Children come after their parents, so going backwards a node knows its head word before it passes it on.
    for node in range(tree.num_nodes - 1, 0, -1):
        parent = parents[node]
        if slots[node] == heads[parent]:
            words[parent] = words[node]
    return np.array(words, dtype=np.int32)


def _correct_binarized(tree: Tree, categories: list[str], heads: list[int], rules: HeadRules) -> None:
    """Choose the head of each binarized phrase among its original parts, and point the way to it."""
    intermediate = intermediate_nodes(tree)
    if not intermediate.any():
        return
    parents, slots = tree.parents.tolist(), child_slots(tree).tolist()
    phrases = nearest_kept_ancestors(tree, intermediate).tolist()
    inside = intermediate.tolist()
    rule_of: dict[int, HeadRule] = {}
    parts: dict[int, list[int]] = {}
    for node, phrase in enumerate(phrases):
        if inside[node]:
            # The mark tells the bottom of a collapsed chain: S over VP, split, is (S (@VP ...) ...).
            rule_of[phrase] = _rule_of(tree.labels[node], rules)
    for node, phrase in enumerate(phrases):
        if phrase in rule_of and not inside[node]:
            parts.setdefault(phrase, []).append(node)
    for phrase, nodes in parts.items():
        node = nodes[_find_head([categories[node] for node in nodes], rule_of[phrase])]
        while node != phrase:
            heads[parents[node]] = slots[node]
            node = parents[node]


def _find_head(categories: list[str], rule: HeadRule) -> int:
    """The head among the categories of a phrase's parts."""
    best, best_rank = -1, len(rule.from_right)
    for slot, category in enumerate(categories):
        rank = rule.ranks.get(category, best_rank + 1)
        if rank < best_rank or (rank == best_rank and rule.from_right[rank]):
            best, best_rank = slot, rank
    if best < 0:
        best = _default_head(categories, rule.default)
    return _first_conjunct(categories, best)


def _default_head(categories: list[str], default: Default) -> int:
    slots = range(len(categories))[:: 1 if default == "left" else -1]
    if default == "last":
        return slots[0]
    return next((slot for slot in slots if categories[slot] not in _NEVER_BY_DEFAULT), slots[0])


def _first_conjunct(categories: list[str], head: int) -> int:
    """In a coordination the head is the part before the conjunction: `A and B` is headed by A."""
    if head < 2 or categories[head - 1] not in _CONJUNCTIONS:
        return head
    before = head - 2
    while before > 0 and categories[before] in _NEVER_BY_DEFAULT:
        before -= 1
    return head if categories[before] in _NEVER_BY_DEFAULT else before


def _rule_of(label: str, rules: HeadRules) -> HeadRule:
    return rules.by_category.get(_phrase_category(label), rules.fallback)


@lru_cache(maxsize=4096)
def _phrase_category(label: str) -> str:
    return base_category(label.split(CHAIN_JOINT)[-1])


@lru_cache(maxsize=4096)
def _child_category(label: str) -> str:
    return base_category(label.split(CHAIN_JOINT)[0])


def base_category(label: str) -> str:
    """The label without function tags, indices, alternatives and the mark of an intermediate node.

    `NP-SBJ-1`, `NP=2`, `NP|ADJP` and `@NP` are NP; labels that start with a dash, such as `-LRB-`, stay.
    """
    label = label.removeprefix(INTERMEDIATE_MARK)
    for sign in "-=|":
        cut = label.find(sign, 1)
        if cut > 0 and not label.startswith("-"):
            label = label[:cut]
    return label
