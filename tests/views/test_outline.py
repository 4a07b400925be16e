from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc

import pytest
from hypothesis import given
from rich.console import Console

from lexitree.errors import TreeError
from lexitree.trees import Tree, draw_tree, head_notes, head_words, label_styles, tree_from_brackets
from lexitree.views.outline import MAX_INDENTED_DEPTH
from tests.strategies import trees

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


def test_notes_with_heads_and_probabilities() -> None:
    tree = tree_from_brackets("(positive (neutral (neutral The) (neutral plot)) (positive clever))")
    probabilities = [0.98, 0.994, 1.0, 0.5, 0.974]
    assert list(draw_tree(tree, notes=head_notes(tree, [2, 1, 0, 1, 2], probabilities))) == [
        "positive 0.98 ← clever",
        "├─ neutral 0.99 ← plot",
        "│  ├─ neutral 1.00  The",
        "│  └─ neutral 0.50  plot",
        "└─ positive 0.97  clever",
    ]
    assert list(draw_tree(TREE, notes=head_notes(TREE, head_words(TREE))))[:3] == [
        "S ← is",
        "├─ NP ← plot",
        "│  ├─ DT  The",
    ]
    with pytest.raises(TreeError, match="5 nodes but 2 notes"):
        draw_tree(tree, notes=["a", "b"])


def test_trees_without_labels() -> None:
    assert list(draw_tree(Tree.flat(["a", "b"]))) == ["·", "├─ a", "└─ b"]
    assert list(draw_tree(Tree.leaf("a"))) == ["a"]


def test_no_word_steers_the_terminal() -> None:
    tree = Tree([2, 0, 0], ["S\x1b]0;x\x07", "N\n", ""], ["\x1b[31mred", "a\u00a0b\u2028c"])
    assert list(draw_tree(tree)) == [r"S\x1b]0;x\x07", r"├─ N\n  \x1b[31mred", r"└─ a b\u2028c"]


@given(trees(max_words=20))
def test_styles_change_no_character(tree: Tree) -> None:
    notes = head_notes(tree, head_words(tree), [0.5] * tree.num_nodes)
    plain = list(draw_tree(tree, notes=notes))
    styled = list(draw_tree(tree, notes=notes, styles=label_styles(tree.labels)))
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
        for line in draw_tree(Tree.leaf("bad", "0"), styles=label_styles(["0"])):
            console.print(line)
    assert "\x1b[31m" in capture.get()


def test_ordered_labels_get_a_ramp_and_others_a_palette() -> None:
    ramp = label_styles("01234")
    assert ramp["0"] == "red"
    assert ramp["4"] == "green"
    assert len(set(ramp.values())) == 5
    assert label_styles(["0", "3"]) == {"0": ramp["0"], "3": ramp["3"]}
    assert label_styles(map(str, range(10)))["9"] == "green"
    assert label_styles(["positive", "negative", ""])["negative"] == ramp["1"]
    palette = label_styles(["DESC", "ENTY", "HUM", ""])
    assert len(set(palette.values())) == 3
    assert label_styles([]) == {}


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
