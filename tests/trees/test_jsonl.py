from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given

from lexitree.errors import EncodingError, JsonLinesError, TreeError
from lexitree.trees.brackets import ReadReport, tree_from_brackets
from lexitree.trees.jsonl import read_json_lines, tree_from_json, tree_to_json, write_json_lines
from lexitree.trees.tree import Tree
from tests.strategies import any_text, trees

TREE = tree_from_brackets("(S (NN a) (VB b))")
LINE = (
    '{"words": ["a", "b"], "phrases": [{"start": 0, "end": 2, "label": "S"}, '
    '{"start": 0, "end": 1, "label": "NN"}, {"start": 1, "end": 2, "label": "VB"}]}'
)


@given(trees(labels=any_text(), words=any_text()))
def test_json_holds_every_tree_exactly(tree: Tree) -> None:
    lines: list[str] = []
    assert write_json_lines([tree], lines.append) == 1
    assert lines[0].count("\n") == 1
    lines[0].encode()
    assert tree_from_json(json.loads(lines[0])) == tree


@given(trees())
def test_more_keys_are_left_aside(tree: Tree) -> None:
    obj = tree_to_json(tree)
    more = {**obj, "label": "x", "phrases": [{**phrase, "probabilities": [0.5]} for phrase in obj["phrases"]]}
    assert tree_from_json(more) == tree


def test_the_format() -> None:
    assert json.dumps(tree_to_json(TREE)) == LINE


def read(path: Path, content: str | bytes, **options: object) -> list[Tree]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_json_lines(path, **options))  # type: ignore[arg-type]


def test_reading_files(tmp_path: Path) -> None:
    path = tmp_path / "trees.jsonl"
    assert read(path, f"{LINE}\r\n\n  \n{LINE}") == [TREE, TREE]
    assert read(path, "") == []
    assert read(path, "\ufeff" + LINE) == [TREE]
    assert read(path, LINE.encode("utf-16"), encoding="utf-16") == [TREE]
    with pytest.raises(EncodingError) as caught:
        read(path, LINE.encode() + b"\n\xff")
    assert caught.value.place.line == 2


def phrases(*spans: object) -> str:
    return json.dumps(
        {
            "words": ["a", "b"],
            "phrases": [dict(zip(("start", "end", "label"), span, strict=True)) for span in spans],
        }
    )  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("line", "column", "problem"),
    [
        ('{"words": [}', 12, "invalid JSON: Expecting value"),
        (LINE[:-1], len(LINE), "invalid JSON: Expecting ',' delimiter"),
        (LINE + "x", len(LINE) + 1, "invalid JSON: Extra data"),
        ("[" * 1_000_000, 0, "nested too deeply"),
        ('{"a":' * 1_000_000, 0, "nested too deeply"),
        ("[" * 100_000 + "]" * 100_000, 0, "nested too deeply"),
        ("[]", 1, "one object"),
        ("null", 1, "one object"),
        ('"text"', 1, "one object"),
        ('{"words": ["a"], "phrases": [], "score": NaN}', 0, "NaN is not a JSON number"),
        ('{"words": ["a"], "phrases": [], "score": -Infinity}', 0, "-Infinity is not a JSON number"),
        ('{"words": ["a"], "phrases": [], "score": ' + "9" * 5000 + "}", 0, "invalid JSON"),
        ('{"words": ["a"], "words": ["b"]}', 0, "duplicate key 'words'"),
        (
            '{"words": ["a"], "phrases": [{"start": 0, "start": 0, "end": 1, "label": "x"}]}',
            0,
            "duplicate key",
        ),
        ("{}", 0, '"words" must be'),
        ('{"words": "a", "phrases": []}', 0, '"words" must be'),
        ('{"words": [1], "phrases": []}', 0, '"words" must be'),
        ('{"words": ["a"]}', 0, '"phrases" must be'),
        ('{"words": ["a"], "phrases": {}}', 0, '"phrases" must be'),
        ('{"words": ["a"], "phrases": [7]}', 0, "phrase 0 must be"),
        ('{"words": [], "phrases": []}', 0, "at least one node"),
        (
            '{"words": ["\\ud800"], "phrases": [{"start": 0, "end": 1, "label": "x"}]}',
            0,
            "must be valid text",
        ),
        (phrases((0, 2, "S"), (0, 1.0, "x"), (1, 2, "x")), 0, "phrase 1 must be"),
        (phrases((0, 2, "S"), (False, True, "x"), (1, 2, "x")), 0, "phrase 1 must be"),
        (phrases((0, 2, None)), 0, "phrase 0 must be"),
        (phrases(("0", 2, "S")), 0, "phrase 0 must be"),
        (phrases((0, 10**40, "S")), 0, "outside of the sentence"),
        (phrases((0, 2, "S"), (1, 2, "x"), (0, 1, "x")), 0, "cross"),
        (phrases((0, 2, "S"), (0, 1, "x"), (0, 2, "x")), 0, "cross"),
    ],
)
def test_malformed_lines(tmp_path: Path, line: str, column: int, problem: str) -> None:
    path = tmp_path / "trees.jsonl"
    content = f"{LINE}\n{line}\n{LINE}\n"
    with pytest.raises(JsonLinesError) as caught:
        read(path, content)
    place = caught.value.place
    assert (place.path, place.line, place.column) == (str(path), 2, column)
    assert problem in caught.value.problem
    assert len(str(caught.value)) < 2000
    report = ReadReport()
    assert read(path, content, on_error="skip", report=report) == [TREE, TREE]
    assert (report.num_trees, report.num_errors) == (2, 1)


def test_wrong_objects_in_memory_are_tree_errors() -> None:
    for obj in (None, [], {"words": ["a"], "phrases": [{"start": 0}]}):
        with pytest.raises(TreeError):
            tree_from_json(obj)


def test_a_chain_of_50_000_words() -> None:
    num_words = 50_000
    chain = Tree([2] * (num_words - 1) + [0] * num_words, ["x"] * (2 * num_words - 1), ["w"] * num_words)
    assert tree_from_json(tree_to_json(chain)) == chain
