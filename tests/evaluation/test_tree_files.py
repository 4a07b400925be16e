"""Two files of trees: their scores, and the line of what does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.errors import BracketError, FileError, InputError
from lexitree.evaluation.bracket_score import score_brackets
from lexitree.evaluation.tree_files import score_tree_files
from lexitree.trees.brackets import read_trees

GOLD = "(S (NP (DT the) (NN film))\n   (VP (VBZ works)) (. .))\n\n(S (NP (PRP it)) (VP (VBZ is) (ADJP (JJ good))))\n"
GUESSED = (
    "(S (NP-SBJ (DT the) (NN film)) (VP (VBZ works)) (. .))\n(S (NP (PRP it)) (VP (VBZ is) (NP (JJ good))))\n"
)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "gold.txt", tmp_path / "mine.txt"
    paths[0].write_text(GOLD)
    paths[1].write_text(GUESSED)
    return paths


def test_the_scores_are_those_of_the_trees(files: tuple[Path, Path]) -> None:
    scores = score_tree_files(*files)
    assert scores.as_dict() == score_brackets(*map(read_trees, files)).as_dict()
    assert (scores.overall.matched, scores.overall.gold, scores.overall.complete_match) == (6, 7, 0.5)


def test_other_words_are_an_error_with_both_lines_or_a_fault(files: tuple[Path, Path]) -> None:
    gold, mine = files
    mine.write_text(GUESSED.replace("good", "bad"))
    with pytest.raises(InputError, match=r"mine.txt:2: word 3 is 'good' in the gold .*gold.txt:4") as caught:
        score_tree_files(gold, mine)
    assert caught.value.place.line == 2
    scores = score_tree_files(gold, mine, on_error="skip")
    assert scores.overall.num_errors == 1
    assert [fault.problem.startswith(f"{mine}:2: word 3") for fault in scores.faults] == [True]


def test_another_number_of_words_or_trees_is_an_error_with_the_line(files: tuple[Path, Path]) -> None:
    gold, mine = files
    mine.write_text(GUESSED.replace(" (JJ good)", " (JJ good) (JJ bad)"))
    with pytest.raises(InputError, match=r"mine.txt:2: the gold tree has 3 words, the predicted one 4"):
        score_tree_files(gold, mine)
    mine.write_text(GUESSED.splitlines()[0])
    for on_error in ("raise", "skip"):
        with pytest.raises(InputError, match=r"gold.txt:4: .*mine.txt has no tree for this one"):
            score_tree_files(gold, mine, on_error=on_error)
    with pytest.raises(InputError, match=r"gold.txt:4: .*mine.txt has no tree for this one"):
        score_tree_files(mine, gold)


def test_malformed_and_missing_files(files: tuple[Path, Path]) -> None:
    gold, mine = files
    mine.write_text("(S (NN a)\n")
    with pytest.raises(BracketError, match=r"mine.txt:1"):
        score_tree_files(gold, mine, on_error="skip")
    with pytest.raises(FileError, match=r"none.txt"):
        score_tree_files(gold, gold.with_name("none.txt"))
    for path in files:
        path.write_text("\n")
    with pytest.raises(FileError, match=r"has no trees"):
        score_tree_files(*files)
