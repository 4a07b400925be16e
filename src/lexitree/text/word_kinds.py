"""Tells words that name or judge something from function words and punctuation, by their spelling alone."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache

from lexitree.text.patterns import is_emoticon


class WordKind(IntEnum):
    """What a word is, those first that are worth more as the head of a phrase."""

    CONTENT = 0
    """Nouns, verbs, adjectives, adverbs, negations, numbers, emoticons: all that is not listed here."""
    FUNCTION = 1
    """A word of a closed class: an article, a pronoun, a preposition, a conjunction, an auxiliary."""
    PUNCTUATION = 2
    """Neither letters nor digits, and no emoticon."""


FUNCTION_FORMS = frozenset(
    [
        *("a", "an", "the", "this", "that", "these", "those", "some", "any", "all", "both", "each", "every"),
        *("either", "which", "what", "whatever", "whose", "such", "i", "me", "my", "mine", "myself"),
        *("you", "your", "yours", "yourself", "yourselves", "u", "ya", "ur", "he", "him", "his", "himself"),
        *("she", "her", "hers", "herself", "it", "its", "itself", "we", "us", "our", "ours", "ourselves"),
        *("they", "them", "their", "theirs", "themselves", "one", "who", "whom", "whoever", "there"),
        *("something", "anything", "everything", "someone", "anyone", "everyone", "somebody", "anybody"),
        *("everybody", "and", "or", "but", "if", "because", "although", "though", "while", "whereas"),
        *(
            "unless",
            "until",
            "till",
            "since",
            "when",
            "whenever",
            "where",
            "wherever",
            "whether",
            "why",
            "how",
        ),
        *("than", "as", "of", "in", "on", "at", "by", "for", "with", "from", "to", "into", "onto", "upon"),
        *("about", "above", "across", "after", "against", "along", "amid", "among", "around", "before"),
        *("behind", "below", "beneath", "beside", "besides", "between", "beyond", "despite", "during"),
        *("except", "inside", "near", "off", "out", "outside", "over", "past", "per", "through"),
        *("throughout", "toward", "towards", "under", "underneath", "unlike", "via", "within"),
        *("be", "am", "is", "are", "was", "were", "been", "being", "'m", "'s", "'re", "have", "has"),
        *("had", "having", "'ve", "'d", "do", "does", "did", "doing", "will", "would", "wo", "'ll", "shall"),
        *("should", "can", "could", "ca", "may", "might", "must", "ought", "let", "ai"),
    ]
)
"""Words of closed classes. Negations (`not`, `no`, `without`) and words that are as often of an open class (`like`,
`down`, `other`) are not among them."""

_BRACKETS = frozenset({"-lrb-", "-rrb-", "-lsb-", "-rsb-", "-lcb-", "-rcb-"})


_LONGEST = 40
"""Of longer words, only the beginning is looked at, so that what is remembered stays small."""


def word_kinds(words: Iterable[str]) -> list[int]:
    """The kinds of words, as they stand in trees, in plain numbers, which NumPy reads faster."""
    return [_find_kind(word[:_LONGEST]) for word in words]


def word_kind(word: str) -> WordKind:
    """The kind of a word, as it stands in a tree."""
    return WordKind(_find_kind(word[:_LONGEST]))


@lru_cache(1 << 16)
def _find_kind(word: str) -> int:
    plain = word.lower().replace("’", "'")
    if plain in FUNCTION_FORMS:
        return WordKind.FUNCTION.value
    if plain in _BRACKETS:
        return WordKind.PUNCTUATION.value
    has_meaning = any(map(str.isalnum, word)) or is_emoticon(word) or not word.strip()
    return (WordKind.CONTENT if has_meaning else WordKind.PUNCTUATION).value
