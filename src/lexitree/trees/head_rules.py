"""A tree with Penn labels in, the head child and the head word of every phrase out, by Collins' rules.

The table is that of Michael Collins, Head-Driven Statistical Models for Natural Language Parsing (1999),
appendix A. What it leaves open, because he took punctuation out and never met such labels, is settled here:
no punctuation or trace is a head by default where there is something else; ROOT, TOP and S1 follow the rule
of S, for which they stand once a unary chain is collapsed; NML follows that of NP; under a label that has no
rule the first part is the head.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from lexitree.trees.tree import (
    CHAIN_JOINT,
    INTERMEDIATE_MARK,
    IntArray,
    Tree,
    child_slots,
    intermediate_nodes,
    nearest_kept_ancestors,
    refuse_inner_words,
)

Side = Literal["left", "right"]

_PRIORITIES: dict[str, tuple[Side, str]] = {
    "ADJP": ("left", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": ("right", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": ("right", "CC RB IN"),
    "FRAG": ("right", ""),
    "INTJ": ("left", ""),
    "LST": ("right", "LS :"),
    "NAC": ("left", "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": ("right", "IN TO VBG VBN RP FW"),
    "PRN": ("left", ""),
    "PRT": ("right", "RP"),
    "QP": ("left", "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": ("right", "VP NP ADVP ADJP PP"),
    "S": ("left", "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": ("left", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": ("left", "SQ S SINV SBARQ FRAG"),
    "SINV": ("left", "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": ("left", "VBZ VBD VBP VB MD VP SQ"),
    "UCP": ("right", ""),
    "VP": ("left", "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": ("left", "CC WRB JJ ADJP"),
    "WHADVP": ("right", "CC WRB"),
    "WHNP": ("left", "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": ("right", "IN TO FW"),
}
"""For each label the end at which the search starts and the labels looked for, one after the other."""

_NOUN_PHRASE: tuple[tuple[Side, str], ...] = (
    # Collins first takes a last word tagged POS, which the search from the right for a POS finds as well.
    ("right", "NN NNP NNPS NNS NX NML POS JJR"),
    ("left", "NP"),
    ("right", "$ ADJP PRN"),
    ("right", "CD"),
    ("right", "JJ JJS RB QP"),
)
"""In noun phrases the labels of one step are looked for together, and the steps start at different ends."""

_CONJUNCTIONS = frozenset({"CC", "CONJP"})
_QUOTES_AND_STOPS = {",", ".", ":", ";", "!", "?", "-", "``", "''", "`", "'", '"', "HYPH", "NFP"}
_BRACKETS = {"-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-"}
_NEVER_BY_DEFAULT = frozenset(_QUOTES_AND_STOPS | _BRACKETS | {"-NONE-"})


class _Rule(NamedTuple):
    ranks: dict[str, int]
    """How early each label is looked for."""
    from_right: tuple[bool, ...]
    """For each rank, and last for the default, whether the search starts at the right end."""


def _make_rule(*steps: tuple[Side, str], default: Side) -> _Rule:
    ranks = {label: rank for rank, (_, labels) in enumerate(steps) for label in labels.split()}
    return _Rule(ranks, tuple(side == "right" for side in (*(side for side, _ in steps), default)))


def _make_rules() -> dict[str, _Rule]:
    rules: dict[str, _Rule] = {}
    for category, (side, labels) in _PRIORITIES.items():
        steps: list[tuple[Side, str]] = [(side, label) for label in labels.split()]
        rules[category] = _make_rule(*steps, default=side)
    rules |= dict.fromkeys(("NP", "NX", "NML"), _make_rule(*_NOUN_PHRASE, default="right"))
    rules |= dict.fromkeys(("ROOT", "TOP", "S1"), rules["S"])
    return rules


_RULES = _make_rules()
_UNKNOWN = _make_rule(default="left")


def head_children(tree: Tree) -> IntArray:
    """For every node the place of its head child, counted from 0; 0 for leaves.

    Binarization changes no head: a phrase with nodes @X inside is read as the whole X, and those nodes lead
    to its head. In those that do not hold it, the rule of X decides; in a collapsed `S+VP`, that of VP.
    """
    refuse_inner_words(tree, "given heads by rules; each node is the head of what depends on it")
    children = tree.children
    categories = [_child_category(label) for label in tree.labels]
    heads = [
        _find_head([categories[child] for child in parts], _rule_of(label)) if len(parts) > 1 else 0
        for parts, label in zip(children, tree.labels, strict=True)
    ]
    _correct_binarized(tree, categories, heads)
    return np.array(heads, dtype=np.int32)


def head_words(tree: Tree) -> IntArray:
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


def _correct_binarized(tree: Tree, categories: list[str], heads: list[int]) -> None:
    """Choose the head of each binarized phrase among its original parts, and point the way to it."""
    intermediate = intermediate_nodes(tree)
    if not intermediate.any():
        return
    parents, slots = tree.parents.tolist(), child_slots(tree).tolist()
    phrases = nearest_kept_ancestors(tree, intermediate).tolist()
    inside = intermediate.tolist()
    rules: dict[int, _Rule] = {}
    parts: dict[int, list[int]] = {}
    for node, phrase in enumerate(phrases):
        if inside[node]:
            # The mark tells the bottom of a collapsed chain: S over VP, split, is (S (@VP ...) ...).
            rules[phrase] = _rule_of(tree.labels[node])
    for node, phrase in enumerate(phrases):
        if phrase in rules and not inside[node]:
            parts.setdefault(phrase, []).append(node)
    for phrase, nodes in parts.items():
        node = nodes[_find_head([categories[node] for node in nodes], rules[phrase])]
        while node != phrase:
            heads[parents[node]] = slots[node]
            node = parents[node]


def _find_head(categories: list[str], rule: _Rule) -> int:
    """The head among the categories of a phrase's parts."""
    best, best_rank = -1, len(rule.from_right) - 1
    for slot, category in enumerate(categories):
        rank = rule.ranks.get(category, best_rank + 1)
        if rank < best_rank or (rank == best_rank and rule.from_right[rank]):
            best, best_rank = slot, rank
    if best < 0:
        best = _default_head(categories, from_right=rule.from_right[-1])
    return _first_conjunct(categories, best)


def _default_head(categories: list[str], *, from_right: bool) -> int:
    slots = range(len(categories))[:: -1 if from_right else 1]
    return next((slot for slot in slots if categories[slot] not in _NEVER_BY_DEFAULT), slots[0])


def _first_conjunct(categories: list[str], head: int) -> int:
    """In a coordination the head is the part before the conjunction: `A and B` is headed by A."""
    if head < 2 or categories[head - 1] not in _CONJUNCTIONS:
        return head
    before = head - 2
    while before > 0 and categories[before] in _NEVER_BY_DEFAULT:
        before -= 1
    return head if categories[before] in _NEVER_BY_DEFAULT else before


@lru_cache(maxsize=4096)
def _rule_of(label: str) -> _Rule:
    return _RULES.get(base_category(label.split(CHAIN_JOINT)[-1]), _UNKNOWN)


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
