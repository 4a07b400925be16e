from __future__ import annotations

import gzip
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.errors import BracketError, EncodingError, FileError, TreeError
from lexitree.trees import bracket_parser
from lexitree.trees import brackets as brackets_module
from lexitree.trees.binarize import binarize, to_binary
from lexitree.trees.bracket_parser import find_bracket_layout
from lexitree.trees.brackets import (
    ReadReport,
    read_bracket_lines,
    read_trees,
    surface_form,
    tree_from_brackets,
    tree_to_brackets,
    write_trees,
)
from lexitree.trees.tree import Tree
from lexitree.trees.tree_limits import MAX_NODES
from lexitree.views.outline import draw_tree
from tests.strategies import any_text, trees

WORKS = Tree([2, 2, 0, 0, 0], ["S", "NP", "DT", "NN", "VBZ"], ["the", "film", "works"])
WORKS_LINE = "(S (NP (DT the) (NN film)) (VBZ works))"


def numbered(text: str) -> Iterator[tuple[int, str]]:
    return enumerate(text.split("\n"), 1)


def read_text(text: str, **options: object) -> list[Tree]:
    return list(read_bracket_lines(numbered(text), "f.txt", **options))  # type: ignore[arg-type]


# --- round trips -------------------------------------------------------------------------------------------------


@given(trees(labels=("S", "NP", "", "-LRB-", "NP-SBJ-1", "0", "é", "@NP", "S+VP")))
def test_brackets_give_the_tree_back(tree: Tree) -> None:
    assert tree_from_brackets(tree_to_brackets(tree)) == tree


@given(trees(), st.data())
def test_line_breaks_anywhere_change_nothing(tree: Tree, data: st.DataObject) -> None:
    tokens = tree_to_brackets(tree).replace("(", " ( ").replace(")", " ) ").split(" ")
    gaps = st.lists(
        st.sampled_from([" ", "\n", "\n  ", "\r\n", "\t", "\n\n"]), min_size=len(tokens), max_size=len(tokens)
    )
    text = "".join(itertools.chain.from_iterable(zip(tokens, data.draw(gaps), strict=True)))
    assert tree_from_brackets(text) == tree


@given(st.lists(trees(), max_size=5))
def test_writing_and_reading_a_file(forest: list[Tree]) -> None:
    lines: list[str] = []
    assert write_trees(forest, lines.append) == len(forest)
    assert read_text("".join(lines)) == forest


@given(trees(labels=any_text(), words=any_text()))
def test_any_tree_is_written_so_that_it_reads_back_or_refused(tree: Tree) -> None:
    if any(not word or set(word) & set(" \t\r\n\f\v") for word in (*tree.words, *filter(None, tree.labels))):
        with pytest.raises(TreeError, match="cannot be written in brackets"):
            tree_to_brackets(tree)
        return
    again = tree_from_brackets(tree_to_brackets(tree))
    assert again.arity.tolist() == tree.arity.tolist()
    assert again.words == tuple(word.replace("(", "-LRB-").replace(")", "-RRB-") for word in tree.words)


@given(st.text(st.sampled_from("()ab _\n\t"), max_size=40))
def test_any_text_gives_trees_or_an_error_with_a_place_in_it(text: str) -> None:
    lines = text.split("\n")
    report = ReadReport()
    for tree in read_text(text, on_error="skip", report=report):
        assert tree.num_words > 0
    for error in report.errors:
        line, column = error.place.line, error.place.column
        assert 1 <= line <= len(lines)
        assert error.place.source == lines[line - 1]
        assert 1 <= column <= len(lines[line - 1])
    assert report.num_errors == len(report.errors)
    if not report.errors:
        assert len(read_text(text)) == report.num_trees
    else:
        with pytest.raises(BracketError):
            read_text(text)


# --- what can be read --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (WORKS_LINE, WORKS),
        ("( (S (NP (DT the) (NN film)) (VBZ works)) )", WORKS),
        ("((S (NP (DT the) (NN film)) (VBZ works)))", WORKS),
        ("(S\n  (NP (DT the)\n      (NN film))\n  (VBZ works))", WORKS),
        ("(S(NP(DT the)(NN film))(VBZ works))", WORKS),
        ("( S ( NP ( DT the ) ( NN film ) ) ( VBZ works ) )", WORKS),
        ("(\nS\n(NP (DT\nthe\n) (NN film))\r\n(VBZ works)\n)", WORKS),
        ("\n\n  " + WORKS_LINE + "\n\n", WORKS),
        ("(3 film)", Tree.leaf("film", "3")),
        ("((3 film))", Tree.leaf("film", "3")),
        ("(_ film)", Tree.leaf("film")),
        ("(_ (_ film))", Tree([1, 0], ["", ""], ["film"])),
        ("(S the film)", Tree([2, 0, 0], ["S", "", ""], ["the", "film"])),
        ("(S the (NN film) works)", Tree([3, 0, 0, 0], ["S", "", "NN", ""], ["the", "film", "works"])),
        ("(S (DT the) film)", Tree([2, 0, 0], ["S", "DT", ""], ["the", "film"])),
        ("((S a) (S b))", Tree([2, 0, 0], ["", "S", "S"], ["a", "b"])),
        ("(NN a\u00a0b)", Tree.leaf("a\u00a0b", "NN")),
        ("(NN a\u2028b\u0085c)", Tree.leaf("a\u2028b\u0085c", "NN")),
        ("(-LRB- -LRB-)", Tree.leaf("-LRB-", "-LRB-")),
        ("(NN and\\/or)", Tree.leaf("and\\/or", "NN")),
        ("(NN _)", Tree.leaf("_", "NN")),
    ],
)
def test_reading(text: str, expected: Tree) -> None:
    assert tree_from_brackets(text) == expected
    assert read_text(text) == [expected]


def test_two_trees_on_a_line_and_none() -> None:
    assert read_text("(A a) (B b)") == [Tree.leaf("a", "A"), Tree.leaf("b", "B")]
    assert read_text("") == []
    assert read_text("\n \n\t\n") == []
    with pytest.raises(TreeError, match="found 2"):
        tree_from_brackets("(A a) (B b)")
    with pytest.raises(TreeError, match="found 0"):
        tree_from_brackets("")


def test_escapes() -> None:
    assert surface_form("-LRB-") == "("
    assert surface_form("-rrb-") == ")"
    assert surface_form("-LSB-x-RCB-") == "[x}"
    assert surface_form("1\\/2\\*") == "1/2*"
    assert surface_form("well-known") == "well-known"
    assert tree_to_brackets(Tree.leaf("(a)", "N(")) == "(N-LRB- -LRB-a-RRB-)"
    with pytest.raises(TreeError, match="white space"):
        tree_to_brackets(Tree.leaf("a b", "N"))
    with pytest.raises(TreeError, match="an empty word"):
        tree_to_brackets(Tree.leaf("", "N"))
    # A no-break space is part of a word.
    assert tree_to_brackets(Tree.leaf("a\u00a0b", "N")) == "(N a\u00a0b)"


# --- what is wrong, and where ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("(S (NP a) (VP b)", 1, 1, "this bracket is never closed (1 still open)"),
        ("(S (NP a) (VP (V b)", 1, 11, "this bracket is never closed (2 still open)"),
        ("(A a)\n(S (NP a)\n(B b)", 2, 1, "this bracket is never closed (1 still open)"),
        ("(A a)\n(B b))\n(C c)", 2, 6, "unmatched closing bracket"),
        (")", 1, 1, "unmatched closing bracket"),
        ("(A a)\n(S () (B b))", 2, 4, "empty bracket"),
        ("(A a)\n(S (NP) (B b))", 2, 4, "bracket 'NP' contains no word"),
        ("(NP)", 1, 1, "bracket 'NP' contains no word"),
        ("()", 1, 1, "empty bracket"),
        ("(A a)\nhello\n(B b)", 2, 1, "text outside of brackets"),
        ("(A a) b", 1, 7, "text outside of brackets"),
        ("wsj_0001\t(A a)", 1, 1, "text outside of brackets"),
        ("(S\n  (NP a)\n  (VP\n    (V b)\n", 1, 1, "this bracket is never closed (2 still open)"),
        ("(S\n  (NP\n  )\n  (V b))", 3, 3, "bracket 'NP' contains no word"),
    ],
)
def test_malformed(text: str, line: int, column: int, problem: str) -> None:
    with pytest.raises(BracketError) as caught:
        read_text(text)
    assert (caught.value.place.line, caught.value.place.column) == (line, column)
    assert caught.value.problem == problem
    shown = str(caught.value).split("\n")
    assert shown[0] == f"f.txt:{line}:{column}: {problem}"
    assert shown[1] == "  " + text.split("\n")[line - 1].replace("\t", " ")
    assert shown[2] == " " * (2 + column - 1) + "^"


def test_the_caret_stays_under_the_place_in_a_long_line() -> None:
    text = "(S " + "(N film) " * 1000 + "() (N end))"
    with pytest.raises(BracketError) as caught:
        read_text(text)
    _, source, caret = str(caught.value).split("\n")
    assert len(source) < 120
    assert source[caret.index("^") :].startswith("() (N end))")


def test_skipping_with_one_tree_a_line() -> None:
    text = "(A a)\n(S (B b)\n(C c)\nD d\n(E e))\n\n(F f)"
    report = ReadReport()
    found = read_text(text, on_error="skip", report=report)
    # The tree that was complete before the error on its line is given.
    assert [tree.label for tree in found] == ["A", "C", "E", "F"]
    assert report.num_trees == 4
    assert report.num_errors == 3
    assert [(error.place.line, error.problem.split(" (")[0]) for error in report.errors] == [
        (2, "this bracket is never closed"),
        (4, "text outside of brackets"),
        (5, "unmatched closing bracket"),
    ]


GOOD = "( (S\n    (NP {0})\n    (VP\n      (V b)) ))\n"


@pytest.mark.parametrize(
    ("bad", "line", "problem"),
    [
        ("( (S\n    (NP bad)\n    (VP\n      (V b)) )\n", 5, "never closed"),
        ("( (S\n    (NP bad)\n    (VP\n      (V b)) )))\n", 8, "unmatched closing bracket"),
        ("( (S\n    (NP )\n    (VP\n      (V b)) ))\n", 6, "contains no word"),
        ("( (S\n    ()\n    (VP\n      (V b)) ))\n", 6, "empty bracket"),
        ("stray\n    (NP x)\n", 5, "text outside"),
    ],
)
def test_skipping_with_trees_over_lines(bad: str, line: int, problem: str) -> None:
    text = GOOD.format("one") + bad + GOOD.format("two") + GOOD.format("three")
    report = ReadReport()
    found = read_text(text, on_error="skip", report=report)
    assert [tree.words[0] for tree in found if "bad" not in tree.words] == ["one", "two", "three"]
    assert report.num_errors == 1
    assert report.errors[0].place.line == line
    assert problem in report.errors[0].problem
    with pytest.raises(BracketError, match=problem):
        read_text(text)


def test_a_bad_first_and_a_bad_last_tree_over_lines() -> None:
    unclosed = "( (S\n    (NP bad)\n"
    report = ReadReport()
    found = read_text(unclosed + GOOD.format("one") + unclosed, on_error="skip", report=report)
    assert [tree.words[0] for tree in found] == ["one"]
    assert [error.place.line for error in report.errors] == [1, 7]


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("", "free"),
        ("(A a)\n(B b)", "line"),
        ("(A a)\n(B b\n(C c)", "line"),
        (GOOD * 3, "indented"),
        ("( (S\n    (NP bad)\n" + GOOD, "indented"),
        ("(ROOT\n(S\n  (NP a)\n  (VP b)))\n" * 3, "free"),
        ("(S\n(NP a)\n(VP b))\n" * 2, "free"),
        ("(S\n(NP a)\n(NP a)\n(NP a)\n(VP b))\n" * 9, "free"),
        ("(S\n  (NP a)\n  (NP a)\n  (NP a)\n  (VP b))\n" * 9, "indented"),
        ("(S\n  (NP a)\n  (NP a)\n  (NP a)\n  (VP b))", "indented"),
        ("(A a)\n" * 30 + "(S (NP\n" + "(A a)\n" * 30, "line"),
        ("(S\n(NP\n(DT\na)\n(NN\nb)))\n" * 2, "free"),
        ("(\n" * 99, "free"),
    ],
)
def test_finding_the_layout(text: str, layout: str) -> None:
    assert find_bracket_layout(text.split("\n")) == layout


def test_the_list_of_errors_is_bounded_but_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brackets_module, "MAX_LISTED_ERRORS", 10)
    report = ReadReport()
    lines = itertools.chain([(0, "(A a)")] * 64, ((number, "(A a") for number in range(1, 501)))
    assert sum(1 for _ in read_bracket_lines(lines, on_error="skip", report=report)) == 64
    assert report.num_errors == 500
    assert len(report.errors) == 10


def test_too_many_nodes() -> None:
    for text in (
        "(S " + "(N a) " * 10 + ")",
        "(S " + "a " * 10 + ")",
        "(S " * 11,
        "(S a (N b) " + "(N c) " * 8 + ")",
    ):
        with pytest.raises(BracketError, match="more than 10 nodes"):
            read_text(text, max_nodes=10)
    assert read_text("(S " + "(N a) " * 9 + ")", max_nodes=10)[0].num_words == 9


def test_an_open_tree_is_bounded_in_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bracket_parser, "MAX_TREE_CHARACTERS", 40)
    word = "w" * 15
    lines = ["(S", f"  (N {word})", f"  (N {word}))", "(S (N a))", ""] * 2
    report = ReadReport()
    found = list(read_bracket_lines(enumerate(lines, 1), on_error="skip", report=report))
    assert [tree.num_words for tree in found] == [1, 1]
    assert [error.place.line for error in report.errors] == [3, 8]
    assert "tree has more than 40 characters" in report.errors[0].problem
    # Trees one after the other have a bound each.
    short = [f"(S (N {word}))"] * 9
    assert len(list(read_bracket_lines(enumerate(short, 1)))) == 9


# --- files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252", "gb18030"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encodings_by_name_and_line_ends(tmp_path: Path, encoding: str, end: str) -> None:
    path = tmp_path / "trees.txt"
    word = "film" if encoding == "gb18030" else "café"
    path.write_bytes(end.join([f"(A {word})", "(B b)", ""]).encode(encoding))
    assert list(read_trees(path, encoding=encoding)) == [Tree.leaf(word, "A"), Tree.leaf("b", "B")]


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "trees.txt"
    path.write_bytes(b"\xef\xbb\xbf(A a)\n(B b)")
    assert [tree.label for tree in read_trees(path)] == ["A", "B"]


def test_a_byte_that_does_not_decode_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "trees.txt"
    path.write_bytes(b"(A a)\n" * 20_000 + "(B café)\n".encode("latin-1"))
    with pytest.raises(EncodingError, match="0xe9 is not utf-8") as caught:
        list(read_trees(path))
    assert caught.value.place.line == 20_001
    assert "latin-1" in caught.value.remedy
    # Not a malformed tree: skipping those does not hide it.
    with pytest.raises(EncodingError):
        list(read_trees(path, on_error="skip"))


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n \n", b"\xef\xbb\xbf"])
def test_empty_files_hold_no_trees(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "trees.txt"
    path.write_bytes(content)
    report = ReadReport()
    assert list(read_trees(path, report=report)) == []
    assert (report.num_trees, report.num_errors) == (0, 0)


@pytest.mark.parametrize(
    "content", [bytes(range(256)) * 40, b"\x00" * 1000, b"\x7fELF\x02\x01\x01" + b"\x00" * 99]
)
def test_binary_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "trees.txt"
    path.write_bytes(content)
    with pytest.raises((BracketError, EncodingError)) as caught:
        list(read_trees(path))
    assert caught.value.place.line >= 1
    assert str(caught.value).isprintable() or "\n" in str(caught.value)


def test_gzip_whole_and_truncated(tmp_path: Path) -> None:
    path = tmp_path / "trees.txt.gz"
    packed = gzip.compress("".join(f"(A word{number})\n" for number in range(50_000)).encode())
    path.write_bytes(packed)
    assert sum(1 for _ in read_trees(path)) == 50_000
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(FileError, match="cannot be read to its end"):
        list(read_trees(path))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file"):
        list(read_trees(tmp_path / "none.txt"))


# --- size and time -----------------------------------------------------------------------------------------------


def test_reading_is_lazy() -> None:
    consumed = 0

    def lines() -> Iterator[tuple[int, str]]:
        nonlocal consumed
        for number in range(1, 1_000_001):
            consumed = number
            yield number, WORKS_LINE

    assert next(read_bracket_lines(lines())) == WORKS
    assert consumed <= 100


def left_chain(num_words: int) -> str:
    return "(a " * (num_words - 1) + "(b w0)" + "".join(f" (b w{word}))" for word in range(1, num_words))


def right_chain(num_words: int) -> str:
    return "".join(f"(a (b w{word}) " for word in range(1, num_words)) + "(b w0)" + ")" * (num_words - 1)


def seconds_for(line: str) -> float:
    start = time.process_time()
    tree = tree_from_brackets(line)
    assert to_binary(tree).tree == tree
    binarize(tree, "head")
    assert tree_to_brackets(tree) == line
    assert sum(1 for _ in draw_tree(tree)) == tree.num_nodes
    return time.process_time() - start


@pytest.mark.parametrize("chain", [left_chain, pytest.param(right_chain, marks=pytest.mark.slow)])
def test_a_chain_of_50_000_words_in_linear_time(chain: object) -> None:
    half = min(seconds_for(chain(25_000)) for _ in range(3))  # type: ignore[operator]
    whole = min(seconds_for(chain(50_000)) for _ in range(3))  # type: ignore[operator]
    assert whole < 10  # about one second; a quadratic algorithm needs minutes
    assert whole < 3.2 * half


HOSTILE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, 1_500_000_000))
from lexitree.errors import BracketError
from lexitree.trees.brackets import ReadReport, read_trees
report = ReadReport()
if sys.argv[2] == "skip":
    assert list(read_trees(sys.argv[1], on_error="skip", report=report, max_nodes=int(sys.argv[3]))) == []
    assert report.num_errors == 1
try:
    list(read_trees(sys.argv[1], max_nodes=int(sys.argv[3])))
except BracketError as error:
    assert len(str(error)) < 1000
    print(error.problem)
"""


@pytest.mark.parametrize(
    ("unit", "max_nodes"),
    [
        pytest.param("(", MAX_NODES, marks=pytest.mark.slow),
        *((unit, 100_000) for unit in ("(a", "(\n", "(a\n", "(a b ", "a ")),
    ],
)
def test_endless_open_brackets_in_bounded_memory(tmp_path: Path, unit: str, max_nodes: int) -> None:
    path = tmp_path / "hostile.txt"
    path.write_text(unit * (5 * max_nodes))
    start = os.times()
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE, str(path), "raise" if "\n" in unit else "skip", str(max_nodes)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    problem = "outside of brackets" if unit == "a " else f"more than {max_nodes:,} nodes"
    assert problem in done.stdout
    end = os.times()
    # Of the child's processor, not of the wall: the machine may have other work.
    assert end.children_user + end.children_system - start.children_user - start.children_system < 90
