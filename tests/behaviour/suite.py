"""The cases of the behaviour suite, made from the templates in the TOML files of this folder.

Ribeiro et al. (2020) tell three kinds of tests apart: *minimum functionality* (a text and its label), *invariance* (a
change that must not change the label) and *direction* (a change that must move the score in one direction).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

from tests.behaviour.changes import CHANGES, draw

FOLDER = Path(__file__).parent
Kind = Literal["minimum", "invariance", "direction"]
Polarity = Literal["negative", "neutral", "positive"]
Expectation = Literal["same label", "higher", "lower", "not lower", "not higher"]
TOLERANCE = 0.1
"""How far a score, from -1 to 1, may move the wrong way where it need not move at all."""
_SLOT = re.compile(r"\{(\w+)(:other)?\}")


@dataclass(frozen=True)
class Case:
    """A text, for invariance and direction also the changed text, and what must hold."""

    id: str
    kind: Kind
    capability: str
    test: str
    text: str
    labels: tuple[Polarity, ...] = ()
    """Minimum functionality: the labels that are right."""
    changed: str | None = None
    """Invariance and direction: the text after the change."""
    expect: Expectation | None = None
    """Invariance and direction: what must hold between the text and the changed text."""

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,) if self.changed is None else (self.text, self.changed)


@dataclass(frozen=True)
class Judgement:
    """What a system says of a text."""

    label: Polarity
    score: float
    """From -1 to 1."""


def passes(case: Case, judgements: Sequence[Judgement]) -> bool:
    """Whether the judgements of the texts of a case are as they must be."""
    if case.changed is None:
        return judgements[0].label in case.labels
    before, after = judgements
    step = after.score - before.score
    match case.expect:
        case "same label":
            return before.label == after.label
        case "higher":
            return step > 0
        case "lower":
            return step < 0
        case "not lower":
            return step >= -TOLERANCE
        case "not higher":
            return step <= TOLERANCE
        case None:
            raise ValueError(f"{case.id} expects nothing")


def all_cases() -> list[Case]:
    """Every case, in the order of the files; always the same ones."""
    return [case for kind in get_args(Kind) for case in cases_of(kind)]


def cases_of(kind: Kind) -> Iterator[Case]:
    """The cases of one kind."""
    content = _read(f"{kind}.toml")
    for test in content["tests"]:
        drawn = _draw_cases(dict.fromkeys(_contents(test, content["lists"])), test.get("cases"))
        for number, (texts, labels) in enumerate(drawn, start=1):
            yield Case(
                id=f"{kind}/{test['capability']}/{test['name']}/{number}",
                kind=kind,
                capability=test["capability"],
                test=test["name"],
                text=texts[0],
                labels=labels,
                changed=texts[1] if len(texts) == 2 else None,
                expect=None if kind == "minimum" else test.get("expect", "same label"),
            )


Content = tuple[tuple[str, ...], tuple[Polarity, ...]]
"""The texts of a case and the labels that are right for it."""


def _contents(test: Mapping[str, Any], lists: Mapping[str, Sequence[str]]) -> Iterator[Content]:
    """What the cases of a test consist of, before any are drawn."""
    if "polarities" in test:
        yield from _from_sentences(test)
        return
    labels: Polarity | list[Polarity] = test.get("label", [])
    right = (labels,) if isinstance(labels, str) else tuple(labels)
    templates = test["pairs"] if "pairs" in test else [[text] for text in test["texts"]]
    for template in templates:
        for texts in _fill(template, lists):
            yield texts, right


def _from_sentences(test: Mapping[str, Any]) -> Iterator[Content]:
    """Plain sentences as they are, changed, or with something behind them."""
    for polarity, sentence in _sentences(test["polarities"]):
        if "change" in test:
            changed = CHANGES[test["change"]](sentence)
            if changed != sentence:
                yield (sentence, changed), ()
        elif "add" in test:
            for added in test["add"]:
                yield (sentence, f"{sentence} {added}"), ()
        else:
            yield (sentence,), (polarity,)


def _sentences(polarities: Iterable[Polarity]) -> Iterator[tuple[Polarity, str]]:
    for by_polarity in _read("sentences.toml").values():
        for polarity in polarities:
            for sentence in by_polarity[polarity]:
                yield polarity, sentence


def _fill(template: Sequence[str], lists: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """The texts of a template with every combination of the entries that its slots stand for."""
    slots = list(dict.fromkeys(match[1] for text in template for match in _SLOT.finditer(text)))
    for chosen in product(*(range(len(lists[slot])) for slot in slots)):
        number_of = dict(zip(slots, chosen, strict=True))

        def entry(match: re.Match[str], number_of: Mapping[str, int] = number_of) -> str:
            entries = lists[match[1]]
            return entries[(number_of[match[1]] + (1 if match[2] else 0)) % len(entries)]

        yield tuple(_SLOT.sub(entry, text) for text in template)


def _draw_cases(contents: Iterable[Content], num: int | None) -> list[Content]:
    """At most so many, drawn by the texts themselves and kept in their order."""
    pool = list(contents)
    if num is None or num >= len(pool):
        return pool
    drawn = set(sorted(pool, key=lambda content: draw("\n".join(content[0])))[:num])
    return [content for content in pool if content in drawn]


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))
