"""Label the phrases of the reviews corpus: composes the labels 0 to 4 over a binary tree."""

from collections.abc import Callable
from dataclasses import dataclass

import reviews_grammar as grammar

Tree = str | tuple["Tree", "Tree"]


class UnnaturalError(Exception):
    """The phrase is grammatical, but nobody would say it (`dull but tedious`)."""


@dataclass(frozen=True)
class Meaning:
    """Value of a phrase from -2 to 2, what it will do to its right sister, and what links it to a sister."""

    value: int
    operator: str = ""
    link: str = ""


def sign(value: int) -> int:
    return (value > 0) - (value < 0)


def stronger(first: int, second: int) -> int:
    return first if abs(first) >= abs(second) else second


def negate(value: int) -> int:
    """`not good` and `not brilliant` are mildly negative, `not bad` is mildly positive."""
    if value == 0:
        raise UnnaturalError("nothing to negate")
    return {2: -1, 1: -1, -1: 1, -2: 0}[value]  # `not terrible` praises nothing


def attempt(value: int) -> int:
    """What is only tried, promised or expected says nothing yet."""
    if value == 0:
        raise UnnaturalError("nothing to attempt")
    return 0


LINKING = ("but", "although", "and", "nor", "than", "because", "not only")
OPERATIONS: dict[str, Callable[[int], int]] = {
    "keep": lambda value: value,
    "negate": negate,
    "amplify": lambda value: 2 * sign(value),
    "soften": sign,
    "spoil": lambda value: -1,
    "save": lambda value: 1,
    "overdo": lambda value: -1,
    "attempt": attempt,
}


def contrast(main: int, aside: int) -> int:
    """The main phrase wins, but a concession of the other sign leaves it mild."""
    if main == 0 or sign(main) == sign(aside):
        raise UnnaturalError("no contrast")
    return main if aside == 0 else sign(main)


def add(first: int, second: int) -> int:
    """`and`: the stronger of two phrases of one sign; phrases of opposite signs cancel out."""
    return stronger(first, second) if first * second >= 0 else 0


def join(left: Meaning, right: Meaning) -> int:
    """Value of two sisters of which at least one was introduced by a linking word."""
    if left.link == "not only":
        return OPERATIONS["amplify"](left.value)
    if left.link == "although":
        return contrast(main=right.value, aside=left.value)
    if right.link == "although":
        return contrast(main=left.value, aside=right.value)
    if right.link == "but":
        return contrast(main=right.value, aside=left.value)
    if right.link == "than":
        return left.value
    if right.link == "because" and left.value * right.value <= 0:
        raise UnnaturalError("no reason")
    return add(left.value, right.value)


def predicate(left: int, right: int) -> int:
    """Plain sisters: the right one, the predicate, if their signs differ, else the stronger."""
    return right if left * right < 0 else stronger(left, right)


def compose(left: Meaning, right: Meaning) -> Meaning:
    if right.operator == "punctuate":
        return left
    if left.operator in LINKING:
        value = negate(right.value) if left.operator == "nor" else right.value
        return Meaning(value, link=left.operator)
    if left.operator == "keep" and right.operator:  # is + n't, does + n't, have + been
        return Meaning(0, operator=right.operator)
    if left.operator and right.operator == "keep":  # could + (have been), would + be
        return Meaning(0, operator=left.operator)
    if left.operator:
        return Meaning(OPERATIONS[left.operator](right.value))
    if left.link or right.link:
        return Meaning(join(left, right))
    return Meaning(predicate(left.value, right.value))


def build_lexicon() -> dict[str, Meaning]:
    """Meanings of the words and fixed phrases that are not plain and neutral, one meaning each."""
    entries: list[tuple[str, Meaning]] = []
    for name, value in grammar.LIST_VALUES.items():
        words = " ".join(lists.get(name, "") for lists in grammar.WORDS_BY_KIND.values())
        words += " " + grammar.VERBS.get(name, "").replace(",", "")
        operator = name.lower() if name in ("SPOIL", "SAVE") else ""
        entries += [(word, Meaning(value, operator)) for word in words.split()]
    for value, words in grammar.POLAR_WORDS.items():
        entries += [(word, Meaning(value)) for word in words.split()]
    for operator, words in grammar.OPERATORS.items():
        entries += [(word.replace("_", " "), Meaning(0, operator)) for word in words.split()]
    entries += [(word.replace("_", " "), Meaning(-1, "negate")) for word in grammar.NEGATIVE_NEGATORS.split()]
    lexicon: dict[str, Meaning] = {}
    for word, meaning in entries:
        if lexicon.setdefault(word, meaning) != meaning:
            raise ValueError(f"two meanings for {word!r}")
    return lexicon


LEXICON = build_lexicon()


def words_of(tree: Tree) -> list[str]:
    return [tree] if isinstance(tree, str) else words_of(tree[0]) + words_of(tree[1])


def meaning_of(tree: Tree) -> Meaning:
    phrase = " ".join(words_of(tree)).lower()
    if phrase in LEXICON:
        return LEXICON[phrase]
    return Meaning(0) if isinstance(tree, str) else compose(meaning_of(tree[0]), meaning_of(tree[1]))


def bracketed(tree: Tree) -> str:
    label = meaning_of(tree).value + 2
    inside = tree if isinstance(tree, str) else f"{bracketed(tree[0])} {bracketed(tree[1])}"
    return f"({label} {inside})"
