"""The cases of the behaviour suite, made from the templates in the TOML files of this folder.

Ribeiro et al. (2020) tell three kinds of tests apart: *minimum functionality* (a text and its label), *invariance* (a
change that must not change the label) and *direction* (a change that must move the score in one direction). Two more
ask for the side of the score: *construction* (texts whose side follows from how they are put together) and *natural*
(sentences written one by one, in natural.tsv).
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal, cast, get_args

from tests.behaviour.changes import CHANGES, draw

FOLDER = Path(__file__).parent
Kind = Literal["minimum", "invariance", "direction", "construction", "natural"]
Polarity = Literal["negative", "neutral", "positive"]
Expectation = Literal[
    "same label",
    "same side",
    "higher",
    "lower",
    "not lower",
    "not higher",
    "from negative to positive",
    "from positive to negative",
]
Place = Literal["first", "last"]
SIDED: frozenset[Kind] = frozenset({"construction", "natural"})
"""The kinds that are judged by the side of the score."""
OPPOSITE: dict[Polarity, Polarity] = {"negative": "positive", "positive": "negative"}
TOLERANCE = 0.1
"""How far a score, from -1 to 1, may move the wrong way where it need not move at all."""
NEUTRAL_BAND = 0.15
"""A neutral text has a score closer to 0 than this."""
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
    """The labels that are right for the text; of invariance and direction only where they are known."""
    changed: str | None = None
    """Invariance and direction: the text after the change."""
    expect: Expectation | None = None
    """Invariance and direction: what must hold between the text and the changed text."""
    conceded: Place | None = None
    """Construction: where the clause of the other polarity stands, which must not decide."""

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
    if case.kind in SIDED:
        return on_side(judgements[0].score, case.labels[0])
    if case.changed is None:
        return judgements[0].label in case.labels
    before, after = judgements
    step = after.score - before.score
    match case.expect:
        case "same label":
            return before.label == after.label
        case "same side":
            band = NEUTRAL_BAND if case.labels == ("neutral",) else 0.0
            return _side(before.score, band) == _side(after.score, band)
        case "higher":
            return step > 0
        case "lower":
            return step < 0
        case "not lower":
            return step >= -TOLERANCE
        case "not higher":
            return step <= TOLERANCE
        case "from negative to positive":
            return before.score < 0 < after.score
        case "from positive to negative":
            return after.score < 0 < before.score
        case None:
            raise ValueError(f"{case.id} expects nothing")


def on_side(score: float, polarity: Polarity) -> bool:
    """Whether a score has the sign of a polarity or, for neutral, is close to 0."""
    return _side(score, NEUTRAL_BAND if polarity == "neutral" else 0.0) == polarity


def _side(score: float, band: float) -> Polarity:
    """The sign of a score by name; within the band, and at 0, it has none."""
    if abs(score) < band or score == 0:
        return "neutral"
    return "positive" if score > 0 else "negative"


def conceded_decides(case: Case, judgements: Sequence[Judgement]) -> bool:
    """Whether the text of a case got the label of its conceded clause."""
    return judgements[0].label == OPPOSITE[case.labels[0]]


def all_cases() -> list[Case]:
    """Every case, in the order of the files; always the same ones."""
    return [case for kind in get_args(Kind) for case in cases_of(kind)]


def cases_of(kind: Kind) -> Iterator[Case]:
    """The cases of one kind."""
    if kind == "natural":
        yield from _natural_cases()
        return
    content = _read(f"{kind}.toml")
    for test in content["tests"]:
        drawn = _draw_cases(_contents(test, content), test.get("cases"))
        for number, (texts, labels) in enumerate(drawn, start=1):
            has_change = len(texts) == 2
            yield Case(
                id=f"{kind}/{test['capability']}/{test['name']}/{number}",
                kind=kind,
                capability=test["capability"],
                test=test["name"],
                text=texts[0],
                labels=labels,
                changed=texts[1] if has_change else None,
                expect=test.get("expect", "same label") if has_change else None,
                conceded=test.get("conceded"),
            )


def _natural_cases() -> Iterator[Case]:
    numbers: Counter[str] = Counter()
    for line in (FOLDER / "natural.tsv").read_text(encoding="utf-8").splitlines():
        label, group, text = line.split("\t")
        name = group.replace("_", " ")
        numbers[name] += 1
        yield Case(
            id=f"natural/{name}/{numbers[name]}",
            kind="natural",
            capability=name,
            test=name,
            text=text,
            labels=(cast(Polarity, label),),
        )


Content = tuple[tuple[str, ...], tuple[Polarity, ...]]
"""The texts of a case and the labels that are right for it."""
Lists = Mapping[str, Sequence[str]]
"""The entries that the slots of templates stand for."""


def _contents(test: Mapping[str, Any], content: Mapping[str, Any]) -> Iterator[Content]:
    """What the cases of a test consist of, before any are drawn."""
    if "polarities" in test:
        yield from _from_sentences(test, _sentences(test["polarities"]))
        return
    if test.get("base") == "constructions":
        yield from _from_sentences(test, ((case.labels[0], case.text) for case in cases_of("construction")))
        return
    labels: Polarity | list[Polarity] = test.get("label", [])
    right = (labels,) if isinstance(labels, str) else tuple(labels)
    templates = test["pairs"] if "pairs" in test else [[text] for text in test["texts"]]
    for template in templates:
        filled = [texts for lists in _lists_for(template, content) for texts in _fill(template, lists)]
        yield from _draw_cases([(texts, right) for texts in filled], test.get("each"))


def _from_sentences(test: Mapping[str, Any], sentences: Iterable[tuple[Polarity, str]]) -> Iterator[Content]:
    """Sentences as they are, changed, or with something behind them."""
    for polarity, sentence in sentences:
        if "change" in test:
            changed = CHANGES[test["change"]](sentence)
            if changed != sentence:
                yield (sentence, changed), (polarity,)
        elif "add" in test:
            for added in test["add"]:
                yield (sentence, f"{sentence} {added}"), (polarity,)
        else:
            yield (sentence,), (polarity,)


def _sentences(polarities: Iterable[Polarity]) -> Iterator[tuple[Polarity, str]]:
    for by_polarity in _read("sentences.toml").values():
        for polarity in polarities:
            for sentence in by_polarity[polarity]:
                yield polarity, sentence


def _lists_for(template: Sequence[str], content: Mapping[str, Any]) -> Iterator[Lists]:
    """The lists of the file, with those of each topic in turn where the template has a slot of a topic."""
    if all(slot in content["lists"] for slot in _slots(template)):
        yield content["lists"]
        return
    for topic in content["topics"].values():
        yield {**content["lists"], **topic}


def _slots(template: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(match[1].lower() for text in template for match in _SLOT.finditer(text)))


def _fill(template: Sequence[str], lists: Lists) -> Iterator[tuple[str, ...]]:
    """The texts of a template with every combination of the entries that its slots stand for."""
    slots = _slots(template)
    for chosen in product(*(range(len(lists[slot])) for slot in slots)):
        number_of = dict(zip(slots, chosen, strict=True))

        def entry(match: re.Match[str], number_of: Mapping[str, int] = number_of) -> str:
            slot = match[1].lower()
            entries = lists[slot]
            found = entries[(number_of[slot] + (1 if match[2] else 0)) % len(entries)]
            return found if match[1] == slot else found[0].upper() + found[1:]

        yield tuple(_SLOT.sub(entry, text) for text in template)


def _draw_cases(contents: Iterable[Content], num: int | None) -> list[Content]:
    """At most so many, drawn by the texts themselves and kept in their order."""
    pool = list(dict.fromkeys(contents))
    if num is None or num >= len(pool):
        return pool
    drawn = set(sorted(pool, key=lambda content: draw("\n".join(content[0])))[:num])
    return [content for content in pool if content in drawn]


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))
