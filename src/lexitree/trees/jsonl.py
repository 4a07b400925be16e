"""Read and write trees as JSON Lines, which represent every tree exactly, whatever its words."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeGuard, cast

from lexitree.errors import JsonLinesError, OnError, Place, TreeError
from lexitree.files import display_name, read_lines
from lexitree.trees.brackets import ReadReport
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import NO_LABEL, Tree
from lexitree.trees.tree_limits import check_tree_size

MAX_JSON_CHARACTERS = 1 << 24
"""Longer objects are an error: once parsed, they take many times as much memory."""


class PhraseJson(TypedDict):
    """A phrase: `words[start:end]` and its label."""

    start: int
    end: int
    label: str
    word: NotRequired[int]
    """In a dependency tree, the word at this node."""


class TreeJson(TypedDict):
    """A tree: its words and all its phrases in pre-order, single words included."""

    words: list[str]
    phrases: list[PhraseJson]
    parents: NotRequired[list[int]]
    """In a dependency tree, the word that each word depends on, counted from 0; -1 for the root."""


def tree_to_json(tree: Tree) -> TreeJson:
    """Convert a tree to an object for JSON; callers may add keys to it and to its phrases."""
    triples = zip(tree.starts.tolist(), tree.ends.tolist(), tree.labels, strict=True)
    phrases = [PhraseJson(start=start, end=end, label=label) for start, end, label in triples]
    if not isinstance(tree, DependencyTree):
        return TreeJson(words=list(tree.words), phrases=phrases)
    for phrase, word in zip(phrases, tree.word_of.tolist(), strict=True):
        phrase["word"] = word
    return TreeJson(words=list(tree.words), parents=tree.word_parents, phrases=phrases)


def tree_from_json(obj: object) -> Tree:
    """Convert an object from `tree_to_json` back to a tree; unknown keys are ignored.

    With "parents" it is a dependency tree, whose "phrases" may be missing if it has no labels.

    Raises:
        TreeError: The object does not describe a tree.
    """
    if not _is_object(obj):
        raise TreeError('a tree must be an object {"words": [...], "phrases": [...]}')
    words, phrases = obj.get("words"), obj.get("phrases")
    if not _is_list(words) or not all(isinstance(word, str) for word in words):
        raise TreeError('"words" must be a list of strings')
    if "parents" in obj:
        return _dependency_tree(words, obj["parents"], obj.get("phrases", []))
    if not _is_list(phrases):
        raise TreeError('"phrases" must be a list of objects')
    spans = [_check_phrase(phrase, place) for place, phrase in enumerate(phrases)]
    return Tree.from_spans(words, [(start, end) for start, end, _ in spans], [label for _, _, label in spans])


def _dependency_tree(words: list[str], parents: object, phrases: object) -> DependencyTree:
    if not _is_list(parents) or not all(type(parent) is int for parent in parents):
        raise TreeError('"parents" must be a list of integers')
    if not _is_list(phrases):
        raise TreeError('"phrases" must be a list of objects')
    labels = [NO_LABEL] * len(words)
    for place, phrase in enumerate(phrases):
        word, label = (phrase.get("word"), phrase.get("label")) if _is_object(phrase) else (None, None)
        if type(word) is not int or not 0 <= word < len(words) or not isinstance(label, str):
            raise TreeError(
                f'phrase {place} of a dependency tree must be an object {{"word": integer, "label": string}}'
            )
        labels[word] = label
    return DependencyTree.from_parents(words, parents, labels)


def _check_phrase(phrase: object, place: int) -> tuple[int, int, str]:
    if _is_object(phrase):
        start, end, label = phrase.get("start"), phrase.get("end"), phrase.get("label")
        # `type` and not `isinstance`: true and false are not positions.
        if type(start) is int and type(end) is int and isinstance(label, str):
            return start, end, label
    raise TreeError(f'phrase {place} must be an object {{"start": integer, "end": integer, "label": string}}')


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def read_json_lines(
    path: str | Path,
    *,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    report: ReadReport | None = None,
) -> Iterator[Tree]:
    """Yield the trees of a JSON Lines file, holding one line in memory at a time; empty lines are skipped.

    Args:
        path: The file; `-` is standard input, and `.gz` is decompressed on the fly.
        encoding: Its encoding.
        on_error: Whether to "raise" at a malformed line or to "skip" it.
        report: Counts the trees and collects the errors that are skipped.

    Raises:
        JsonLinesError: A line is malformed.
        FileError: The file cannot be read.
    """
    report = report if report is not None else ReadReport()
    name = display_name(path)
    for number, line in read_lines(path, encoding):
        if not line.strip():
            continue
        report.line = number
        tree = report.attempt(on_error, _parse_line, line, number, name)
        if tree is not None:
            yield tree


def parse_json_line(line: str, number: int, name: str) -> dict[str, Any]:
    """Parse the object of one line strictly: NaN, infinite numbers, duplicate keys and endless nesting are errors."""
    if len(line) > MAX_JSON_CHARACTERS:
        raise JsonLinesError(Place(name, number), f"object of more than {MAX_JSON_CHARACTERS:,} characters")
    numbers = _Numbers()
    try:
        value = cast(
            object,
            json.loads(
                line,
                object_pairs_hook=_unique_keys,
                parse_constant=_refuse_constant,
                parse_float=numbers.read,
            ),
        )
    except json.JSONDecodeError as error:
        raise JsonLinesError(Place(name, number, error.colno, line), f"invalid JSON: {error.msg}") from error
    except RecursionError as error:
        raise JsonLinesError(Place(name, number), "JSON nested too deeply") from error
    except ValueError as error:
        raise JsonLinesError(Place(name, number), f"invalid JSON: {error}") from error
    if not _is_object(value):
        raise JsonLinesError(Place(name, number, 1, line), "expected one object {...} per line")
    if numbers.too_large:
        key = next(key for key, inner in value.items() if _holds_infinity(inner))
        problem = f"{key[:40]!r} holds a number that is too large: {numbers.too_large[:40]}"
        raise JsonLinesError(Place(name, number), problem)
    return value


def _parse_line(line: str, number: int, name: str) -> Tree:
    values = parse_json_line(line, number, name)
    try:
        check_tree_size(
            *(len(each) if _is_list(each := values.get(key)) else 0 for key in ("words", "phrases"))
        )
        return tree_from_json(values)
    except TreeError as error:
        raise JsonLinesError(Place(name, number), error.message, remedy=error.remedy) from error


class _Numbers:
    """Reads numbers with a fraction or an exponent, and remembers one that is too large."""

    def __init__(self) -> None:
        self.too_large = ""

    def read(self, digits: str) -> float:
        number = float(digits)
        if math.isinf(number):
            self.too_large = digits
        return number


def _holds_infinity(value: object) -> bool:
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, float) and math.isinf(found):
            return True
        if isinstance(found, list | dict):
            inner = cast(list[object] | dict[str, object], found)
            waiting.extend(inner.values() if isinstance(inner, dict) else inner)
    return False


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"duplicate key {key[:40]!r}")
    return values


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def write_json_lines(trees: Iterable[Tree], write: Callable[[str], object]) -> int:
    """Write trees as they come, one per line.

    Args:
        trees: The trees.
        write: Called with each line.

    Returns:
        The number of trees written.
    """
    num_trees = 0
    for tree in trees:
        write(json.dumps(tree_to_json(tree), ensure_ascii=False) + "\n")
        num_trees += 1
    return num_trees
