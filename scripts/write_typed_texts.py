"""Write texts as people type them: ratings, emoticons and emoji with their labels, or sentences with changed copies.

    python scripts/write_typed_texts.py typed.tsv
    python scripts/write_typed_texts.py runs/sentences.txt --sentences sst-fine trec domains/goemotions

Hardly any corpus of sentences has ratings and emoticons, and what they mean is not in doubt: one star of five is
negative, `:)` is positive. They stand alone, and beside words that say nothing themselves.

With `--sentences`, each line is a sentence from which a parser can learn what a larger one says of it: the training
sentences of corpora and of folders of texts, copies of them as people type, frequent words, and the texts above.
Texts like those of development and test parts, of the treebanks that parsers are judged by, and of the files of
`--without` are kept out. The same lines are written every time.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, product
from pathlib import Path

import numpy as np

from lexitree.corpora.annotated_texts import annotated_files, read_annotated
from lexitree.corpora.corpus import SplitName
from lexitree.corpora.named import find_entry, load_corpus
from lexitree.files import read_lines
from lexitree.parsers.penn_spans import clean_trees
from lexitree.tasks.classify.augmentation import lengthen, mistype
from lexitree.tasks.parse.data import COMMONPLACE_WORDS, find_data_path, read_named_trees
from lexitree.text import detokenize, split_sentences
from lexitree.writing import atomic_write

STARS = ("negative", "negative", "negative", "neutral", "positive", "positive")
"""By the number of stars out of five, from none."""
WORDS = ("zero", "one", "two", "three", "four", "five")
RATINGS = (
    "{n} {star}|{N} {star}|{N} {star}.|{n} {star}!|{n}/5|{n}/5.|{ten}/10|{n} out of 5|{n} out of 5 stars"
    "|{n} / 5|{stars}|{n}*|{n}-star|Rating: {n}/5|I give it {n} {star}|{n} {star} from me"
    "|My rating: {n} {star}.|It gets {w} {star} out of five.|A {w}-star product|{w} {star}|{ten} out of 10"
    "|{n} {star} for the {thing}|{thing}: {n}/5|The {thing} gets {n} {star}."
)
SIGNS = {
    "positive": ":) :-) :D :-D =) ;) <3 ^_^ xD 🙂 😀 😊 😍 👍 ❤️ 🎉 😋 🥰 👏 💯 😁 ♥ 🙌",
    "negative": ":( :-( :'( >:( :/ </3 D: 🙁 😞 😠 😡 👎 😢 😭 💔 🤮 😤 😒 🤢 😖",
    "neutral": ":| :o 😐 🤔 😶 🚗 📦 🏠 📱",
}
CARRIERS = "{}|{} {}|The {thing} {}|bought the {thing} in may {}|got it today {}|the {thing} came {}"
THINGS = ("food", "phone", "hotel", "book", "service", "app")

KEPT_OUT = {
    "gum.dev": 0,
    "gum.test": 0,
    "gum.test2": 0,
    "mctb.review": 0,
    "wsj.sample": 0,
    "questionbank": 3500,
}
"""Treebanks that parsers are judged by, and the first tree of each that is kept out."""
MOST_WORDS = 80
WORDS_ALIKE = 10
"""Sentences that begin or end with the same words, this many, are alike."""
LEAST_COUNT = 20
"""Words that are as frequent are written alone."""
_SLANG_WORDS = (
    "you=u|your=ur|are=r|because=cuz|please=pls|thanks=thx|people=ppl|going to=gonna|want to=wanna"
    "|got to=gotta|kind of=kinda|though=tho|with=w/|really=rly|about=abt|before=b4|to be honest=tbh"
    "|probably=prob|and=&|i don't know=idk|by the way=btw|right now=rn|don't=dont|it's=its|i=i"
)
SLANG = {old: new for old, _, new in (pair.partition("=") for pair in _SLANG_WORDS.split("|"))}
ASIDES = ("lol", "lmao", "tbh", "imo", "omg", "haha", "ugh", "wow", "smh", "well", "ok so", "btw")
BULLETS = ("- ", "* ", "• ", "1. ", "2) ", "a) ", "(3) ", "TODO: ", "Step 1: ")
NAMES = ("Anna", "Tom", "Priya", "Mr. Lee", "Maria Lopez", "Sam")
_SUGGESTED = re.compile(r"(?:you|we) (?:should|must|can|need to|have to|could) (?=[a-z])", re.IGNORECASE)
_SUBJECT = re.compile(r"(?:it|this|that|he|she|i|they|we) (?=[a-z]{3,}\b)", re.IGNORECASE)
_SLANG = re.compile(rf"\b(?:{'|'.join(sorted(SLANG, key=len, reverse=True))})\b", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\[(?:NAME|RELIGION)\]")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    parser.add_argument(
        "--sentences",
        nargs="+",
        help="corpora and folders of texts; those without a training part are kept out",
    )
    parser.add_argument("--without", nargs="+", default=[], help="files of texts or trees to keep out")
    parser.add_argument("--copies", type=int, default=1, help="changed copies of each sentence (default: 1)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    texts = [*ratings(), *signs()]
    lines = list(dict.fromkeys(f"{label}\t{text}" for label, text in texts))
    if options.sentences:
        judged = Judged(chain(judged_texts(options.sentences), *map(read_texts, options.without)))
        sentences = judged.drop(training_sentences(options.sentences))
        rng = np.random.default_rng(options.seed)
        copies = [vary(sentence, rng) for sentence in sentences for _ in range(options.copies)]
        others = judged.drop([*(text for _, text in texts), *frequent_words(sentences), *copies])
        lines = list(dict.fromkeys([*sentences, *others]))
        print(
            f"{len(sentences):,} sentences and {len(others):,} other texts; {judged.num_dropped:,} kept out"
        )
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(options.output) as stream:
        stream.writelines(f"{line}\n" for line in lines)
    print(f"{options.output}: {len(lines):,} texts")


def ratings() -> Iterator[tuple[str, str]]:
    for template, number, thing in product(RATINGS.split("|"), range(6), THINGS):
        values = {
            "n": number,
            "w": WORDS[number],
            "N": WORDS[number].capitalize(),
            "ten": 2 * number,
            "thing": thing,
            "star": "star" if number == 1 else "stars",
            "stars": "★" * number + "☆" * (5 - number),
        }
        yield STARS[number], template.format(**values)


def signs() -> Iterator[tuple[str, str]]:
    for label, listed in SIGNS.items():
        for sign, carrier, thing in product(listed.split(), CARRIERS.split("|"), THINGS):
            yield label, carrier.format(sign, sign, thing=thing)


def training_sentences(sources: Iterable[str]) -> Iterator[str]:
    """The sentences of the training parts; `[NAME]` and the like become names."""
    rng = np.random.default_rng(0)
    for text in chain.from_iterable(split_texts(source, "train") for source in sources):
        yield from sentences_of(_PLACEHOLDER.sub(lambda _: pick(NAMES, rng), " ".join(text.split())))


def sentences_of(text: str) -> Iterator[str]:
    for sentence in split_sentences(text):
        written = text[sentence.start : sentence.end]
        if len(sentence.tokens) <= MOST_WORDS and any(map(str.isalnum, written)):
            yield written


def judged_texts(sources: Iterable[str]) -> Iterator[str]:
    """The development and test parts of sources and treebanks."""
    for source in sources:
        yield from chain(split_texts(source, "dev"), split_texts(source, "test"))
    for name, first in KEPT_OUT.items():
        trees = list(clean_trees(read_named_trees(find_data_path(f"treebanks/{name}.txt"))))
        yield from (detokenize(tree.words) for tree in trees[first:])


def split_texts(source: str, split: SplitName) -> Iterator[str]:
    """The texts of one part of a corpus or folder."""
    if find_entry(source) is None:
        return (row.text for row in read_annotated(annotated_files(find_data_path(source), split)))
    return (detokenize(tree.words) for tree in load_corpus(source).splits.get(split, ()))


def read_texts(path: str) -> Iterator[str]:
    """The trees of a file as texts, or each cell of its lines."""
    lines = [line for _, line in read_lines(path)]
    if lines and lines[0].startswith("("):
        return (detokenize(tree.words) for tree in clean_trees(read_named_trees(Path(path))))
    return (cell for line in lines for cell in line.split("\t"))


class Judged:
    """The texts that something is chosen or judged by.

    A text is like one of them if only case, spaces and punctuation differ, or if it begins or ends in the same words.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._keys = {key for text in texts for part in (text, *sentences_of(text)) for key in keys_of(part)}
        self.num_dropped = 0

    def drop(self, texts: Iterable[str]) -> list[str]:
        """The texts that are like none of these, each once."""
        found = list(dict.fromkeys(texts))
        kept = [text for text in found if self._keys.isdisjoint(keys_of(text))]
        self.num_dropped += len(found) - len(kept)
        return kept


def keys_of(text: str) -> Iterator[str]:
    words = [word for word in re.sub(r"[^\w\s]|_", "", text.casefold()).split() if word]
    if len(words) > COMMONPLACE_WORDS:
        yield "".join(words)
    if len(words) > WORDS_ALIKE:
        yield "first " + "".join(words[:WORDS_ALIKE])
        yield "last " + "".join(words[-WORDS_ALIKE:])


def frequent_words(sentences: Iterable[str]) -> Iterator[str]:
    counts = Counter(word for sentence in sentences for word in re.findall(r"[^\W\d_]+", sentence))
    return (word for word, count in counts.items() if count >= LEAST_COUNT)


def vary(sentence: str, rng: np.random.Generator) -> str:
    """A copy with some changes, and at least one."""
    varied = sentence
    while varied == sentence:
        for share, change in CHANGES:
            if rng.random() < share:
                varied = change(varied, rng)
    return varied


def pick(items: Sequence[str], rng: np.random.Generator) -> str:
    return items[int(rng.integers(len(items)))]


def change_word(
    change: Callable[[str, np.random.Generator], str], text: str, rng: np.random.Generator
) -> str:
    words = text.split(" ")
    place = int(rng.integers(len(words)))
    words[place] = change(words[place], rng)
    return " ".join(words)


CHANGES: tuple[tuple[float, Callable[[str, np.random.Generator], str]], ...] = (
    (0.7, lambda text, _: _SUGGESTED.sub("", text, count=1) if _SUGGESTED.match(text) else text),
    (0.4, lambda text, _: text[found.end() :] if (found := _SUBJECT.match(text)) else text),
    (0.3, lambda text, _: text[:1].upper() + text[1:]),
    (0.05, lambda text, _: re.split(r"[,.;:!?]", text)[0].title() or text),
    (0.15, lambda text, _: _SLANG.sub(lambda found: SLANG[found[0].lower()], text)),
    (0.1, partial(change_word, lengthen)),
    (0.15, partial(change_word, mistype)),
    (0.1, lambda text, _: re.sub(r"[^\w\s]", "", text)),
    (0.3, lambda text, _: text.rstrip(".!?") or text),
    (0.05, lambda text, rng: text.rstrip(".!?") + pick(("!!", "!!!", "??", "...", "?!"), rng)),
    (0.05, lambda text, rng: pick(ASIDES, rng) + pick((" ", ", "), rng) + text),
    (0.05, lambda text, rng: f"{text} {pick(ASIDES, rng)}"),
    (0.3, lambda text, _: text.lower()),
    (0.05, lambda text, _: text.upper()),
    (0.08, lambda text, rng: f"{text} {pick(' '.join(SIGNS.values()).split(), rng)}"),
    (0.07, lambda text, rng: pick(BULLETS, rng) + text),
)
"""How often a copy is changed in each way, in this order."""


if __name__ == "__main__":
    main()
