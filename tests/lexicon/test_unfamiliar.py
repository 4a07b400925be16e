"""A text that a model cannot know is told from others, whichever way it is unknown."""

from __future__ import annotations

import pytest

from lexitree.lexicon.unfamiliar import warn_of_unfamiliar
from lexitree.lexicon.vocabulary import Vocabulary
from lexitree.text import split_sentences

WORDS = [
    "the",
    "food",
    "was",
    "cold",
    "and",
    "i",
    "love",
    "this",
    "phone",
    "it",
    "broke",
    "after",
    "a",
    "week",
    "good",
    "film",
    "le",
    "la",
    "de",
    "ce",
    "no",
    "me",
    "great",
]
KNOWN = Vocabulary(WORDS, "folded")


def warnings_of(text: str) -> tuple[str, ...]:
    sentences = [sentence.forms for sentence in split_sentences(text)]
    return warn_of_unfamiliar(sentences, lambda words: sum(not KNOWN.index(word) for word in words))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "The food was cold.",
            "I LOOOOVE this phone!!! 10/10",
            "gr8",
            "It broke after a week",
            "",
            "!!!",
            "👍 #zzz",
        ),
        *("The Zyzzyx was cold", "@zzz 100% 2024"),
    ],
)
def test_english_is_familiar(text: str) -> None:
    assert warnings_of(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Das Essen war leider kalt und der Kellner sehr unfreundlich.",
        "Ce film ne m'a pas plu du tout.",
        "Estoy muy contento con este teléfono.",
        "Il film non mi è piaciuto per niente.",
    ],
)
def test_another_language_is_told(text: str) -> None:
    assert warnings_of(text) == (
        "the text does not seem to be in English, which is all that the model knows",
    )


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("खाना ठंडा था और वेटर बहुत बदतमीज़ था।", "8 of the 8"),
        ("我非常喜欢这部手机。", "1 of the 1"),
        ("Еда была холодной", "3 of the 3"),
        ("Kavanaugh sued Gorsuch again this week", "4 of the 6"),
        ("zzz", "1 of the 1"),
    ],
)
def test_unknown_words_are_counted(text: str, numbers: str) -> None:
    assert warnings_of(text) == (f"the model does not know {numbers} words of the text",)
