"""Dependency trees: from parents and back, spans and labels against brute force, and every fault with its line."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.errors import DependencyError, FileError, JsonLinesError, TreeError
from lexitree.trees.binarize import binarize, collapse_unary, to_binary
from lexitree.trees.brackets import ReadReport, tree_from_brackets, tree_to_brackets
from lexitree.trees.dependencies import DependencyTree, head_final, label_by_spans, read_dependencies
from lexitree.trees.head_rules import head_words
from lexitree.trees.jsonl import read_json_lines, tree_from_json, tree_to_json
from lexitree.trees.tree import Tree
from lexitree.views.outline import draw_tree
from tests.strategies import dependency_trees, trees

FILM = DependencyTree.from_parents(["the", "film", "works"], [1, 2, -1], ["a", "b", "c"])
CROSSING = DependencyTree.from_parents(["A", "hearing", "is", "today", "on", "it"], [1, 2, -1, 2, 1, 4])
"""`on it` belongs to `hearing`, with the root in between."""


def words_below(parents: list[int], word: int) -> set[int]:
    """A word and all from which the way up leads to it."""
    below: set[int] = set()
    for start in range(len(parents)):
        above = start
        while above not in (word, -1):
            above = parents[above]
        if above == word:
            below.add(start)
    return below


def test_the_example_of_the_docstring() -> None:
    assert FILM.arity.tolist() == [1, 1, 0]
    assert FILM.word_of.tolist() == [2, 1, 0]
    assert FILM.spans == [(0, 3), (0, 2), (0, 1)]
    assert FILM.labels == ("c", "b", "a")
    assert FILM.label == "c"
    assert FILM.node_words == ("works", "film", "the")
    assert FILM.leaves.tolist() == [2, 1, 0]


def test_a_tree_that_is_not_projective() -> None:
    hearing = CROSSING.node_words.index("hearing")
    assert CROSSING.spans[hearing] == (0, 6)
    assert CROSSING.phrase(hearing) == ("A", "hearing", "on", "it")
    assert [
        word for word, whole in zip(CROSSING.node_words, CROSSING.is_contiguous, strict=True) if not whole
    ] == ["hearing"]


@given(dependency_trees())
def test_parents_come_back(tree: DependencyTree) -> None:
    labels = [tree.labels[node] for node in tree.leaves]
    assert DependencyTree.from_parents(tree.words, tree.word_parents, labels) == tree
    assert tree.num_nodes == tree.num_words


@given(dependency_trees())
def test_spans_against_a_walk_from_every_word(tree: DependencyTree) -> None:
    for node, word in enumerate(tree.word_of.tolist()):
        below = words_below(tree.word_parents, word)
        assert tree.spans[node] == (min(below), max(below) + 1)
        assert tree.sizes[node] == len(below)
        assert tree.is_contiguous[node] == (max(below) + 1 - min(below) == len(below))
        assert tree.phrase(node) == tuple(tree.words[place] for place in sorted(below))


@given(st.data(), trees(labels=("0", "1", "2", "")))
def test_labels_against_brute_force(data: st.DataObject, phrases: Tree) -> None:
    tree = data.draw(dependency_trees(num_words=phrases.num_words))
    found = label_by_spans(tree, phrases)
    assert found.label == phrases.label
    for node, word in enumerate(tree.word_of.tolist()):
        below = sorted(words_below(tree.word_parents, word))
        same = [
            label
            for (start, end), label in zip(phrases.spans, phrases.labels, strict=True)
            if list(range(start, end)) == below and label
        ]
        if node:
            assert found.labels[node] == (same[0] if same else "")


def test_a_gap_takes_the_label_but_not_from_the_root() -> None:
    phrases = tree_from_brackets("(4 (1 (2 A) (3 hearing)) (2 (2 is) (3 (2 today) (1 (2 on) (0 it)))))")
    found = dict(zip(CROSSING.node_words, label_by_spans(CROSSING, phrases).labels, strict=True))
    assert found == {"is": "4", "hearing": "", "A": "2", "on": "1", "it": "0", "today": "2"}
    with pytest.raises(TreeError, match="has 6 words, but the phrases have 3"):
        label_by_spans(CROSSING, Tree.flat(["a", "b", "c"]))


@given(dependency_trees())
def test_json_and_pickle_are_exact(tree: DependencyTree) -> None:
    assert tree_from_json(tree_to_json(tree)) == tree
    copy = pickle.loads(pickle.dumps(tree))
    assert copy == tree
    assert hash(copy) == hash(tree)


def test_json_by_hand_needs_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"words": ["a", "film"], "parents": [1, -1]}\n{"words": ["a"], "parents": [0]}\n')
    report = ReadReport()
    [tree] = read_json_lines(path, on_error="skip", report=report)
    assert tree == DependencyTree.from_parents(["a", "film"], [1, -1])
    assert isinstance(report.errors[0], JsonLinesError)
    assert "a.jsonl:2: no word is the root" in str(report.errors[0])
    faults = [
        {"words": ["a"], "parents": "x"},
        {"words": ["a"], "parents": [True]},
        {"words": ["a"], "parents": [-1], "phrases": {}},
        {"words": ["a"], "parents": [-1], "phrases": [{"word": 1, "label": "x"}]},
        {"words": ["a"], "parents": [-1], "phrases": [7]},
    ]
    for fault in faults:
        with pytest.raises(TreeError):
            tree_from_json(fault)


def test_a_dependency_tree_is_no_phrase_tree() -> None:
    one = DependencyTree.from_parents(["film"], [-1])
    assert one != Tree.leaf("film")
    assert Tree.leaf("film") != one
    assert one != DependencyTree.from_parents(["film"], [-1], ["x"])
    assert DependencyTree.from_parents(["a", "b"], [1, -1]) != DependencyTree.from_parents(
        ["a", "b"], [-1, 0]
    )
    for convert in (to_binary, binarize, collapse_unary, head_words, tree_to_brackets):
        for tree in (FILM, one):
            with pytest.raises(TreeError, match="a dependency tree has no phrases"):
                convert(tree)
    assert not one.is_binary


def test_a_drawing_has_a_word_on_every_line() -> None:
    assert list(draw_tree(CROSSING.with_labels(["4", "", "2", "1", "0", ""]))) == [
        "4  is",
        "├─ ·  hearing",
        "│  ├─ 2  A",
        "│  └─ 1  on",
        "│     └─ 0  it",
        "└─ today",
    ]


def test_a_deep_and_a_wide_tree() -> None:
    size = 50_000
    words = ["word"] * size
    deep = DependencyTree.from_parents(words, [-1, *range(size - 1)])
    assert deep.heights[0] == size - 1
    assert deep.spans[-1] == (size - 1, size)
    wide = DependencyTree.from_parents(words, [-1] + [0] * (size - 1))
    assert wide.arity[0] == size - 1
    assert wide.is_contiguous.all()


@pytest.mark.parametrize(
    ("parents", "problem"),
    [
        ([-1, 0], "3 words but 2 parents"),
        ([-1, -1, 0], r"several roots: word 1 \(the\) and word 2 \(film\)"),
        ([1, 2, 0], "no word is the root"),
        ([-1, 2, 1], r"cycle: word 2 \(film\) is not connected to the root"),
        ([-1, 1, 0], r"cycle: word 2 \(film\)"),
        ([-1, 3, 0], r"word 2 \(film\) depends on word 4, but there are 3 words"),
        ([-1, -2, 0], r"word 2 \(film\) depends on word -1"),
    ],
)
def test_what_is_no_tree(parents: list[int], problem: str) -> None:
    with pytest.raises(TreeError, match=problem):
        DependencyTree.from_parents(["the", "film", "works"], parents)


def test_wrong_arrays_are_refused() -> None:
    with pytest.raises(TreeError, match="no words"):
        DependencyTree.from_parents([], [])
    with pytest.raises(TreeError, match="2 words but 1 labels"):
        DependencyTree.from_parents(["a", "b"], [-1, 0], ["x"])
    with pytest.raises(TreeError, match="every word of a dependency tree must be at exactly one node"):
        DependencyTree([1, 0], ["", ""], ["a", "b"], [0, 0])
    with pytest.raises(TreeError, match="2 nodes but 1 words"):
        DependencyTree([1, 0], ["", ""], ["a"], [0])


def write(folder: Path, words: str, parents: str) -> Path:
    path = folder / "dev.toks"
    path.write_text(words, encoding="utf-8")
    path.with_suffix(".dparents").write_text(parents, encoding="utf-8")
    return path


def test_files(tmp_path: Path) -> None:
    path = write(tmp_path, "the film works\na\u00a0b\n", "2 3 0\n0\n")
    first, second = read_dependencies(path)
    assert first == FILM.with_labels(["", "", ""])
    assert second.words == ("a\u00a0b",)
    for suffix in (".toks", ".dparents"):
        packed = gzip.compress((tmp_path / f"dev{suffix}").read_bytes())
        (tmp_path / f"test{suffix}.gz").write_bytes(packed)
    assert list(read_dependencies(tmp_path / "test.toks.gz")) == [first, second]


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ("0 1", "dev.dparents:2: 3 words but 2 parents"),
        (
            "0 x 1",
            "dev.dparents:2:3: expected the number of a word, or 0 for the root\n  0 x 1\n    ^",
        ),
        ("0 -1 1", "dev.dparents:2:3: expected the number of a word"),
        ("0 99999999999 1", "dev.dparents:2:3: expected the number of a word"),
        ("0 0 1", "dev.dparents:2: several roots: word 1 (the) and word 2 (film)"),
        ("2 3 1", "dev.dparents:2: no word is the root"),
        ("0 3 2", "dev.dparents:2: cycle"),
        ("0 4 1", "dev.dparents:2: word 2 (film) depends on word 4, but there are 3 words"),
        ("", "dev.dparents:2: 3 words but 0 parents"),
    ],
)
def test_faults_name_their_line(tmp_path: Path, parents: str, message: str) -> None:
    path = write(tmp_path, "a\nthe film works\nb\n", f"0\n{parents}\n0\n")
    with pytest.raises(DependencyError) as caught:
        list(read_dependencies(path))
    assert message in str(caught.value)
    report = ReadReport()
    assert len(list(read_dependencies(path, on_error="skip", report=report))) == 2
    assert (report.num_trees, report.num_errors) == (2, 1)


def test_files_of_unequal_length_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(DependencyError, match=r"dev.toks:2: .*dev.dparents ends before this line"):
        list(read_dependencies(write(tmp_path, "a\nb\n", "0\n")))
    with pytest.raises(DependencyError, match=r"dev.dparents:2: .*dev.toks ends before this line"):
        list(read_dependencies(write(tmp_path, "a\n", "0\n0\n")))
    with pytest.raises(DependencyError, match="no words"):
        list(read_dependencies(write(tmp_path, "\n", "\n")))
    (tmp_path / "dev.dparents").unlink()
    with pytest.raises(FileError, match=r"dev\.dparents: cannot be read"):
        list(read_dependencies(tmp_path / "dev.toks"))


@given(tree=trees(max_words=12))
def test_head_final_trees_hang_every_phrase_on_its_last_word(tree: Tree) -> None:
    dependencies = head_final(tree)
    assert dependencies.words == tree.words
    parents = dependencies.word_parents
    assert parents[-1] == -1
    assert all(parent > word for word, parent in enumerate(parents[:-1]))
    # The words below a word are those of the largest phrase that it ends.
    largest: dict[int, int] = {}
    for start, end in tree.spans:
        largest[end - 1] = min(start, largest.get(end - 1, start))
    for node, (start, end) in enumerate(dependencies.spans):
        assert dependencies.word_of[node] == end - 1
        assert largest[end - 1] == start
