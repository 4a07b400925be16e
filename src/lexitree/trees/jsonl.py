"""JSON Lines in, trees out, and back: one object a line that holds every tree exactly, whatever its words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeGuard, cast

from lexitree.errors import JsonLinesError, OnError, Place, TreeError
from lexitree.files import display_name, read_lines
from lexitree.trees.brackets import ReadReport
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import NO_LABEL, Tree


class PhraseJson(TypedDict):
    """A phrase: `words[start:end]` and its label."""

    start: int
    end: int
    label: str
    word: NotRequired[int]
    """In a dependency tree, which of the words stands at this node."""


class TreeJson(TypedDict):
    """A tree: its words and all its phrases in pre-order, single words included."""

    words: list[str]
    phrases: list[PhraseJson]
    parents: NotRequired[list[int]]
    """In a dependency tree, the word that each word depends on, from 0; -1 for the root."""


def tree_to_json(tree: Tree) -> TreeJson:
    """The tree as an object for JSON; more keys may be added to it and to its phrases."""
    triples = zip(tree.starts.tolist(), tree.ends.tolist(), tree.labels, strict=True)
    phrases = [PhraseJson(start=start, end=end, label=label) for start, end, label in triples]
    if not isinstance(tree, DependencyTree):
        return TreeJson(words=list(tree.words), phrases=phrases)
    for phrase, word in zip(phrases, tree.word_of.tolist(), strict=True):
        phrase["word"] = word
    return TreeJson(words=list(tree.words), parents=tree.word_parents, phrases=phrases)


def tree_from_json(obj: object) -> Tree:
    """The tree of an object as `tree_to_json` gives it; keys that are not known are left aside.

    With "parents" it is a dependency tree, whose "phrases" may be missing where there are no labels.
    """
    if not _is_object(obj):
        raise TreeError('a tree is an object {"words": [...], "phrases": [...]}')
    words, phrases = obj.get("words"), obj.get("phrases")
    if not _is_list(words) or not all(isinstance(word, str) for word in words):
        raise TreeError('"words" must be a list of texts')
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
                f'phrase {place} of a dependency tree must be an object {{"word": integer, "label": text}}'
            )
        labels[word] = label
    return DependencyTree.from_parents(words, parents, labels)


def _check_phrase(phrase: object, place: int) -> tuple[int, int, str]:
    if _is_object(phrase):
        start, end, label = phrase.get("start"), phrase.get("end"), phrase.get("label")
        # `type` and not `isinstance`: true and false are no places in a sentence.
        if type(start) is int and type(end) is int and isinstance(label, str):
            return start, end, label
    raise TreeError(f'phrase {place} must be an object {{"start": integer, "end": integer, "label": text}}')


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
    """Yield the trees of a JSON Lines file (`-` is standard input), holding one line in memory at a time.

    Empty lines are passed over. With `on_error="skip"` so are malformed ones; `report.errors` lists them.
    """
    report = report if report is not None else ReadReport()
    name = display_name(path)
    for number, line in read_lines(path, encoding):
        if not line.strip():
            continue
        try:
            tree = _parse_line(line, number, name)
        except JsonLinesError as error:
            report.note(error, on_error)
            continue
        report.num_trees += 1
        yield tree


def parse_json_line(line: str, number: int, name: str) -> dict[str, Any]:
    """The object of one line, read strictly: no NaN, no key twice, no nesting without end."""
    try:
        value = cast(
            object, json.loads(line, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
        )
    except json.JSONDecodeError as error:
        raise JsonLinesError(Place(name, number, error.colno, line), f"not JSON: {error.msg}") from error
    except RecursionError as error:
        raise JsonLinesError(Place(name, number), "JSON nested too deeply") from error
    except ValueError as error:
        raise JsonLinesError(Place(name, number), f"not JSON: {error}") from error
    if not _is_object(value):
        raise JsonLinesError(Place(name, number, 1, line), "a line must hold one object {...}")
    return value


def _parse_line(line: str, number: int, name: str) -> Tree:
    try:
        return tree_from_json(parse_json_line(line, number, name))
    except TreeError as error:
        raise JsonLinesError(Place(name, number), error.message) from error


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {key[:40]!r} stands there more than once")
    return values


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def write_json_lines(trees: Iterable[Tree], write: Callable[[str], object]) -> int:
    """Write trees one a line as they come; the number written."""
    num_trees = 0
    for tree in trees:
        write(json.dumps(tree_to_json(tree), ensure_ascii=False) + "\n")
        num_trees += 1
    return num_trees
