"""Reads WordNet's noun files and finds the hypernyms of a noun."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexitree.errors import FileError

FOLDERS = ("/usr/share/wordnet", "/usr/local/share/wordnet", "/usr/local/WordNet-3.0/dict")
"""Where packages and WordNet's installer put the files; $WNSEARCHDIR comes first."""

_ENDINGS = (("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"))
_LATER_ENDINGS = (("men", "man"), ("ies", "y"))

ReadFile = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Nouns:
    """The nouns of WordNet: their senses, most frequent first, and their hypernyms."""

    senses: dict[str, list[str]]
    """The synsets of each lemma, as numbers in the file."""
    irregular: dict[str, str]
    """Irregular plurals."""
    lines: dict[str, str]
    """The entry of each synset, parsed on demand."""

    @classmethod
    def read(cls, read_file: ReadFile) -> Nouns:
        """Read index.noun, noun.exc and data.noun."""
        senses: dict[str, list[str]] = {}
        for line in _entries(read_file("index.noun")):
            lemma, _, num_senses, *rest = line.split()
            senses[lemma] = rest[-int(num_senses) :]
        irregular = dict(line.split()[:2] for line in _entries(read_file("noun.exc")))
        lines = {line[:8]: line for line in _entries(read_file("data.noun"))}
        return cls(senses, irregular, lines)

    def lemma(self, word: str) -> str | None:
        """Return the form under which a noun is listed, or None."""
        word = word.lower()
        forms = [self.irregular.get(word, word), word]
        for ending, replacement in (*_ENDINGS, *_LATER_ENDINGS):
            if word.endswith(ending):
                forms.append(word.removesuffix(ending) + replacement)
        return next((form for form in forms if form in self.senses), None)

    def hypernyms(self, word: str) -> list[str]:
        """Return the hypernyms of a noun's first sense, from itself to the most general."""
        lemma = self.lemma(word)
        if lemma is None:
            return []
        names: list[str] = []
        synset: str | None = self.senses[lemma][0]
        while synset is not None:
            name, synset = self._entry(synset)
            names.append(name)
        return names

    def _entry(self, synset: str) -> tuple[str, str | None]:
        """Return the name of a synset and its first hypernym; for a proper name, its class."""
        fields = self.lines[synset].partition("|")[0].split()
        num_words = int(fields[3], 16)
        pointers = fields[5 + 2 * num_words :]
        above = (pointers[at + 1] for at in range(0, len(pointers) - 1, 4) if pointers[at] in ("@", "@i"))
        return f"{fields[4]}.{synset}", next(above, None)


def _entries(text: str) -> Iterator[str]:
    """Yield the lines of a file without the licence at the top, which is indented."""
    return (line for line in text.splitlines() if line and not line.startswith(" "))


def find_nouns(folder: str | Path | None = None) -> Nouns | None:
    """Read the nouns of a folder, or of an installed WordNet; None if there is none."""
    if folder is not None:
        return Nouns.read(_reader_of(Path(folder)))
    named = os.environ.get("WNSEARCHDIR")
    for candidate in (*([named] if named else []), *FOLDERS):
        if Path(candidate, "data.noun").is_file():
            return Nouns.read(_reader_of(Path(candidate)))
    reader = _nltk_reader()
    return None if reader is None else Nouns.read(reader)


def _reader_of(folder: Path) -> ReadFile:
    def read(name: str) -> str:
        try:
            return (folder / name).read_text(encoding="utf-8")
        except OSError as error:
            raise FileError(
                folder / name,
                f"cannot be read ({error.strerror or error})",
                remedy="WordNet's folder contains index.noun, data.noun and noun.exc.",
            ) from error

    return read


def _nltk_reader() -> ReadFile | None:
    """Return a reader of NLTK's copy of the files, zipped or not; None without it."""
    try:
        import nltk.data
    except ImportError:
        return None
    data: Any = nltk.data
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            found: Any = data.find(name)
        except LookupError:
            continue
        return lambda file: str(found.join(file).open(encoding="utf-8").read())
    return None
