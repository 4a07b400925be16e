"""`lexitree predict`: every form of output, from files and from standard input."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

from lexitree.trees.brackets import read_trees
from lexitree.trees.jsonl import read_json_lines
from tests.cli.conftest import SENTENCE, Call, assert_users_error


def test_predict_jsonl_from_a_file_and_from_standard_input(
    call: Call, saved_model: Path, treebank: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl"
    assert call("predict", saved_model, treebank / "test.txt", "-o", output) == (0, "", "")
    trees = list(read_json_lines(output))
    assert [tree.words for tree in trees] == [tree.words for tree in read_trees(treebank / "test.txt")]
    piped = call("predict", saved_model, stdin=(treebank / "test.txt").read_text())
    assert piped.out == output.read_text()
    first = json.loads(piped.out.splitlines()[0])
    assert first["phrases"][0]["head"] in first["words"]


def test_predict_reads_several_files_and_json(call: Call, saved_model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(SENTENCE)
    call("trees", "convert", tmp_path / "a.txt", "-o", tmp_path / "b.jsonl")
    found = call("predict", saved_model, tmp_path / "a.txt", tmp_path / "b.jsonl").out.splitlines()
    assert len(found) == 2
    assert json.loads(found[0]) == json.loads(found[1])


def test_predict_brackets(call: Call, saved_model: Path) -> None:
    found = call("predict", saved_model, "-f", "brackets", stdin=SENTENCE)
    assert re.fullmatch(
        r"\(1 \([01] \([01] the\) \([01] film\)\) \(1 \([01] is\) \(1 good\)\)\)\n", found.out
    )
    root = call("predict", saved_model, "-f", "brackets", "--nodes", "root", stdin=SENTENCE)
    assert root.out == "(1 (_ (_ the) (_ film)) (_ (_ is) (_ good)))\n"


def test_predict_draws(call: Call, saved_model: Path) -> None:
    drawn = call("predict", saved_model, "-f", "draw", stdin=SENTENCE).out.splitlines()
    assert re.fullmatch(r"1 [01]\.\d\d ← (the|film|is|good)", drawn[0])
    assert len(drawn) == 8
    root = call("predict", saved_model, "-f", "draw", "--nodes", "root", stdin=SENTENCE).out.splitlines()
    assert re.fullmatch(r"1 [01]\.\d\d", root[0])


def test_predict_skips_and_says_so(call: Call, saved_model: Path) -> None:
    found = call("predict", saved_model, "--on-error", "skip", stdin=f"{SENTENCE}(_ (_ a)\n{SENTENCE}")
    assert found.code == 0
    assert len(found.out.splitlines()) == 2
    assert "skipped 1 malformed trees" in found.err
    assert "<standard input>:2" in found.err


def test_predict_of_nothing(call: Call, saved_model: Path) -> None:
    assert call("predict", saved_model) == (0, "", "")


def test_predict_svg(call: Call, saved_model: Path, tmp_path: Path) -> None:
    picture = tmp_path / "two.svg"
    assert call("predict", saved_model, "-o", picture, stdin=SENTENCE * 2) == (0, "", "")
    text = picture.read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert text.count("<title>") == 14
    assert "head: " in text
    printed = call("predict", saved_model, "-f", "svg", stdin=SENTENCE * 2).out
    assert printed == text
    root = call("predict", saved_model, "-f", "svg", "--nodes", "root", stdin=SENTENCE).out
    assert root.count("no label") == 6


def test_the_weights_of_all_words(call: Call, saved_model: Path) -> None:
    (line,) = call("predict", saved_model, "--head-weights", stdin=SENTENCE).out.splitlines()
    for phrase in json.loads(line)["phrases"]:
        assert len(phrase["head_weights"]) == phrase["end"] - phrase["start"]
        assert abs(sum(phrase["head_weights"]) - 1) < 1e-4
    for options, problem in (
        (("-f", "draw"), "--head-weights is for JSON, not for tree"),
        (("--nodes", "root"), "which --nodes root does not give"),
    ):
        assert_users_error(call("predict", saved_model, "--head-weights", *options, stdin=SENTENCE), problem)


def test_a_model_without_heads_has_no_weights(call: Call, dependency_run: Path) -> None:
    refused = call("predict", dependency_run / "model", "--head-weights", stdin=SENTENCE)
    assert_users_error(refused, "models with heads, and deptree has none")
