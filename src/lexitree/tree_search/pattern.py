"""Reads search patterns.

    pattern  = branch { "|" branch }
    branch   = ( test | relation ) { "&" test | [ "&" ] relation }
    test     = "!" test | "(" pattern ")" | name | attribute
    relation = [ "!" ] sign test

All tests and relations of a branch are about the same node. `docs/guide/search.md` lists the signs and attributes.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from lexitree.errors import PatternError, Place
from lexitree.limits import cache_short_texts
from lexitree.tree_search.expressions import (
    ANY,
    COMPARISONS,
    COUNTS,
    KINDS,
    AllOf,
    AnyOf,
    CountTest,
    Expression,
    Glob,
    HeadTest,
    KindTest,
    NameTest,
    Not,
    ProbabilityTest,
    Related,
    TextTest,
    WordTest,
)
from lexitree.tree_search.node_facts import NodeFacts, lower_case
from lexitree.tree_search.relations import RELATIONS

MAX_PATTERN_CHARACTERS = 10_000
MAX_NESTING = 50
"""Longer and deeper patterns are an error."""

_TEXT_ATTRIBUTES = ("word", "head", "label", "category", "text")
_PROBABILITY = "p"


def _one_of(signs: tuple[str, ...]) -> str:
    """A regular expression for the longest of several signs."""
    return "|".join(map(re.escape, sorted(signs, key=len, reverse=True)))


_SPACE = re.compile(r"\s*+")
# A `$` ends a name, as in `PRP$`, unless another name follows at once: `NP$VP` is an NP with a sister.
_NAME = re.compile(r"[\w@*-](?>(?:[\w@*+'-]|\$(?![\w@*\"(-]))*)")
_STRING = re.compile(r'"((?>(?:[^"\\]|\\.)*))"', re.DOTALL)
_RELATION = re.compile(_one_of(tuple(RELATIONS)))
_RELATION_AHEAD = re.compile(rf"!?+\s*+(?:{_RELATION.pattern})")
_COMPARISON = re.compile(_one_of(COMPARISONS))
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?|\.\d{1,9}")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that has been read."""

    text: str
    expression: Expression

    def find(self, facts: NodeFacts) -> list[int]:
        """The nodes that match, in pre-order, in time linear in the tree for each part of the pattern.

        Raises:
            PatternError: The pattern asks for probabilities or head words, and there are none.
            TreeError: It is a dependency tree.
        """
        return self.expression.nodes(facts).nonzero()[0].tolist()


@cache_short_texts
def parse_pattern(text: str) -> Pattern:
    """Read a pattern.

    Raises:
        PatternError: It is malformed; the message points at the place.
    """
    return Pattern(text, _Reader(text).read())


class _Value(NamedTuple):
    """What stands after `=`, or a name: in quotes, asterisks are plain characters."""

    text: str
    is_quoted: bool

    def glob(self, *, lower: bool = False) -> Glob:
        text = lower_case(self.text) if lower else self.text
        return Glob((text,) if self.is_quoted else tuple(text.split(ANY)))


class _Reader:
    """Reads one pattern from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.nesting = 0

    def read(self) -> Expression:
        if len(self.text) > MAX_PATTERN_CHARACTERS:
            raise self._error(f"the pattern has more than {MAX_PATTERN_CHARACTERS:,} characters", at=0)
        found = self._alternatives()
        if self._is_ahead(")"):
            raise self._error("unmatched closing bracket")
        if self.place < len(self.text):
            raise self._error(
                "expected &, |, a relation or the end",
                remedy='Join tests with &. Put names with spaces or signs in quotes: "very negative".',
            )
        return found

    def _alternatives(self) -> Expression:
        parts = [self._branch()]
        while self._take("|"):
            parts.append(self._branch())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _branch(self) -> Expression:
        """Tests and relations of one node."""
        parts: list[Expression] = []
        while not parts or self._take("&") or self._relation_ahead():
            parts.append(self._relation() if self._relation_ahead() else self._test())
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _relation_ahead(self) -> bool:
        return self._match(_RELATION_AHEAD, take=False) is not None

    def _relation(self) -> Expression:
        is_negated = self._take("!")
        sign = self._match(_RELATION)
        assert sign is not None, "looked at before"
        related = Related(sign[0], self._test())
        return Not(related) if is_negated else related

    def _test(self) -> Expression:
        with self._nested():
            if self._take("!"):
                return Not(self._test())
            if self._is_ahead("("):
                return self._group()
            start = self.place
            value = self._value("a label, a test or a bracket")
            if value.is_quoted:
                return NameTest(value.glob())
            return self._attribute(value.text, start) or NameTest(value.glob())

    def _group(self) -> Expression:
        opening = self.place
        self._take("(")
        found = self._alternatives()
        if not self._take(")"):
            if self.place < len(self.text):
                raise self._error("expected &, |, a relation or )")
            raise self._error("this bracket is never closed", at=opening)
        return found

    def _attribute(self, name: str, start: int) -> Expression | None:
        """The rest of a test that begins with its name; None if it is the name of a label."""
        if name in KINDS:
            return KindTest(name)
        if name in _TEXT_ATTRIBUTES and (self._is_ahead("=") or self._is_ahead("~")):
            return self._text_attribute(name, self._place(start))
        if name in COUNTS and self._match(_COMPARISON, take=False):
            return CountTest(name, self._comparison(), self._number())
        if name == _PROBABILITY and self.text.startswith("(", self.place):
            return self._probability_of_label(self._place(start))
        if name == _PROBABILITY and self._match(_COMPARISON, take=False):
            return ProbabilityTest(self._comparison(), self._number(), self._place(start))
        return None

    def _text_attribute(self, name: str, place: Place) -> Expression:
        if self._is_ahead("~") and name != "text":
            raise self._error("only text can be compared with ~", remedy=f"Write {name}=*part* instead.")
        is_whole = self._take("=")
        if not is_whole:
            self._take("~")
        value = self._value("a word or a text in quotes")
        if name == "text":
            if not value.text:
                raise self._error("the text is empty")
            return TextTest(value.text, is_whole)
        if name == "word":
            return WordTest(value.glob(lower=True))
        if name == "head":
            return HeadTest(value.glob(lower=True), place)
        return NameTest(value.glob(), label=name == "label", category=name == "category")

    def _probability_of_label(self, place: Place) -> Expression:
        self._take("(")
        label = self._value("a label").text
        if not self._take(")"):
            raise self._error("expected )", remedy="Write p(negative)>0.5.")
        return ProbabilityTest(self._comparison(), self._number(), place, label)

    def _comparison(self) -> str:
        sign = self._match(_COMPARISON)
        if sign is None:
            raise self._error(f"expected one of {' '.join(COMPARISONS)}")
        return sign[0]

    def _number(self) -> float:
        digits = self._match(_NUMBER)
        if digits is None:
            raise self._error(
                "expected a number", remedy="To search for a label of that name, put it in quotes."
            )
        return float(digits[0])

    def _value(self, what: str) -> _Value:
        """A name, or anything in quotes."""
        if self._is_ahead('"'):
            quoted = self._match(_STRING)
            if quoted is None:
                raise self._error("this quote is never closed")
            return _Value(_ESCAPED.sub(r"\1", quoted[1]), is_quoted=True)
        name = self._match(_NAME)
        if name is None:
            ends = self.place >= len(self.text)
            raise self._error(
                f"expected {what}" + (", but the pattern ends" if ends else ""),
                remedy="" if ends else 'Put signs in quotes: ".".',
            )
        return _Value(name[0], is_quoted=False)

    @contextmanager
    def _nested(self) -> Generator[None]:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise self._error(f"the pattern is nested more than {MAX_NESTING} levels deep")
        yield
        self.nesting -= 1

    def _skip_space(self) -> None:
        found = _SPACE.match(self.text, self.place)
        assert found is not None, "it matches nothing at all, too"
        self.place = found.end()

    def _is_ahead(self, sign: str) -> bool:
        self._skip_space()
        return self.text.startswith(sign, self.place)

    def _take(self, sign: str) -> bool:
        """Whether a sign comes next; it is then passed."""
        is_ahead = self._is_ahead(sign)
        self.place += len(sign) * is_ahead
        return is_ahead

    def _match(self, expected: re.Pattern[str], *, take: bool = True) -> re.Match[str] | None:
        self._skip_space()
        found = expected.match(self.text, self.place)
        if found and take:
            self.place = found.end()
        return found

    def _place(self, at: int) -> Place:
        return Place("pattern", 0, at + 1, self.text)

    def _error(self, problem: str, *, at: int | None = None, remedy: str = "") -> PatternError:
        return PatternError(self._place(self.place if at is None else at), problem, remedy=remedy)
