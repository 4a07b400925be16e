"""Counts the brackets of one sentence as evalb does.

The conventions are those of evalb (Sekine and Collins 1997) with COLLINS.prm, and two additions: ROOT, S1 and
phrases without a label do not count, like TOP; and labels written by this package are read back, so `S+VP` counts as
two brackets and `@NP` as none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import numpy as np

from lexitree.arrays import BoolArray
from lexitree.errors import ConfigError
from lexitree.trees.brackets import TRACE_LABEL, surface_form
from lexitree.trees.tree import CHAIN_JOINT, NO_LABEL, Tree, intermediate_nodes, refuse_inner_words

TagSource = Literal["gold", "own"]
"""Which tags mark punctuation: those of the gold tree for both trees, or each tree's own."""

Status = Literal["valid", "skipped", "error"]

_PUNCTUATION_TAGS = frozenset({",", ":", "``", "''", "."})

_FUNCTION_TAGS = re.compile("[-=].*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class BracketRules:
    """What counts as a bracket; the defaults are those of evalb's COLLINS.prm."""

    deleted_tags: frozenset[str] = _PUNCTUATION_TAGS
    """Words with these tags are removed before counting."""
    deleted_labels: frozenset[str] = _PUNCTUATION_TAGS | {NO_LABEL, "ROOT", "S1", "TOP"}
    """Phrases with these labels do not count, but those below them do. evalb has one list for both."""
    equal_labels: tuple[tuple[str, str], ...] = (("PRT", "ADVP"),)
    """The first label of each pair counts as the second, also in lists of labels."""

    def bracket_labels(self, chain: Iterable[str]) -> tuple[str, ...]:
        """Return the labels of a unary chain that count, as bare categories."""
        bare = (_FUNCTION_TAGS.sub("", label) for label in chain)
        return tuple(self.same_label(label) for label in bare if label not in self.deleted_labels)

    def same_label(self, label: str) -> str:
        """Return the label that represents all labels equal to this one."""
        return next((second for first, second in self.equal_labels if first == label), label)


COLLINS = BracketRules()


class Bracket(NamedTuple):
    """A phrase over the remaining words, from `start` to `end` (exclusive)."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class SentenceCounts:
    """The counts of one sentence; all but the length are 0 if the sentence is not valid."""

    status: Status
    length: int
    """Words of the gold tree with punctuation, without traces; evalb compares it with 40."""
    problem: str = ""
    """Why it is not valid."""
    matched: int = 0
    """Brackets in both trees; equal brackets of a unary chain match one to one."""
    gold: int = 0
    guessed: int = 0
    unlabelled: int = 0
    """Brackets that match when labels are ignored."""
    crossing: int = 0
    """Predicted brackets that cross a gold bracket."""
    words: int = 0
    """Words without punctuation; only their tags count."""
    right_tags: int = 0
    matched_labels: Counter[str] = field(default_factory=Counter[str])
    gold_labels: Counter[str] = field(default_factory=Counter[str])
    guessed_labels: Counter[str] = field(default_factory=Counter[str])

    @property
    def is_valid(self) -> bool:
        return self.status == "valid"

    @property
    def is_error(self) -> bool:
        return self.status == "error"

    @property
    def f1(self) -> float:
        """F1 of this sentence; 1 if neither tree has brackets."""
        num_brackets = self.gold + self.guessed
        return 2 * self.matched / num_brackets if num_brackets else 1.0


def check_tag_source(tags: str) -> None:
    if tags not in get_args(TagSource):
        raise ConfigError(f"tags must be 'gold' or 'own', not {tags!r}")


def count_sentence(
    gold: Tree, guess: Tree | None, tags: TagSource = "gold", rules: BracketRules = COLLINS
) -> SentenceCounts:
    """Compare a predicted tree with the gold tree of the same sentence.

    Args:
        gold: The gold tree.
        guess: The predicted tree; None if the parser had none.
        tags: Which tags mark punctuation.
        rules: What counts as a bracket.

    Returns:
        The counts, and why the sentence is not valid if it is not.
    """
    gold_side = TaggedWords.from_tree(gold)
    length = int(gold_side.is_word.sum())
    if guess is None:
        return SentenceCounts("skipped", length, "there is no predicted tree")
    guess_side = TaggedWords.from_tree(guess)
    num_guessed = int(guess_side.is_word.sum())
    if tags == "gold" and num_guessed != length:
        return SentenceCounts("error", length, _number_problem(length, num_guessed, ""))
    gold_kept = gold_side.kept_by_own_tags(rules)
    guess_kept = (
        guess_side.kept_as_in(gold_side, gold_kept) if tags == "gold" else guess_side.kept_by_own_tags(rules)
    )
    # As in evalb, a prediction without words is skipped whatever the gold tree has.
    if not guess_kept.any():
        return SentenceCounts("skipped", length, "there are no words besides punctuation")
    problem = _find_problem(gold_side, gold_kept, guess_side, guess_kept)
    if problem:
        return SentenceCounts("error", length, problem)
    right_tags = _count_right_tags(gold_side.kept_tags(gold_kept), guess_side.kept_tags(guess_kept), rules)
    return _count_brackets(
        find_brackets(gold, gold_kept, rules),
        find_brackets(guess, guess_kept, rules),
        length=length,
        num_words=int(gold_kept.sum()),
        right_tags=right_tags,
    )


@dataclass(frozen=True, slots=True)
class TaggedWords:
    """The words of one tree with their tags."""

    words: tuple[str, ...]
    tags: list[str]
    is_word: BoolArray
    """Whether each leaf is a word rather than a trace."""

    @classmethod
    def from_tree(cls, tree: Tree) -> TaggedWords:
        refuse_inner_words(tree, "scored by brackets")
        leaves: list[int] = tree.leaves.tolist()
        tags = [tree.labels[leaf].rpartition(CHAIN_JOINT)[2] for leaf in leaves]
        return cls(tree.words, tags, np.array([tag != TRACE_LABEL for tag in tags], dtype=np.bool_))

    def kept_by_own_tags(self, rules: BracketRules) -> BoolArray:
        deleted = np.array([tag in rules.deleted_tags for tag in self.tags], dtype=np.bool_)
        return self.is_word & ~deleted

    def kept_as_in(self, other: TaggedWords, kept_there: BoolArray) -> BoolArray:
        """Return which words are kept in the other tree, which has as many words without traces."""
        kept = np.zeros(len(self.words), dtype=np.bool_)
        kept[self.is_word] = kept_there[other.is_word]
        return kept

    def kept_tags(self, kept: BoolArray) -> list[str]:
        return [self.tags[word] for word in np.flatnonzero(kept).tolist()]

    def kept_words(self, kept: BoolArray) -> list[str]:
        return [surface_form(self.words[word]) for word in np.flatnonzero(kept).tolist()]


def _find_problem(gold: TaggedWords, gold_kept: BoolArray, guess: TaggedWords, guess_kept: BoolArray) -> str:
    gold_words, guess_words = gold.kept_words(gold_kept), guess.kept_words(guess_kept)
    if len(gold_words) != len(guess_words):
        return _number_problem(len(gold_words), len(guess_words), " without punctuation")
    pairs = enumerate(zip(gold_words, guess_words, strict=True), 1)
    return next(
        (
            f"word {number} is {one!r} in the gold tree but {other!r} in the predicted one"
            for number, (one, other) in pairs
            if one != other
        ),
        "",
    )


def _number_problem(num_gold: int, num_guessed: int, which: str) -> str:
    return f"the gold tree has {num_gold:,} words{which}, the predicted one {num_guessed:,}"


def _count_right_tags(gold: list[str], guessed: list[str], rules: BracketRules) -> int:
    pairs = zip(gold, guessed, strict=True)
    return sum(rules.same_label(one) == rules.same_label(other) for one, other in pairs)


def find_brackets(tree: Tree, kept: BoolArray, rules: BracketRules) -> list[Bracket]:
    """Return the brackets over the kept words, parents first; empty ones are dropped."""
    num_before = np.concatenate([[0], np.cumsum(kept)])
    starts, ends = num_before[tree.starts], num_before[tree.ends]
    counted = (starts < ends) & ~intermediate_nodes(tree)
    chains = {label: label.split(CHAIN_JOINT) for label in set(tree.labels)}
    of_phrase = {label: rules.bracket_labels(chain) for label, chain in chains.items()}
    # The last label of a leaf is its tag; those above it in a collapsed chain are phrases.
    of_leaf = {label: rules.bracket_labels(chain[:-1]) for label, chain in chains.items()}
    nodes: list[int] = np.flatnonzero(counted).tolist()
    spans = zip(starts[counted].tolist(), ends[counted].tolist(), tree.arity[counted].tolist(), strict=True)
    return [
        Bracket(start, end, label)
        for node, (start, end, num_children) in zip(nodes, spans, strict=True)
        for label in (of_phrase if num_children else of_leaf)[tree.labels[node]]
    ]


def _count_brackets(
    gold: list[Bracket], guessed: list[Bracket], *, length: int, num_words: int, right_tags: int
) -> SentenceCounts:
    matched = Counter(gold) & Counter(guessed)
    spans = [Counter((start, end) for start, end, _ in brackets) for brackets in (gold, guessed)]
    matched_labels: Counter[str] = Counter()
    for bracket, times in matched.items():
        matched_labels[bracket.label] += times
    return SentenceCounts(
        status="valid",
        length=length,
        matched=matched.total(),
        gold=len(gold),
        guessed=len(guessed),
        unlabelled=(spans[0] & spans[1]).total(),
        crossing=count_crossing(gold, guessed, num_words),
        words=num_words,
        right_tags=right_tags,
        matched_labels=matched_labels,
        gold_labels=Counter(bracket.label for bracket in gold),
        guessed_labels=Counter(bracket.label for bracket in guessed),
    )


def count_crossing(gold: list[Bracket], guessed: list[Bracket], num_words: int) -> int:
    """Count the predicted brackets that cross a gold bracket, in linear time.

    The gold brackets around a position between two words are nested. So a predicted bracket that starts there crosses
    one of them only if it crosses the smallest, and likewise where it ends.
    """
    around = _smallest_around(gold, num_words)
    return sum(around[start][1] < end or around[end][0] > start for start, end, _ in guessed)


def _smallest_around(brackets: list[Bracket], num_words: int) -> list[tuple[int, int]]:
    """Return the smallest bracket around each position between words (and both ends), or the sentence."""
    around: list[tuple[int, int]] = []
    is_open = [(0, num_words)]
    waiting = len(brackets)
    for place in range(num_words + 1):
        while waiting and brackets[-waiting].start < place:
            is_open.append(brackets[-waiting][:2])
            waiting -= 1
        while len(is_open) > 1 and is_open[-1][1] <= place:
            is_open.pop()
        around.append(is_open[-1])
    return around
