from __future__ import annotations

import re
import subprocess
import sys
import time
import tracemalloc

from hypothesis import given
from rich.console import Console

from lexitree.labels import LabelSet
from lexitree.results.labelled_tree import LabelledTree
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.head_rules import head_words
from lexitree.trees.tree import Tree
from lexitree.views.colors import label_styles
from lexitree.views.outline import MAX_INDENTED_DEPTH, draw_tree
from tests.strategies import trees
from tests.views.labelled import labelled

TREE = tree_from_brackets(
    "(S (NP (DT The) (NN plot)) (VP (VBZ is) (ADJP (RB very) (JJ clever))) (-RRB- -RRB-))"
)


def test_an_outline() -> None:
    assert list(draw_tree(TREE)) == [
        "S",
        "├─ NP",
        "│  ├─ DT  The",
        "│  └─ NN  plot",
        "├─ VP",
        "│  ├─ VBZ  is",
        "│  └─ ADJP",
        "│     ├─ RB  very",
        "│     └─ JJ  clever",
        "└─ -RRB-  )",
    ]


def test_a_labelled_tree_with_heads_and_probabilities() -> None:
    tree = tree_from_brackets("(_ (_ (_ The) (_ plot)) (_ clever))")
    rows = [[0.02, 0.98], [0.994, 0.006], [1.0, 0.0], [0.5, 0.5], [0.026, 0.974]]
    found = labelled(tree, ("neutral", "positive"), rows, heads=[2, 1, 0, 1, 2])
    assert list(draw_tree(found)) == [
        "positive 0.98 ← clever",
        "├─ neutral 0.99 ← plot",
        "│  ├─ neutral 1.00  The",
        "│  └─ neutral 0.50  plot",
        "└─ positive 0.97  clever",
    ]
    assert list(draw_tree(LabelledTree.from_tree(TREE, head_words(TREE))))[:3] == [
        "S ← is",
        "├─ NP ← plot",
        "│  ├─ DT  The",
    ]
    sentence_only = labelled(tree, ("neutral", "positive"), rows[:1])
    assert list(draw_tree(sentence_only))[:2] == ["positive 0.98", "├─ ·"]


def test_trees_without_labels() -> None:
    assert list(draw_tree(Tree.flat(["a", "b"]))) == ["·", "├─ a", "└─ b"]
    assert list(draw_tree(Tree.leaf("a"))) == ["a"]


def test_no_word_steers_the_terminal() -> None:
    tree = Tree([2, 0, 0], ["S\x1b]0;x\x07", "N\n", ""], ["\x1b[31mred", "a\u00a0b\u2028c"])
    assert list(draw_tree(tree)) == [r"S\x1b]0;x\x07", r"├─ N\n  \x1b[31mred", r"└─ a b\u2028c"]


@given(trees(max_words=20))
def test_styles_change_no_character(tree: Tree) -> None:
    headed = LabelledTree.from_tree(tree, head_words(tree))
    plain = list(draw_tree(headed))
    styled = list(draw_tree(headed, color=True))
    assert [line.plain for line in styled] == plain
    assert len(plain) == tree.num_nodes
    # The depth of a node can be read off its line.
    for line, depth in zip(plain, tree.depths.tolist(), strict=True):
        if depth > MAX_INDENTED_DEPTH:
            assert f"… {depth:,} " in line
            continue
        assert line[3 * depth :].strip("│├└─ ") == line[3 * depth :].strip()
        assert depth == 0 or line[3 * depth - 3 : 3 * depth] in ("├─ ", "└─ ")


def test_colours_reach_the_terminal() -> None:
    console = Console(force_terminal=True, color_system="standard", width=80)
    with console.capture() as capture:
        for line in draw_tree(Tree.leaf("bad", "0"), color=True):
            console.print(line)
    assert re.search(r"\x1b\[\d+;\d+mbad\x1b", capture.get())


def test_numbers_keep_their_colours_in_a_tree_that_has_only_some_of_them() -> None:
    few = tree_from_brackets("(3 (0 not) (3 bad))")
    for tree in (few, LabelledTree.from_tree(few)):
        lines = list(draw_tree(tree, color=True))
        styles = label_styles(LabelSet(tuple("01234")))
        assert [line.spans[-1].style for line in lines] == [styles["3"], styles["0"], styles["3"]]


def test_a_deep_chain_in_linear_memory_and_lazily() -> None:
    num_words = 50_000
    chain = Tree([2] * (num_words - 1) + [0] * num_words, ["x"] * (2 * num_words - 1), ["w"] * num_words)
    start = time.process_time()
    tracemalloc.start()
    num_lines = longest = 0
    for line in draw_tree(chain):
        num_lines, longest = num_lines + 1, max(longest, len(line))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert num_lines == chain.num_nodes
    assert longest < 120
    assert peak < 50_000_000
    assert time.process_time() - start < 15
    lines = draw_tree(chain)
    deep = next(line for number, line in enumerate(lines) if number == 1234)
    assert deep == "│  " * 24 + "… 1,234 ├─ x"


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, lexitree.trees; print([name for name in ('torch', 'rich', 'nltk') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
