"""Compares the answers of two checkouts: everything that differs is found, and counted as a tie if it was close."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest
from typing import Any, NamedTuple

import numpy as np
from answer_files import Answers, Array

MOST_LISTED = 5
"""How many differences of a kind are printed in full."""
LOG_TOLERANCE = 1e-4
"""For the log probabilities of trees, which are sums of float32 scores: that of the parser's tests."""

Spans = list[list[int]]
Candidates = Sequence[Sequence[tuple[str, float]]]


class HeadDispute(NamedTuple):
    """A phrase for which the checkouts name different heads."""

    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """Those of all nodes of its tree; none if it is not binary, and no margin is known."""
    node: int
    """Where the ways to the two heads part."""
    said: str


class ParseDispute(NamedTuple):
    """A sentence with two parses."""

    expected: str
    found: str
    said: str


@dataclass
class Report:
    """What was compared, and what differs."""

    counts: Counter[str] = field(default_factory=Counter[str])
    """How many things of each kind were compared."""
    differences: Counter[str] = field(default_factory=Counter[str])
    ties: Counter[str] = field(default_factory=Counter[str])
    listed: list[str] = field(default_factory=list[str])
    largest: dict[str, float] = field(default_factory=dict[str, float])
    """The largest difference between numbers of each kind."""
    heads: list[HeadDispute] = field(default_factory=list[HeadDispute])
    parses: list[ParseDispute] = field(default_factory=list[ParseDispute])

    @property
    def passes(self) -> bool:
        """Whether something was compared, and nothing differs but ties."""
        return bool(self.counts) and not self.differences

    def differs(self, kind: str, said: str, number: int = 1) -> None:
        """Note a difference, or the first of several."""
        self.differences[kind] += number
        if self.differences[kind] - number < MOST_LISTED:
            self.listed.append(f"{kind}: {said}")

    def compare_numbers(
        self, kind: str, expected: Array, found: Array, tolerance: float, say: Callable[[int], str]
    ) -> None:
        """Compare row by row; `say` tells where a row is."""
        self.counts[kind] += len(expected)
        if not len(expected):
            return
        gaps = np.abs(expected - found).reshape(len(expected), -1).max(1)
        # A number that is none is never close to another.
        wrong = np.flatnonzero(~(gaps <= tolerance))
        self.largest[kind] = max(self.largest.get(kind, 0.0), float(gaps.max()))
        for row in wrong[:MOST_LISTED].tolist():
            self.differs(kind, f"{say(row)}: {_shown(found[row])}, not {_shown(expected[row])}")
        self.differences.update({kind: len(wrong) - MOST_LISTED} if len(wrong) > MOST_LISTED else {})


def _shown(numbers: Any) -> str:
    return np.array2string(np.asarray(numbers), precision=7, threshold=8)


def compare_answers(report: Report, name: str, expected: Answers, found: Answers, tolerance: float) -> None:
    """Compare sentence by sentence and node by node; close choices of heads and parses are left to `judge`."""
    if not np.array_equal(expected.texts, found.texts):
        at = _first_difference(expected.texts, found.texts)
        report.differs("sentences", f"{name}: other sentences from text {at} on")
        return
    report.counts["sentences"] += len(expected.words)
    report.counts["parses"] += sum(map(bool, expected.parses))
    spans = [_spans_of_sentences(each) for each in (expected, found)]
    same = [
        number
        for number, both in enumerate(zip(*spans, strict=True))
        if _is_same(report, name, expected, found, number, *both)
    ]
    _compare_nodes(report, name, _part(expected, same), _part(found, same), tolerance)


def _first_difference(expected: Array, found: Array) -> int:
    shared = min(len(expected), len(found))
    differing = np.flatnonzero(expected[:shared] != found[:shared])
    place = int(differing[0]) if len(differing) else max(shared - 1, 0)
    return int(min(each[place] for each in (expected, found) if len(each) > place))


def _spans_of_sentences(answers: Answers) -> list[Spans]:
    """By sentence: the first word of each node and the word after its last."""
    spans: Spans = answers.nodes[:, :2].tolist()
    borders: list[int] = [0, *np.cumsum(answers.num_nodes).tolist()]
    return [spans[first:last] for first, last in pairwise(borders)]


def _is_same(
    report: Report, name: str, expected: Answers, found: Answers, number: int, spans: Spans, others: Spans
) -> bool:
    """Whether a sentence has the same tree from both, so that its nodes can be compared."""
    words, parse = expected.words[number], expected.parses[number]
    said = f"{name} {number}, {' '.join(words)[:60]!r}"
    if words != found.words[number]:
        report.differs("words", f"{said}: {list(found.words[number])}, not {list(words)}")
    elif parse != found.parses[number]:
        report.parses.append(ParseDispute(parse, found.parses[number], said))
    elif spans != others:
        node = next(node for node, (own, other) in enumerate(zip_longest(spans, others)) if own != other)
        own, other = (
            " ".join(words[slice(*each[node])]) if node < len(each) else None for each in (spans, others)
        )
        report.differs("binary trees", f"{said}: node {node} is {other!r}, not {own!r}")
    else:
        return True
    return False


class _Part(NamedTuple):
    """Some of the sentences."""

    words: list[tuple[str, ...]]
    numbers: list[int]
    places: Array
    first: Array
    """Where the nodes of each sentence begin."""
    num_nodes: Array
    nodes: Array
    shares: Array
    probabilities: Array


def _part(answers: Answers, numbers: list[int]) -> _Part:
    chosen = np.zeros(len(answers.words), dtype=bool)
    chosen[numbers] = True
    rows = np.repeat(chosen, answers.num_nodes)
    lengths = np.array([len(words) for words in answers.words], dtype=np.int64)
    has_places = len(answers.places) == lengths.sum()
    sizes = answers.num_nodes[chosen]
    return _Part(
        [answers.words[number] for number in numbers],
        numbers,
        answers.places[np.repeat(chosen, lengths)] if has_places else answers.places[:0],
        np.cumsum(sizes) - sizes,
        sizes,
        answers.nodes[rows],
        answers.shares[rows],
        answers.probabilities[rows],
    )


def _compare_nodes(report: Report, name: str, expected: _Part, found: _Part, tolerance: float) -> None:
    def say(row: int) -> str:
        number = int(np.searchsorted(expected.first, row, side="right")) - 1
        start, end = expected.nodes[row, :2].tolist()
        words, node = expected.words[number], row - int(expected.first[number])
        phrase = " ".join(words[start:end])
        return f"{name} {expected.numbers[number]}, node {node}, {phrase[:40]!r}"

    if not np.array_equal(expected.places, found.places):
        report.differs("places of words", f"{name}: {_num_unlike(expected.places, found.places)} words")
    if expected.probabilities.shape != found.probabilities.shape:
        shapes = found.probabilities.shape, expected.probabilities.shape
        report.differs("probabilities", f"{name}: {shapes[0]} numbers, not {shapes[1]}")
        return
    report.compare_numbers("probabilities", expected.probabilities, found.probabilities, tolerance, say)
    _compare_labels(report, expected, found, tolerance, say)
    same_head = expected.nodes[:, 3] == found.nodes[:, 3]
    report.counts["heads"] += len(same_head)
    for row in np.flatnonzero(~same_head).tolist():
        report.heads.append(_head_dispute(expected, found, row, say))
    rows = np.flatnonzero(same_head)
    report.compare_numbers(
        "heads' shares", expected.shares[rows], found.shares[rows], tolerance, lambda row: say(int(rows[row]))
    )


def _num_unlike(expected: Array, found: Array) -> int:
    return int((expected != found).sum()) if len(expected) == len(found) else abs(len(expected) - len(found))


def _compare_labels(
    report: Report, expected: _Part, found: _Part, tolerance: float, say: Callable[[int], str]
) -> None:
    report.counts["labels"] += len(expected.nodes)
    for row in np.flatnonzero(expected.nodes[:, 2] != found.nodes[:, 2]).tolist():
        label, other = int(expected.nodes[row, 2]), int(found.nodes[row, 2])
        margin = abs(float(expected.probabilities[row, label] - expected.probabilities[row, other]))
        if margin <= tolerance:
            report.ties["labels"] += 1
        else:
            report.differs("labels", f"{say(row)}: label {other}, not {label}, by a margin of {margin:.1e}")


def _head_dispute(expected: _Part, found: _Part, row: int, say: Callable[[int], str]) -> HeadDispute:
    """Follow the way to the yardstick's head as long as it leads to the other head too."""
    number = int(np.searchsorted(expected.first, row, side="right")) - 1
    first = int(expected.first[number])
    tree = expected.nodes[first : first + int(expected.num_nodes[number])]
    starts, ends = tree[:, 0], tree[:, 1]
    head, other = int(expected.nodes[row, 3]), int(found.nodes[row, 3])
    node = row - first
    words = expected.words[number]
    said = f"{say(row)}: head {other} {_word(words, other)}, not {head} {_word(words, head)}"
    # Without unary phrases, a binary tree has exactly so many nodes.
    if len(tree) != 2 * len(words) - 1 or (tree[1:, :2] == tree[:-1, :2]).all(1).any():
        return HeadDispute(words, (), node, said)
    while True:
        # In pre-order, the left part comes next, and the right part after all nodes of the left one.
        left = node + 1
        right = left + 2 * int(ends[left] - starts[left]) - 1
        chosen = left if head < ends[left] else right
        if not starts[chosen] <= other < ends[chosen]:
            break
        node = chosen
    spans = tuple((int(start), int(end)) for start, end in zip(starts, ends, strict=True))
    return HeadDispute(words, spans, node, said)


def _word(words: Sequence[str], place: int) -> str:
    return repr(words[place]) if 0 <= place < len(words) else "(none)"


def judge(
    report: Report, head_margins: Sequence[float], parse_margins: Sequence[float], tolerance: float
) -> None:
    """Say of each disputed head and parse whether it is a tie, from the margins of the yardstick."""
    for kind, disputes, margins in (
        ("heads", report.heads, head_margins),
        ("parses", report.parses, parse_margins),
    ):
        for dispute, margin in zip(disputes, margins, strict=True):
            if margin <= tolerance:
                report.ties[kind] += 1
                continue
            more = (
                f"\n    {dispute.found}\n    not {dispute.expected}"
                if isinstance(dispute, ParseDispute)
                else ""
            )
            report.differs(kind, f"{dispute.said}, by a margin of {margin:.1e}{more}")


def compare_scores(
    report: Report,
    expected: Mapping[str, Mapping[str, float]],
    found: Mapping[str, Mapping[str, float]],
    sizes: Mapping[str, int],
) -> None:
    """Compare the scores on treebanks of these sizes: equal, but for the sentences that were ties."""
    num_ties = report.ties.total()
    for bank, name, score in _flat(expected):
        report.counts["scores"] += 1
        other = found.get(bank, {}).get(name, float("nan"))
        if not abs(score - other) <= 1e-12 + num_ties / sizes[bank]:
            report.differs("scores", f"{bank}, {name}: {other}, not {score}")


def _flat(scores: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[str, str, float]]:
    for bank, values in scores.items():
        for name, value in values.items():
            yield bank, name, value


def compare_lists(report: Report, expected: Candidates, found: Candidates) -> None:
    """Compare lists of the best trees rank by rank; trees of the same probability may change places."""
    if len(expected) != len(found):
        report.differs("k-best lists", f"{len(found)} lists, not {len(expected)}")
        return
    for number, (ours, theirs) in enumerate(zip(expected, found, strict=True)):
        report.counts["k-best lists"] += 1
        said = f"sentence {number}"
        if len(ours) != len(theirs):
            report.differs("k-best lists", f"{said}: {len(theirs)} trees, not {len(ours)}")
            continue
        chances = dict(ours)
        for rank, ((tree, chance), (other, other_chance)) in enumerate(zip(ours, theirs, strict=True)):
            gap = abs(chance - other_chance)
            self_gap = abs(chances.get(other, ours[-1][1]) - chance)
            report.largest["k-best lists"] = max(report.largest.get("k-best lists", 0.0), gap)
            if not gap <= LOG_TOLERANCE:
                said_chances = f"log probability {other_chance:.6f}, not {chance:.6f}"
                report.differs("k-best lists", f"{said}, rank {rank}: {said_chances}")
            elif tree != other and self_gap > LOG_TOLERANCE:
                report.differs("k-best lists", f"{said}, rank {rank}:\n    {other}\n    not {tree}")
            elif tree != other:
                report.ties["k-best lists"] += 1


def compare_gradients(
    report: Report, expected: Mapping[str, Array], found: Mapping[str, Array], tolerance: float
) -> None:
    """Compare losses and gradients by their names."""
    for name in _shared(report, expected, found):
        gap = float(np.abs(found[name] - expected[name]).max(initial=0))
        report.largest["gradients"] = max(report.largest.get("gradients", 0.0), gap)
        if not gap <= tolerance:
            report.differs("gradients", f"{name}: differs by {gap:.1e}")


def compare_rounding(
    report: Report, exact: Mapping[str, Array], expected: Mapping[str, Array], found: Mapping[str, Array]
) -> None:
    """Compare gradients in float32: at most twice the yardstick's error against float64, and one rounding.

    The error of a model is the root mean square of the relative errors of its loss and gradients. A few numbers can
    be right by luck, so the yardstick's error is at least that over all models.
    """
    names = _shared(report, expected, found)
    errors = [_errors_by_case(exact, each, names) for each in (expected, found)]
    overall = _root_mean_square([error for case in errors[0].values() for error in case])
    for case, own in errors[1].items():
        error, allowed = _root_mean_square(own), 2 * max(overall, _root_mean_square(errors[0][case]))
        report.largest["gradients"] = max(report.largest.get("gradients", 0.0), error)
        if not error <= allowed + float(np.finfo(np.float32).eps):
            report.differs("gradients", f"{case}: relative error {error:.1e}, where {allowed:.1e} is allowed")


def _shared(report: Report, expected: Mapping[str, Array], found: Mapping[str, Array]) -> list[str]:
    """The names of losses and gradients that both have in one shape; the others are differences."""
    asked = [each for each in expected if "/weight of " not in each]
    for name in sorted(set(asked) ^ {each for each in found if "/weight of " not in each}):
        report.differs("gradients", f"{name}: {'missing' if name in expected else 'unknown'}")
    shared = [name for name in asked if name in found]
    for name in shared:
        if expected[name].shape != found[name].shape:
            report.differs("gradients", f"{name}: of shape {found[name].shape}, not {expected[name].shape}")
    report.counts["gradients"] += len(shared)
    return [name for name in shared if expected[name].shape == found[name].shape]


def _errors_by_case(
    exact: Mapping[str, Array], found: Mapping[str, Array], names: Sequence[str]
) -> dict[str, list[float]]:
    errors: dict[str, list[float]] = {}
    for name in names:
        length = max(float(np.linalg.norm(exact[name])), 1e-12)
        gap = float(np.linalg.norm(found[name] - exact[name]))
        errors.setdefault(name.partition("/")[0], []).append(gap / length)
    return errors


def _root_mean_square(errors: Sequence[float]) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))
