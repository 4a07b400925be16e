"""Write sentences in which the construction decides the label, with labelled phrases.

    python scripts/write_constructions.py runs/constructions
    lexitree data parse runs/constructions -o runs/parsed

A corpus has few sentences that say one thing and mean another, such as *I love it, but it broke.* The grammar in
`scripts/constructions/` writes many, from words and clauses whose label is known: its own lists, and those of the
training parts of SST and `domains` (below `--data` or $LEXITREE_DATA). Sentences of MAMS are added whose
conjunction decides between their aspects. The same sentences are written every time.

The output is a folder with the file `train.spans.jsonl`: texts and spans with labels. A phrase whose label is not
known has no span, and a text whose label is not known has none. Labels are `0` to `4`, as in SST, where the
strength is known, otherwise `negative` or `positive`. A recipe tells them apart by

    labels = { 0 = ["0"], 1 = ["1"], 2 = ["2"], 3 = ["3"], 4 = ["4"], negative = ["0", "1"], positive = ["3", "4"] }

In patterns, `{kind:a}` is a filler of side a, `{kind:b}` one of the other side, `{kind:p}` and `{kind:m}` a
positive and a negative one, `{kind}` one without a side. `[words|label]` is a phrase with a label: `a`, `b`, `p`
and `m` are the sides, `A`, `B`, `P` and `M` the same, very, and `a1`, `b1`, `p1` and `m1` the same, mildly; `n` is
neutral, `o` open. `a(n)` is an article. A pattern that begins with `+` or `-` is for that side alone.

No sentence and no clause of more than three words is written that the behaviour suite (tests/behaviour) or a file of
`--keep-out`, one sentence a line, also has. The program reports how many it left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, cast

from known_phrases import SIDE_OF, SIDES, Dice, Filler, KnownPhrases, coarse
from lexitree.writing import atomic_write

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))

from tests.behaviour.suite import all_cases  # noqa: E402

GRAMMAR = ROOT / "scripts" / "constructions"
COMMONPLACE_WORDS = 3
"""Clauses of so many words may occur anywhere."""
AROUND = (
    "{{handle}} {}",
    "RT {{handle}}: {}",
    "{} {{link}}",
    "{} {{tag}}",
    "{{tag}} {}",
    "{{handle}} {} {{link}}",
)
"""What stands around some sentences, and changes nothing; the first two before a sentence of any kind."""
AROUND_SHARE = 0.06

_PART = re.compile(r"\[|\|(\w+)\]|\{(\w+)(?::([abpm]))?\}|[^\[\]{}|]+")
_CLAUSE_END = re.compile(
    r"[.,;:!?()\"“”\[\]|]|\{[^}]*\}|\s-+\s|\b(?:but|yet|however|although|though|while|despite|because|and)\b"
)


class Span(NamedTuple):
    """A labelled part of a text, in characters."""

    start: int
    end: int
    label: str
    kind: str = ""


class Sentence(NamedTuple):
    """A text with labels; an empty label is none."""

    text: str
    label: str
    spans: tuple[Span, ...]
    construction: str

    def parts(self) -> Iterator[str]:
        """The text, and its longer phrases."""
        yield self.text
        phrases = (self.text[span.start : span.end] for span in self.spans)
        yield from (phrase for phrase in phrases if clauses_of(phrase))

    def as_json(self) -> str:
        label = {"label": self.label} if self.label else {}
        spans = [span._asdict() for span in self.spans]
        record = {"text": self.text, **label, "spans": spans, "construction": self.construction}
        return json.dumps(record, ensure_ascii=False) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, help="the folder to write")
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("LEXITREE_DATA"), help="has sst and domains"
    )
    parser.add_argument("--number", type=int, default=20_000, help="how many sentences to construct")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--keep-out", type=Path, nargs="*", default=[], metavar="FILE", help="further sentences"
    )
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the folder of the data: --data or $LEXITREE_DATA")
    kept_out = KeptOut([*suite_texts(), *(text for path in options.keep_out for text in read_lines(path))])
    constructions = read_grammar("constructions.toml")
    fillers = Fillers.read(read_grammar("fillers.toml"), options.data)
    num_fillers = len(fillers)
    fillers.leave_out(kept_out)
    written = [
        *Writer(fillers, options.seed).write(constructions, options.number),
        *decided_sentences(options.data),
    ]
    allowed = [sentence for sentence in written if not any(map(kept_out.shares, sentence.parts()))]
    options.output.mkdir(parents=True, exist_ok=True)
    with atomic_write(options.output / "train.spans.jsonl") as stream:
        stream.writelines(sentence.as_json() for sentence in allowed)
    num_constructions = len({sentence.construction for sentence in allowed})
    print(f"{options.output}: {len(allowed):,} sentences of {num_constructions} constructions")
    num_left_out = num_fillers - len(fillers)
    print(f"left out, as in the suite: {num_left_out:,} fillers, {len(written) - len(allowed):,} sentences")


def read_grammar(name: str) -> dict[str, Any]:
    return tomllib.loads((GRAMMAR / name).read_text(encoding="utf-8"))


class KeptOut:
    """Sentences that must not be trained on, nor any clause of them with more than three words."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.sentences: set[str] = set()
        self.clauses: set[str] = set()
        for text in texts:
            words = words_of(text)
            self.sentences.add(" ".join(words))
            self.clauses |= clauses_of(text)
            if len(words) > COMMONPLACE_WORDS:
                self.clauses.add(" ".join(words))
        self._joined = "\n".join(f" {words} " for words in sorted(self.sentences))
        self._lengths = sorted({len(clause.split()) for clause in self.clauses})

    def shares(self, text: str) -> bool:
        """Whether a text is one of the sentences, has one of their clauses, or one of its clauses is in them."""
        words = words_of(text)
        if " ".join(words) in self.sentences or any(
            f" {clause} " in self._joined for clause in clauses_of(text)
        ):
            return True
        return any(
            " ".join(words[start : start + length]) in self.clauses
            for length in self._lengths
            for start in range(len(words) - length + 1)
        )


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z0-9@#]+", text.lower().replace("'", "").replace("’", ""))


def clauses_of(text: str) -> set[str]:
    clauses = (words_of(part) for part in _CLAUSE_END.split(text.lower()))
    return {" ".join(words) for words in clauses if len(words) > COMMONPLACE_WORDS}


def suite_texts() -> Iterator[str]:
    """The sentences of the behaviour suite, and all strings of its files: templates, too, must be new to a model."""
    for case in all_cases():
        yield from case.texts
    for path in sorted((ROOT / "tests" / "behaviour").glob("*.toml")):
        yield from strings_in(tomllib.loads(path.read_text(encoding="utf-8")))


def strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in cast(dict[str, Any], value).values():
            yield from strings_in(part)
    elif isinstance(value, list):
        for part in cast(list[Any], value):
            yield from strings_in(part)


def read_lines(path: Path) -> list[str]:
    """The lines of a file, or their last columns."""
    return [line.split("\t")[-1] for line in path.read_text(encoding="utf-8").splitlines()]


class Fillers:
    """The fillers by topic ("" for any), kind and side (0 for those without one)."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str, int], list[Filler]] = defaultdict(list)
        self.topics: list[str] = []

    def __len__(self) -> int:
        return sum(map(len, self.found.values()))

    @classmethod
    def read(cls, grammar: Mapping[str, Any], data: Path) -> Fillers:
        """Read those of the grammar, and find others in the training data."""
        fillers = cls()
        known = KnownPhrases(data)
        fillers.topics = list(grammar["topics"])
        for topic, kinds in {"": grammar["kinds"], **grammar["topics"]}.items():
            for kind, given in kinds.items():
                fillers._add_kind(topic, kind, given, known.word_labels)
        for topic, kind, filler in known.fillers():
            fillers.found[topic, kind, filler.side].append(filler)
        return fillers

    def _add_kind(self, topic: str, kind: str, given: Any, word_labels: Mapping[str, str]) -> None:
        by_side = cast(dict[str, Any], given) if isinstance(given, dict) else {"": given}
        for name, listed in by_side.items():
            patterns: list[str] = listed.split() if isinstance(listed, str) else listed
            for pattern in patterns if name != "label" else ():
                for side in (1, -1) if name == "either" else (SIDES.get(name, 0),):
                    known = word_labels.get(pattern, "")
                    label = known if side and SIDE_OF.get(known) == side else coarse(side)
                    label = "" if "label" in by_side else "2" if name == "neutral" else label
                    self.found[topic, kind, side].append(Filler(pattern, side, label))

    def leave_out(self, kept_out: KeptOut) -> None:
        for key, listed in self.found.items():
            # Shorter fillers may occur anywhere.
            shared = {each for each in listed if clauses_of(each.pattern) and kept_out.shares(each.pattern)}
            self.found[key] = [each for each in listed if each not in shared]

    def of(self, topic: str, kind: str, sides: Collection[int]) -> list[Filler]:
        keys = product(("", topic), [kind], sides)
        found = [filler for key in keys for filler in self.found.get(key, ())]
        if not found:
            raise SystemExit(f"there is no filler {kind} for {topic} of side {sides}")
        return found


class Writer:
    """Fills the slots of patterns."""

    def __init__(self, fillers: Fillers, seed: int) -> None:
        self.fillers = fillers
        self.dice = Dice(seed)

    def write(self, grammar: Mapping[str, Mapping[str, Any]], number: int) -> Iterator[Sentence]:
        """About the same number of sentences of each construction; fewer where there are no more."""
        constructions = [
            (f"{family}.{name}", given) for family, names in grammar.items() for name, given in names.items()
        ]
        seen: set[str] = set()
        for place, (name, given) in enumerate(constructions):
            share = number * (place + 1) // len(constructions) - number * place // len(constructions)
            sides = {"+": [1], "-": [-1]}.get(given.get("sides", ""), [1, -1])
            for attempt in range(5 * share):
                sentence = self.sentence(name, given, sides[attempt % len(sides)], attempt)
                if share and sentence.text.lower() not in seen:
                    seen.add(sentence.text.lower())
                    share -= 1
                    yield sentence

    def sentence(self, name: str, given: Mapping[str, Any], side: int, attempt: int) -> Sentence:
        other = "- " if side > 0 else "+ "
        patterns = [
            pattern.removeprefix("+ ").removeprefix("- ")
            for pattern in given["patterns"]
            if pattern[:2] != other
        ]
        draft = Draft(self.dice.pick(given.get("topics", self.fillers.topics)), self)
        pattern, root = patterns[attempt // 2 % len(patterns)], given.get("root", "a")
        is_bare = root != "o" and not re.search(r"\{(?:handle|link|tag|headline)", pattern)
        if is_bare and self.dice.chance(AROUND_SHARE):
            around = AROUND[:2] if pattern[-1] in "?!" else AROUND
            pattern = self.dice.pick(around).format(f"[{pattern.rstrip('.')}|{root}]")
        draft.expand(pattern, side)
        text, spans = finish(draft.text, draft.spans)
        label = label_of(root, side)
        inner = (span for span in spans if not label or span.start > 0 or len(text) - span.end > 1)
        return Sentence(text, label, tuple(dict.fromkeys(inner)), name)


class Draft:
    """A sentence that is being written about one topic."""

    def __init__(self, topic: str, writer: Writer) -> None:
        self.topic, self.writer = topic, writer
        self.text = ""
        self.spans: list[Span] = []
        self.used: set[str] = set()

    def expand(self, pattern: str, side: int) -> None:
        """Append a pattern with its slots filled."""
        starts: list[int] = []
        for part in _PART.finditer(pattern):
            closing, kind, relative = part.groups()
            if part[0] == "[":
                starts.append(len(self.text))
            elif closing:
                self._label(starts.pop(), label_of(closing, side))
            elif kind:
                self._fill(kind, relative, side)
            else:
                self.text += part[0]

    def _fill(self, kind: str, relative: str | None, side: int) -> None:
        wanted = {"a": side, "b": -side, "p": 1, "m": -1, None: 0}[relative]
        sides = (1, -1) if kind.endswith("_amount") or kind.startswith("nuisance") else (0,)
        listed = self.writer.fillers.of(self.topic, kind, (wanted,) if wanted else sides)
        chosen = self.writer.dice.pick(listed)
        for _ in range(20):
            if chosen.pattern not in self.used or "{" in chosen.pattern:
                break
            chosen = self.writer.dice.pick(listed)
        self.used.add(chosen.pattern)
        start = len(self.text)
        self.expand(chosen.pattern, chosen.side)
        self._label(start, chosen.label)

    def _label(self, start: int, label: str) -> None:
        """Label the words from `start`, if a finer label has not been given."""
        end = len(self.text)
        if label and not any((span.start, span.end) == (start, end) for span in self.spans):
            self.spans.append(Span(start, end, label))


def label_of(code: str, side: int) -> str:
    """The label that a letter of the grammar means."""
    if code in "no":
        return "2" if code == "n" else ""
    meant = {"a": side, "b": -side, "p": 1, "m": -1}[code[0].lower()]
    if code.isupper():
        return "4" if meant > 0 else "0"
    return coarse(meant) if len(code) == 1 else "3" if meant > 0 else "1"


VOWEL = re.compile(r"(?!unique|univ|unit|use|eu|one\b)[aeiou]|hono|hour|8")
"""How words begin that have `an` before them."""


def finish(text: str, spans: Iterable[Span]) -> tuple[str, list[Span]]:
    """Choose articles and capitals."""
    found = list(spans)
    for article in reversed(list(re.finditer(r"\b([aA])\(n\)(?= (\w+))", text))):
        written = article[1] + "n" * bool(VOWEL.match(article[2].lower()))
        text = text[: article.start()] + written + text[article.end() :]
        longer = len(written) - len(article[0])
        found = [
            Span(
                span.start + longer * (span.start > article.start()),
                span.end + longer * (span.end > article.start()),
                span.label,
            )
            for span in found
        ]
    text = re.sub(r"(^|[?.!] )([a-z])(?!\w*[.:]\S)", lambda start: start[1] + start[2].upper(), text)
    return text, found


CONTRASTS = re.compile(r",? (?:but|yet|however),? ")
CONCEDED = re.compile(r"^(?:Although|Though|While|Even though) [^,]*(,) ")


def decided_sentences(data: Path) -> Iterator[Sentence]:
    """Sentences of MAMS with aspects of both sides, one on each side of a conjunction, which then decides."""
    path = data / "domains" / "mams" / "train.spans.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            record = json.loads(line)
            text, aspects = record["text"], record["spans"]
            joints = [*CONTRASTS.finditer(text)]
            conceded = CONCEDED.match(text)
            if len(joints) + bool(conceded) != 1 or text.count(",") + text.count(";") > 2:
                continue
            first, second = (conceded.start(1), conceded.end()) if conceded else joints[0].span()
            before = {span["label"] for span in aspects if span["end"] <= first} - {"neutral"}
            after = {span["label"] for span in aspects if span["start"] >= second} - {"neutral"}
            if len(before) == len(after) == 1 and before != after:
                (conceded_side,), (side,) = before, after
                clauses = (Span(0, first, conceded_side), Span(second, len(text.rstrip(".! ")), side))
                kept = (
                    Span(span["start"], span["end"], span["label"].replace("neutral", "2"), span["kind"])
                    for span in aspects
                )
                yield Sentence(text, side, (*clauses, *kept), "real.contrast")


if __name__ == "__main__":
    main()
