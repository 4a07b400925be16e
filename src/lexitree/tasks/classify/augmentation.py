"""Changes words of training sentences at random, so that a model learns which changes leave the meaning as it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lexitree.batch.tree_examples import Example
from lexitree.lexicon.vocabulary import UNK_INDEX
from lexitree.models.word_table import Lexicon
from lexitree.settings import Setting, Settings

_OTHER_MARK = {".": "!", "!": "."}
_MOST_REPEATED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AugmentSettings(Settings):
    """How often training sentences are changed; the trees and their labels stay as they are."""

    marks: Annotated[
        float,
        Setting(
            "Share of sentences whose final full stop is exchanged for ! or back.",
            at_least=0,
            below=1,
        ),
    ] = 0.0
    capitals: Annotated[
        float, Setting("Share of sentences in capitals, and as many in lower case.", at_least=0, at_most=0.5)
    ] = 0.0
    lengthened: Annotated[
        float, Setting("Share of words with a vowel repeated: soooo.", at_least=0, below=1)
    ] = 0.0
    typos: Annotated[
        float,
        Setting(
            "Share of words with two letters exchanged, or one left out or doubled.", at_least=0, below=1
        ),
    ] = 0.0
    unknown: Annotated[
        float, Setting("Share of words that are read as unknown words.", at_least=0, below=1)
    ] = 0.0

    @property
    def is_on(self) -> bool:
        """Whether anything is changed."""
        return any(self.as_dict().values())


class Augmenter:
    """Changes the words of examples. What it draws follows from the generator it is given, and from nothing else.

    Args:
        settings: How often.
        lexicon: Looks the changed words up. In a table of which only some rows are trained, a word that would have
            another row stays as it is.
    """

    def __init__(self, settings: AugmentSettings, lexicon: Lexicon) -> None:
        self.settings = settings
        self._lexicon = lexicon
        table = lexicon.lazy_table
        self._num_trained = None if table is None else len(table)

    def batches(self, batches: Iterable[list[Example]], rng: np.random.Generator) -> Iterator[list[Example]]:
        """The batches of an epoch, changed."""
        for batch in batches:
            yield [self.change(example, rng) for example in batch]

    def change(self, example: Example, rng: np.random.Generator) -> Example:
        """One example, with some of its words changed."""
        words = example.binary.tree.words
        changed = self._typed(words, rng)
        is_unknown = rng.random(len(words)) < self.settings.unknown
        places = [place for place, (new, old) in enumerate(zip(changed, words, strict=True)) if new != old]
        if not places and not is_unknown.any():
            return example
        rows = example.word_index.copy()
        if places:
            found = self._lexicon.index([changed[place] for place in places])
            most = self._num_trained
            rows[places] = found if most is None else np.where(found < most, found, rows[places])
        rows[is_unknown] = UNK_INDEX
        pieces = example.pieces if example.pieces is None else self._lexicon.split(changed)
        return dataclasses.replace(example, word_index=rows, pieces=pieces)

    def _typed(self, words: Sequence[str], rng: np.random.Generator) -> list[str]:
        settings = self.settings
        changed = list(words)
        is_marked, case = rng.random(2)
        if is_marked < settings.marks:
            changed[-1] = _OTHER_MARK.get(changed[-1], changed[-1])
        if case < settings.capitals:
            changed = [word.upper() for word in changed]
        elif case < 2 * settings.capitals:
            changed = [word.lower() for word in changed]
        for share, change in ((settings.lengthened, lengthen), (settings.typos, mistype)):
            if share:
                for place in np.flatnonzero(rng.random(len(changed)) < share).tolist():
                    changed[place] = change(changed[place], rng)
        return changed


def lengthen(word: str, rng: np.random.Generator) -> str:
    """Repeat a vowel of a word: soooo."""
    vowels = [place for place, letter in enumerate(word) if letter in "aeiouyAEIOUY"]
    if not vowels or not word.isalpha():
        return word
    place = vowels[int(rng.integers(len(vowels)))]
    return word[:place] + word[place] * int(rng.integers(3, _MOST_REPEATED + 1)) + word[place + 1 :]


def mistype(word: str, rng: np.random.Generator) -> str:
    """A slip inside of the word: its first letter is hardly ever wrong."""
    if len(word) < 4 or not word.isalpha():
        return word
    place, kind = int(rng.integers(1, len(word) - 1)), int(rng.integers(3))
    letter, following = word[place], word[place + 1]
    slip = (following + letter, following, letter + letter + following)[kind]
    return word[:place] + slip + word[place + 2 :]
