"""Find the head child and the head word of every phrase by rules, such as those of Collins.

COLLINS is the table of Michael Collins, Head-Driven Statistical Models for Natural Language Parsing (1999),
appendix A. He removed punctuation and never met some labels, so the rest is defined here: punctuation and traces are
heads only if there is nothing else; ROOT, TOP and S1 follow the rule of S, which they represent once a unary chain is
collapsed; NML follows that of NP; under a label without a rule, the first child is the head.

STANFORD is the Stanford parser's variant, as far as the trees of the Stanford Sentiment Treebank reveal it: split by
these heads, parses become that treebank's own trees. It also covers trees whose labels are not categories, which are
split as they are elsewhere: under a label without a rule, a child that would head an S is the head, else the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from lexitree.arrays import NodeArray
from lexitree.limits import cache_short_texts
from lexitree.trees.tree import (
    CHAIN_JOINT,
    INTERMEDIATE_MARK,
    Tree,
    child_slots,
    intermediate_nodes,
    nearest_kept_ancestors,
    refuse_inner_words,
)

Side = Literal["left", "right"]
Step = tuple[Side, str]
"""The end at which a search starts, and the labels that it looks for."""

Default = Literal["left", "right", "last"]
"""The head if no search succeeds: the first or last child that is not punctuation, or simply the last."""


class HeadRule(NamedTuple):
    """How to find the head among the children of one kind of phrase."""

    ranks: dict[str, int]
    """The rank of each label: lower ones are searched for first."""
    from_right: tuple[bool, ...]
    """For each rank, whether the search starts at the right end."""
    default: Default


class HeadRules(NamedTuple):
    """The rules for all phrases."""

    by_category: dict[str, HeadRule]
    fallback: HeadRule
    """The rule for phrases of any other category."""


def _rule(*steps: Step, default: Default) -> HeadRule:
    """Make a rule of several searches, each of which looks for any of its labels."""
    ranks = {label: rank for rank, (_, labels) in enumerate(steps) for label in labels.split()}
    return HeadRule(ranks, tuple(side == "right" for side, _ in steps), default)


def _in_turn(side: Side, labels: str) -> tuple[Step, ...]:
    """Make searches from one end, for one label after the other."""
    return tuple((side, label) for label in labels.split())


def _named_like_others(rules: dict[str, HeadRule]) -> dict[str, HeadRule]:
    return {
        **rules,
        **dict.fromkeys(("NX", "NML"), rules["NP"]),
        **dict.fromkeys(("ROOT", "TOP", "S1"), rules["S"]),
    }


_COLLINS: dict[str, Step] = {
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
"""For each label, the end at which all searches start, and the labels to search for in turn."""

_NOUN_PHRASE = _rule(
    # Collins first takes a final word tagged POS, which the search from the right finds as well.
    ("right", "NN NNP NNPS NNS NX NML POS JJR"),
    ("left", "NP"),
    ("right", "$ ADJP PRN"),
    ("right", "CD"),
    ("right", "JJ JJS RB QP"),
    default="right",
)
"""In noun phrases each search looks for several labels, and the searches start at different ends."""

COLLINS = HeadRules(
    _named_like_others(
        {
            **{label: _rule(*_in_turn(*step), default=step[0]) for label, step in _COLLINS.items()},
            "NP": _NOUN_PHRASE,
        }
    ),
    fallback=_rule(default="left"),
)

_STANFORD_SENTENCE = _in_turn("left", "TO VP S FRAG SBAR ADJP UCP NP")

_STANFORD_CHANGES: dict[str, HeadRule] = {
    # The last of several adjectives is the head, as with nouns; adverbs come after them.
    "ADJP": _rule(
        ("left", "$"),
        ("right", "NNS NN JJ QP VBN VBG"),
        ("left", "ADJP"),
        ("right", "JJR JJS DT RB RBR CD IN VBD"),
        *_in_turn("left", "ADVP NP"),
        default="left",
    ),
    "ADVP": _rule(
        *_in_turn("left", "ADVP IN"),
        ("right", "RB RBR RBS JJ JJR JJS"),
        ("right", "RP DT NN CD NP VBN NNP CC FW NNS ADJP"),
        default="right",
    ),
    "PRN": _rule(*_in_turn("left", "VP NP PP SQ S SINV SBAR ADJP ADVP"), default="left"),
    "QP": _rule(*_in_turn("left", "$ IN NNS NN JJ CD PDT DT RB NCD QP JJR JJS"), default="left"),
    "S": _rule(*_STANFORD_SENTENCE, default="left"),
    "VP": _rule(*_in_turn("left", "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS JJ NP NNP"), default="left"),
    "WHADJP": _rule(*_in_turn("left", "WRB WHADVP RB JJ ADJP JJR"), default="left"),
    "X": _rule(*_in_turn("right", "S VP ADJP NP SBAR PP X"), default="right"),
}

STANFORD = HeadRules(
    _named_like_others({**COLLINS.by_category, **_STANFORD_CHANGES}),
    fallback=_rule(*_STANFORD_SENTENCE, default="last"),
)


CONJUNCTIONS = frozenset({"CC", "CONJP"})
"""Categories that join the parts of a coordination."""
_QUOTES_AND_STOPS = {",", ".", ":", ";", "!", "?", "-", "``", "''", "`", "'", '"', "HYPH", "NFP"}
_BRACKETS = {"-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-"}
NEVER_BY_DEFAULT = frozenset(_QUOTES_AND_STOPS | _BRACKETS | {"-NONE-"})
"""Categories that are heads only if there is nothing else: punctuation and traces."""


def head_children(tree: Tree, rules: HeadRules = COLLINS) -> NodeArray:
    """Find the head child of every node.

    Binarization does not change heads: a phrase with nodes @X inside is treated as the whole X, and those nodes lead
    to its head. In those that do not contain it, the rule of X applies; in a collapsed `S+VP`, that of VP.

    Args:
        tree: A tree with Penn labels.
        rules: The rules to apply.

    Returns:
        For every node, the position of its head child, counted from 0; 0 at leaves.

    Raises:
        TreeError: The tree is a dependency tree.
    """
    refuse_inner_words(tree, "given heads by rules: each node is the head of its dependents")
    children = tree.children
    categories = [child_category(label) for label in tree.labels]
    heads = [
        _find_head([categories[child] for child in parts], find_rule(label, rules)) if len(parts) > 1 else 0
        for parts, label in zip(children, tree.labels, strict=True)
    ]
    _correct_binarized(tree, categories, heads, rules)
    return np.array(heads, dtype=np.int32)


def head_slot(label: str, parts: Sequence[str], rules: HeadRules = COLLINS) -> int:
    """Return the position of the head among the children of one phrase, by their labels; none may be an @X."""
    return _find_head([child_category(part) for part in parts], find_rule(label, rules))


def head_words(tree: Tree) -> NodeArray:
    """Find the head word of every node by Collins' rules.

    Returns:
        For every node, the index of its head word in `tree.words`.

    Raises:
        TreeError: The tree is a dependency tree.
    """
    slots = child_slots(tree).tolist()
    heads = head_children(tree).tolist()
    parents, words = tree.parents.tolist(), tree.starts.tolist()
    # Children come after their parents, so going backwards a node has its head word before its parent needs it.
    for node in range(tree.num_nodes - 1, 0, -1):
        parent = parents[node]
        if slots[node] == heads[parent]:
            words[parent] = words[node]
    return np.array(words, dtype=np.int32)


def _correct_binarized(tree: Tree, categories: list[str], heads: list[int], rules: HeadRules) -> None:
    """Choose the head of each binarized phrase among its original children, and mark the path to it."""
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
            # The mark names the bottom of a collapsed chain: S over VP, split, is (S (@VP ...) ...).
            rule_of[phrase] = find_rule(tree.labels[node], rules)
    for node, phrase in enumerate(phrases):
        if phrase in rule_of and not inside[node]:
            parts.setdefault(phrase, []).append(node)
    for phrase, nodes in parts.items():
        node = nodes[_find_head([categories[node] for node in nodes], rule_of[phrase])]
        while node != phrase:
            heads[parents[node]] = slots[node]
            node = parents[node]


def _find_head(categories: list[str], rule: HeadRule) -> int:
    """Return the position of the head among the categories of a phrase's children."""
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
    return next((slot for slot in slots if categories[slot] not in NEVER_BY_DEFAULT), slots[0])


def _first_conjunct(categories: list[str], head: int) -> int:
    """In a coordination, the head is the child before the conjunction: A heads `A and B`."""
    if head < 2 or categories[head - 1] not in CONJUNCTIONS:
        return head
    before = head - 2
    while before > 0 and categories[before] in NEVER_BY_DEFAULT:
        before -= 1
    return head if categories[before] in NEVER_BY_DEFAULT else before


def find_rule(label: str, rules: HeadRules) -> HeadRule:
    """The rule for phrases with a label; that of a chain `S+VP` is the rule of VP."""
    return rules.by_category.get(_phrase_category(label), rules.fallback)


@cache_short_texts
def _phrase_category(label: str) -> str:
    return base_category(label.split(CHAIN_JOINT)[-1])


@cache_short_texts
def child_category(label: str) -> str:
    """The category by which a child is known to its parent; that of a chain `S+VP` is S."""
    return base_category(label.split(CHAIN_JOINT)[0])


def base_category(label: str) -> str:
    """Return the label without function tags, indices, alternatives and the mark of an intermediate node.

    `NP-SBJ-1`, `NP=2`, `NP|ADJP` and `@NP` become NP; labels that start with a dash, such as `-LRB-`, stay.
    """
    label = label.removeprefix(INTERMEDIATE_MARK)
    for sign in "-=|":
        cut = label.find(sign, 1)
        if cut > 0 and not label.startswith("-"):
            label = label[:cut]
    return label
