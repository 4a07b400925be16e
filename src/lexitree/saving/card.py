"""The card of a saved model: Markdown that says what it is, how it was trained and how to use it."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

ABOUT = "about"
"""The entry of a training record with Markdown by the model's makers: data, licences, limits."""

_MARKUP = re.compile(r"[\\`*\[\]|~#]|(?<![^\W_])_|_(?![^\W_])")
"""What Markdown gives a meaning; an underscore has none within a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What the card of a model says besides its training record."""

    title: str
    about: str
    """What the model does, in a sentence or two."""
    facts: Sequence[str]
    """Its labels, sizes and the like, as a list."""
    example: Sequence[str]
    """Lines of Python."""
    tags: Sequence[str]
    header: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further entries of the header that the Hugging Face hub reads."""


def render_card(card: Card, training: Mapping[str, Any]) -> str:
    """Write a card as Markdown, with the header of the Hugging Face hub and the training record as a table."""
    header = {"library_name": "lexitree", **card.header, "tags": f"[{', '.join(['lexitree', *card.tags])}]"}
    lines = [
        "---",
        *(f"{name}: {value}" for name, value in header.items()),
        "---",
        "",
        f"# {_plain(card.title)}",
        "",
        _plain(card.about),
        "",
        *(f"- {_plain(fact)}" for fact in card.facts),
        "",
        "```python",
        *card.example,
        "```",
        "",
        *_training_lines(training),
    ]
    return "\n".join(lines)


def _training_lines(training: Mapping[str, Any]) -> list[str]:
    about = str(training.get(ABOUT, "")).strip()
    rows = [f"| {_plain(key)} | {_plain(_cell(value))} |" for key, value in training.items() if key != ABOUT]
    table = ["## Training", "", "| what | value |", "|---|---|", *rows, ""] if rows else []
    return [*([about, ""] if about else []), *table]


def _cell(value: object) -> str:
    if isinstance(value, Mapping):
        values = cast(Mapping[str, object], value)
        return "; ".join(f"{key}: {_short(part)}" for key, part in values.items())
    return _short(value)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(text: str) -> str:
    """Text as Markdown that says just that, in one line: labels and names of data may hold anything."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return html.escape(_MARKUP.sub(r"\\\g<0>", line), quote=False)
