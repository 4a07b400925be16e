"""Tells texts that a model cannot know: most of their words are unknown to it, or they are not in English."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from lexitree.limits import TextCache

_MOST_UNKNOWN = 0.4
"""A text with this share of unknown words is unfamiliar; chosen by paper/benchmarks/unfamiliar_texts.py."""
_FEW_WORDS = 3
"""A text of fewer words is unfamiliar if none of them is known."""
_LEAST_FOREIGN = 2

_ENGLISH_WORDS = """
    the a an and or but if of to in on at for with from by about as into than that this these those it its he she
    they we you i me my your his her our their is are was were be been am do does did have has had will would can
    could should not n't no 's so very too just all any some more there here what who when where how
"""
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_OTHERS = {
    "German": "der das und ist nicht ich mit ein eine auf den dem sich auch wie sehr aber nach für wir sie von zu",
    "French": "le les des est pas je ce du une dans et pour qui sur avec mais très cette nous vous ne que au sont",
    "Spanish": "el los las es muy pero que una con por para como más está esta del mi lo su todo nada nos se y",
    "Italian": "il gli è non di che una con ma sono molto questo questa della nel anche più mi ho",
    "Portuguese": "os é não muito uma com por mas que do da em são este esta mais foi eu",
    "Dutch": "het een en niet ik met van voor maar ook zijn dat deze zeer naar wij heel erg",
}
"""Frequent words of other languages with the Latin alphabet, without those that English has too."""
_FOREIGN = frozenset(chain.from_iterable(map(str.split, _OTHERS.values()))) - _ENGLISH


def _plain_word(form: str) -> str:
    """A word in lower case; empty for a number, sign, hashtag, name or bracket: it tells nothing of the language."""
    # Most words are letters only.
    is_word = form.isalpha() or (any(map(str.isalpha, form)) and form[0] not in "#@-")
    return form.lower() if is_word else ""


_plain_words = TextCache(_plain_word, 1 << 16)


def warn_of_unfamiliar(
    sentences: Iterable[Sequence[str]], count_unknown: Callable[[Sequence[str]], int]
) -> tuple[str, ...]:
    """Say why the labels of a text may mean nothing; empty for a familiar text.

    Args:
        sentences: The words of its sentences.
        count_unknown: Tells how many of some words the model does not know.
    """
    forms = chain.from_iterable(sentences)
    words = [word for word in map(_plain_words.__getitem__, forms) if word]
    if not words:
        return ()
    # Most texts have no such word.
    num_foreign = 0 if _FOREIGN.isdisjoint(words) else sum(map(_FOREIGN.__contains__, words))
    if num_foreign >= _LEAST_FOREIGN and num_foreign > sum(map(_ENGLISH.__contains__, words)):
        return ("the text does not seem to be in English, which is all that the model knows",)
    num_unknown = count_unknown(words)
    share = 1.0 if len(words) < _FEW_WORDS else _MOST_UNKNOWN
    if num_unknown / len(words) < share:
        return ()
    return (f"the model does not know {num_unknown:,} of the {len(words):,} words of the text",)
