"""Find the head children of many phrases at once: the rules of `head_rules` as a table of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lexitree.arrays import BoolArray, IndexArray
from lexitree.trees.head_rules import (
    CONJUNCTIONS,
    NEVER_BY_DEFAULT,
    HeadRule,
    HeadRules,
    child_category,
    find_rule,
)

_LEFT, _RIGHT, _LAST = range(3)
_DEFAULTS = {"left": _LEFT, "right": _RIGHT, "last": _LAST}


@dataclass(frozen=True, eq=False)
class HeadTable:
    """The rank of every category by every rule; see `head_rules.HeadRule`."""

    rule_of: IndexArray  # [phrase labels]
    """The number of the rule of each kind of phrase."""
    category_of: IndexArray  # [names]
    """The number of the category of each name."""
    ranks: IndexArray  # [rules, categories]
    """The rank of a child's category by a rule; a rule's number of ranks for categories that it does not name."""
    from_right: BoolArray  # [rules, ranks + 1]
    """For each rank, whether the last child of this rank is the head, and not the first."""
    num_ranks: IndexArray  # [rules]
    default: IndexArray  # [rules]
    """Which child is the head if the rule names none."""
    is_never: BoolArray  # [categories]
    """Whether a category is a head only if there is nothing else."""
    is_conjunction: BoolArray  # [categories]

    @classmethod
    def of(cls, phrases: Sequence[str], names: Sequence[str], rules: HeadRules) -> HeadTable:
        """A table for phrases with some labels, whose children have some others.

        Args:
            phrases: The label of each kind of phrase.
            names: The labels that children may have.
            rules: The rules.
        """
        rule_of_label = [find_rule(label, rules) for label in phrases]
        category_of_name = [child_category(name) for name in names]
        # There are few of both, however many labels: NP-1, NP-2 and so on are all NP.
        found = list({id(rule): rule for rule in rule_of_label}.values())
        numbers = {id(rule): number for number, rule in enumerate(found)}
        categories = list(dict.fromkeys(category_of_name))
        places = {category: place for place, category in enumerate(categories)}
        widest = max((len(rule.from_right) for rule in found), default=0)
        return cls(
            np.array([numbers[id(rule)] for rule in rule_of_label], dtype=np.int64),
            np.array([places[category] for category in category_of_name], dtype=np.int64),
            np.array([_ranks(rule, categories) for rule in found], dtype=np.int64).reshape(
                -1, len(categories)
            ),
            np.array(
                [[*rule.from_right, *[False] * (widest + 1 - len(rule.from_right))] for rule in found],
                dtype=bool,
            ).reshape(-1, widest + 1),
            np.array([len(rule.from_right) for rule in found], dtype=np.int64),
            np.array([_DEFAULTS[rule.default] for rule in found], dtype=np.int64),
            np.array([category in NEVER_BY_DEFAULT for category in categories]),
            np.array([category in CONJUNCTIONS for category in categories]),
        )

    def find(
        self, phrases: IndexArray, names: IndexArray, first: IndexArray, owner: IndexArray, slots: IndexArray
    ) -> IndexArray:
        """The position of the head among the children of each phrase, counted from 0.

        Args:
            phrases: The kind of each phrase.
            names: The label of each child, phrase by phrase.
            first: Where the children of each phrase begin.
            owner: The number of the phrase of each child.
            slots: The position of each child in its phrase.
        """
        if not len(phrases):
            return np.zeros(0, dtype=np.int64)
        rules, categories = self.rule_of[phrases], self.category_of[names]
        ranks = self.ranks[rules[owner], categories]
        best = np.minimum.reduceat(ranks, first)
        is_found = best < self.num_ranks[rules]
        default = self.default[rules]
        never = self.is_never[categories]
        # By default, whatever is not punctuation; if there is nothing else, or the rule says so, any child.
        any_child: BoolArray = (default == _LAST) | np.logical_and.reduceat(never, first)
        wanted: BoolArray = np.where(is_found[owner], ranks == best[owner], ~never | any_child[owner])
        from_right = np.where(is_found, self.from_right[rules, best], default != _LEFT)
        heads = _choose(wanted, from_right[owner], slots, first)
        return self._first_conjuncts(heads, categories, never, first, slots)

    def _first_conjuncts(
        self,
        heads: IndexArray,
        categories: IndexArray,
        never: BoolArray,
        first: IndexArray,
        slots: IndexArray,
    ) -> IndexArray:
        """In coordinations, the child before the conjunction instead: A heads `A and B`."""
        at_head = first + heads
        is_coordinated = (heads >= 2) & self.is_conjunction[categories[at_head - 1]]
        if not is_coordinated.any():
            return heads
        # The last child up to each place that is not punctuation; the first one if there is none.
        places = np.arange(len(categories))
        last_word = np.maximum.accumulate(np.where(never & (slots > 0), 0, places))
        before = last_word[at_head - 2]
        return np.where(is_coordinated & ~never[before], before - first, heads)


def _ranks(rule: HeadRule, categories: Sequence[str]) -> list[int]:
    return [rule.ranks.get(category, len(rule.from_right)) for category in categories]


def _choose(wanted: BoolArray, from_right: BoolArray, slots: IndexArray, first: IndexArray) -> IndexArray:
    """The first or the last of the wanted children of each phrase; every phrase has one."""
    widest = int(slots.max()) + 1
    # The largest number wins, so counted from the left, the first child has it.
    scores = np.where(wanted, np.where(from_right, slots, widest - slots), -1)
    best = np.maximum.reduceat(scores, first)
    return np.where(from_right[first], best, widest - best)
