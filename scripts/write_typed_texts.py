"""Write labelled texts of ratings, emoticons and emoji, from which a model learns what these say.

    python scripts/write_typed_texts.py typed.tsv

Hardly any corpus of sentences has them, and what they mean is not in doubt: one star of five is negative, `:)` is
positive. They stand alone, and beside words that say nothing themselves. Each line is a label, a tab and a text; the
same lines are written every time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path

STARS = ("negative", "negative", "negative", "neutral", "positive", "positive")
"""By the number of stars out of five, from none."""
WORDS = ("zero", "one", "two", "three", "four", "five")
RATINGS = (
    *(
        "{n} {star}",
        "{N} {star}",
        "{N} {star}.",
        "{n} {star}!",
        "{n}/5",
        "{n}/5.",
        "{ten}/10",
        "{n} out of 5",
    ),
    *(
        "{n} out of 5 stars",
        "{n} / 5",
        "{stars}",
        "{n}*",
        "{n}-star",
        "Rating: {n}/5",
        "I give it {n} {star}",
    ),
    *(
        "{n} {star} from me",
        "My rating: {n} {star}.",
        "It gets {w} {star} out of five.",
        "A {w}-star product",
    ),
    *(
        "{w} {star}",
        "{ten} out of 10",
        "{n} {star} for the {thing}",
        "{thing}: {n}/5",
        "The {thing} gets {n} {star}.",
    ),
)
SIGNS = {
    "positive": ":) :-) :D :-D =) ;) <3 ^_^ xD 🙂 😀 😊 😍 👍 ❤️ 🎉 😋 🥰 👏 💯 😁 ♥ 🙌",
    "negative": ":( :-( :'( >:( :/ </3 D: 🙁 😞 😠 😡 👎 😢 😭 💔 🤮 😤 😒 🤢 😖",
    "neutral": ":| :o 😐 🤔 😶 🚗 📦 🏠 📱",
}
CARRIERS = (
    "{}",
    "{} {}",
    "The {thing} {}",
    "bought the {thing} in may {}",
    "got it today {}",
    "the {thing} came {}",
)
THINGS = ("food", "phone", "hotel", "book", "service", "app")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    lines = list(dict.fromkeys(f"{label}\t{text}\n" for label, text in (*ratings(), *signs())))
    options.output.write_text("".join(lines), encoding="utf-8")
    print(f"{options.output}: {len(lines):,} texts")


def ratings() -> Iterator[tuple[str, str]]:
    for template, number, thing in product(RATINGS, range(6), THINGS):
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
        for sign, carrier, thing in product(listed.split(), CARRIERS, THINGS):
            yield label, carrier.format(sign, sign, thing=thing)


if __name__ == "__main__":
    main()
