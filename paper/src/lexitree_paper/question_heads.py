"""Finds the head word of a question by rules, as the SVM of Silva et al. (2011) needs it.

The rules follow Silva et al. (2011): some questions are recognized by their first words; for the others the head of
the first noun phrase is taken, by Collins' rules. The patterns are ours.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lexitree.trees.head_rules import base_category, head_words
from lexitree.trees.tree import Tree

WH_WORDS = frozenset({"what", "which", "who", "whom", "whose", "when", "where", "why", "how"})
_WITHOUT_NOUN = frozenset({"when", "where", "why", "who", "whom", "whose"})
"""Wh-words that need no noun to say what is asked for."""

_KINDS = ("kind", "type", "sort", "form", "part", "name")
_OTHERS = ("variety", "genre", "species", "group", "class", "example", "title")
_GENERAL_NOUNS = frozenset({*_KINDS, *(f"{noun}s" for noun in _KINDS), *_OTHERS})
"""`What kind of dog` asks for a dog: after these nouns, the one after `of` counts."""

_FORMS_OF_BE = ("is", "are", "was", "were", "'s", "'re")
_BE = f"(?:{'|'.join(_FORMS_OF_BE)})"
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("stands for", r"\b(?:stand|stands|abbreviation|acronym|abbreviated)\b"),
    ("means", r"^what (?:does|do|did) .* mean\b"),
    ("does", r"^what (?:does|do|did) .* do(?: \?)?$"),
    ("used for", rf"^what {_BE} .* (?:used for|the purpose of)\b"),
    ("causes", r"^what (?:causes|caused|cause)\b|\bthe cause of\b"),
    ("called", r"^what (?:do|does|did) (?:you|we|they) call\b|\bcalled \?$"),
    ("is a thing", rf"^what {_BE} (?:(?:a|an|the) )?\S+(?: \S+)? \?$"),
    ("is a person", rf"^who {_BE} (?:\S+ ){{1,3}}\?$"),
)


class QuestionFocus(NamedTuple):
    """What a question asks for."""

    wh_word: str
    """The wh-word in lower case; empty for none, as in `Name a film`."""
    head: str
    """The head word in lower case; empty if the rules find none."""
    pattern: str
    """The name of the pattern of its wording; empty for none."""


def question_focus(tree: Tree) -> QuestionFocus:
    """Return the wh-word of a question, its head word and the pattern of its wording."""
    words = [word.lower() for word in tree.words]
    place = next((place for place, word in enumerate(words) if word in WH_WORDS), None)
    wh_word = words[place] if place is not None else ""
    return QuestionFocus(wh_word, _head(tree, words, place), question_pattern(" ".join(words)))


def question_pattern(text: str) -> str:
    """Return the name of the first pattern that matches a question."""
    return next((name for name, pattern in _PATTERNS if re.search(pattern, text)), "")


def _head(tree: Tree, words: list[str], place: int | None) -> str:
    if place is not None and words[place] in _WITHOUT_NOUN:
        return words[place]
    if place is not None and words[place] == "how":
        return words[place + 1] if place + 1 < len(words) else ""
    head = _first_noun(tree, words, place)
    return "" if head is None else words[_after_of(tree, words, head)]


def _first_noun(tree: Tree, words: list[str], place: int | None) -> int | None:
    """Return the noun of the wh-phrase, or that of `What is the ...`; `What did Galileo say` has none."""
    if place is None:
        return _head_of_noun_phrase(tree, 0)
    noun = _noun_of_wh_phrase(tree, place)
    if noun is None and words[place + 1 : place + 2] and words[place + 1] in _FORMS_OF_BE:
        return _head_of_noun_phrase(tree, place)
    return noun


def _tags(tree: Tree) -> list[str]:
    return [base_category(label) for label, arity in zip(tree.labels, tree.arity, strict=True) if arity == 0]


def _noun_of_wh_phrase(tree: Tree, place: int) -> int | None:
    """Return the last noun of a phrase such as `What county`; only adjectives may come before it."""
    found = None
    for word, tag in list(enumerate(_tags(tree)))[place + 1 :]:
        if tag.startswith("NN"):
            found = word
        elif found is not None or not (tag.startswith("JJ") or tag in ("CD", "VBG", "RBS")):
            break
    return found


def _head_of_noun_phrase(tree: Tree, place: int) -> int | None:
    """Return the head of the first (outermost) noun phrase after a word."""
    starts, heads, tags = tree.starts.tolist(), head_words(tree).tolist(), _tags(tree)
    for node in range(1, tree.num_nodes):
        is_noun_phrase = base_category(tree.labels[node]) == "NP" and starts[node] >= place
        if is_noun_phrase and tags[heads[node]].startswith("NN"):
            return heads[node]
    return None


def _after_of(tree: Tree, words: list[str], head: int) -> int:
    """Return the noun after `of` if the head is a general noun such as `kind`."""
    if words[head] not in _GENERAL_NOUNS or words[head + 1 : head + 2] != ["of"]:
        return head
    noun = _head_of_noun_phrase(tree, head + 2)
    return head if noun is None else noun
