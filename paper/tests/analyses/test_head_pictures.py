"""Pictures have names of their own and show the words, the labels and the heads."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import trees

from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from lexitree_paper.analyses.head_pictures import MAX_NAME_CHARACTERS, analyse_pictures, picture_names
from lexitree_paper.analyses.job import Job
from lexitree_paper.experiments import find_experiment
from lexitree_paper.runner import Settings, watch_nothing


@given(st.lists(trees(), max_size=6))
def test_names_differ_and_are_names_of_files(forest: list[Tree]) -> None:
    names = picture_names([*forest, *forest])
    assert len(set(names)) == len(names) == 2 * len(forest)
    for name in names:
        assert re.fullmatch(r"heads(-[a-z0-9]+)*", name)
        assert len(name) <= MAX_NAME_CHARACTERS + 4


def test_names_are_of_the_first_words() -> None:
    sentences = [
        "(_ (_ Not) (_ bad))",
        "(_ (_ not) (_ bad))",
        "(_ (_ 不) (_ 错))",
        "(_ (_ not) (_ (_ bad) (_ 2)))",
    ]
    assert picture_names([tree_from_brackets(text) for text in sentences]) == [
        "heads-not-bad",
        "heads-not-bad-2",
        "heads",
        "heads-not-bad-2-2",
    ]


def test_the_papers_phrases_and_those_given(smoke_runs: Path, tmp_path: Path) -> None:
    given_tree = "(_ (_ the) (_ film) (_ (_ is) (_ (_ <good>) (_ .))))"
    settings = Settings(
        folder=smoke_runs, results=tmp_path, smoke=True, sentences=[given_tree], pictures=tmp_path / "drawn"
    )
    found = analyse_pictures(Job(find_experiment("head-pictures"), settings, watch_nothing))
    assert sorted(found.pictures) == sorted(path.name for path in (tmp_path / "drawn").iterdir())
    assert len(found.pictures) == 4
    for entry in found.figures["sentences"]:
        tree = tree_from_brackets(entry["tree"])
        root = ElementTree.parse(tmp_path / "drawn" / entry["picture"]).getroot()
        texts = [element.text for element in root.iter() if element.tag.endswith("text")]
        assert set(tree.words) <= set(texts)
        assert "very positive" in texts
        assert entry["head"] in tree.words
        assert entry["heads_by_seed"] == {"1": entry["head"]}
        assert entry["phrases"][0]["head"] == entry["head"]
        # Every phrase shows a head, which is one of its words.
        assert all(phrase["head"] in phrase["words"].split() for phrase in entry["phrases"])
