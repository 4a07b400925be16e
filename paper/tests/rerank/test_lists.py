"""Lists of candidates are read as they come from any parser, and refused with the place of what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lexitree.errors import JsonLinesError, LexitreeError
from lexitree.parsers.protocol import Candidate
from lexitree.trees.brackets import ReadReport, tree_from_brackets
from lexitree.trees.jsonl import tree_to_json
from lexitree_paper.rerank.jackknife import list_to_json
from lexitree_paper.rerank.lists import CandidateList, ScoredTree, parse_list, read_lists

YES = "(S (INTJ (UH yes)) (. .))"
NO = "(S (UH yes) (. .))"
GOOD: dict[str, Any] = {
    "gold": YES,
    "candidates": [{"score": -2.0, "tree": YES}, {"score": -1, "tree": NO}],
}


def read(values: object) -> CandidateList:
    return parse_list(json.dumps(values), 7, "some.jsonl")


def test_a_list() -> None:
    found = read(GOOD)
    assert [candidate.score for candidate in found.candidates] == [-2.0, -1.0]
    assert found.gold == tree_from_brackets(YES)
    assert found.first == 1
    assert found.words == ("yes", ".")


def test_the_first_of_equal_scores_is_the_parsers_choice() -> None:
    tree = tree_from_brackets(YES)
    assert CandidateList((ScoredTree(tree, -1.0), ScoredTree(tree, -1.0))).first == 0


def test_what_our_own_parser_writes() -> None:
    tree = tree_from_brackets(YES)
    found = read({"parses": [{**tree_to_json(tree), "log_probability": -0.5}]})
    assert found.candidates == (ScoredTree(tree, -0.5),)
    assert found.gold is None


def test_what_jackknifing_writes() -> None:
    gold, other = tree_from_brackets(YES), tree_from_brackets(NO)
    line = list_to_json(gold, [Candidate(other, -0.25)], treebank="some")
    found = parse_list(line, 1, "lists.jsonl")
    assert (found.gold, found.candidates) == (gold, (ScoredTree(other, -0.25),))


def test_words_may_be_written_differently_and_gold_trees_may_have_traces() -> None:
    gold = "(S (NP-SBJ (-NONE- *)) (VP (-LRB- -LRB-) (VB go) (CD 1\\/2)))"
    found = read(
        {"gold": gold, "candidates": [{"score": 0, "tree": "(S (VP (-LRB- -LRB-) (VB go) (CD 1/2)))"}]}
    )
    assert found.words == ("-LRB-", "go", "1/2")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, '"candidates"'),
        ({"candidates": []}, '"candidates"'),
        ({"candidates": {"score": 1}}, '"candidates"'),
        ({"candidates": ["(S (NN a))"]}, "candidate 1 is not an object"),
        ({"candidates": [{"tree": YES}]}, 'candidate 1 has no number as its "score"'),
        ({"candidates": [{"score": "high", "tree": YES}]}, "candidate 1 has no number"),
        ({"candidates": [{"score": True, "tree": YES}]}, "candidate 1 has no number"),
        ({"candidates": [{"score": 10**400, "tree": YES}]}, "no finite number"),
        ({"candidates": [{"score": 0, "tree": "(S (NN a)"}]}, "candidate 1 is no tree"),
        ({"candidates": [{"score": 0, "tree": 5}]}, "candidate 1 is no tree"),
        ({"candidates": [{"score": 0}]}, "candidate 1 is no tree"),
        ({"candidates": [{"score": 0, "tree": {"words": ["a"], "parents": [-1]}}]}, "dependency tree"),
        ({"candidates": [{"score": 0, "tree": "(S (-NONE- *))"}]}, "only traces"),
        (
            {"candidates": [{"score": 0, "tree": YES}, {"score": 0, "tree": "(S (UH no) (. .))"}]},
            "word 1 is 'yes' in candidate 1, 'no' in candidate 2",
        ),
        (
            {"candidates": [{"score": 0, "tree": YES}, {"score": 0, "tree": "(S (UH yes))"}]},
            "candidate 2 has 1 words, candidate 1 has 2",
        ),
        ({**GOOD, "gold": "(S (UH no) (. .))"}, "'no' in the gold tree"),
        ({**GOOD, "gold": "(S"}, "the gold tree is no tree"),
        ([1], "one object"),
    ],
)
def test_what_is_damaged_is_named(values: object, said: str) -> None:
    with pytest.raises(JsonLinesError, match=r"some\.jsonl:7") as error:
        read(values)
    assert said in str(error.value)


@pytest.mark.parametrize("line", ["{", '{"candidates": [{"score": NaN}]}', '{"a": 1, "a": 2}'])
def test_what_is_no_json_is_named(line: str) -> None:
    with pytest.raises(JsonLinesError, match=r"some\.jsonl:7"):
        parse_list(line, 7, "some.jsonl")


def test_scores_must_be_numbers() -> None:
    with pytest.raises(JsonLinesError, match="finite"):
        CandidateList((ScoredTree(tree_from_brackets(YES), float("-inf")),))
    with pytest.raises(JsonLinesError, match="without candidates"):
        CandidateList(())


def test_files_are_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    bad = json.dumps({"candidates": [{"tree": YES}]})
    without_gold = json.dumps({"candidates": GOOD["candidates"]})
    path.write_text(f"{json.dumps(GOOD)}\n\n{bad}\n{without_gold}\n")
    with pytest.raises(LexitreeError, match=r"lists\.jsonl:3"):
        list(read_lists(path))
    report = ReadReport()
    assert len(list(read_lists(path, on_error="skip", report=report))) == 2
    assert (report.num_trees, report.num_errors) == (2, 1)
    report = ReadReport()
    assert len(list(read_lists(path, on_error="skip", needs_gold=True, report=report))) == 1
    assert [error.place.line for error in report.errors] == [3, 4]
