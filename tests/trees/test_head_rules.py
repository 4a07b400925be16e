from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.head_rules import COLLINS, STANFORD, HeadRules, base_category, head_children, head_words
from lexitree.trees.tree import Tree
from tests.strategies import PENN_LABELS, trees


@pytest.mark.parametrize(
    ("phrase", "head"),
    [
        # One line for each rule of the table.
        ("(ADJP (RB very) (JJ good))", "good"),
        ("(ADJP (JJ good) (QP two))", "two"),
        ("(ADVP (RB very) (RB well))", "well"),
        ("(CONJP (RB as) (RB well) (IN as))", "well"),
        ("(FRAG (NP a) (PP b))", "b"),
        ("(INTJ (UH oh) (UH my))", "oh"),
        ("(LST (LS 1) (: :))", "1"),
        ("(NAC (NNP New) (NNP York))", "New"),
        ("(PP (IN out) (IN of) (NP town))", "of"),
        ("(PRN (NP a) (VP b))", "a"),
        ("(PRT (RB so) (RP up))", "up"),
        ("(QP (RB about) (CD ten))", "about"),
        ("(QP ($ $) (CD ten))", "$"),
        ("(RRC (ADVP a) (VP b) (NP c))", "b"),
        ("(S (NP he) (VP runs))", "runs"),
        ("(S (NP he) (ADJP glad))", "glad"),
        ("(SBAR (IN that) (S works))", "that"),
        ("(SBAR (S works) (WHNP what))", "what"),
        # The earlier label of the rule wins, wherever it stands.
        ("(SBAR (IN for) (WHNP whom) (S works))", "whom"),
        ("(SBAR (IN about) (WHADVP why) (S works))", "why"),
        ("(SBAR (DT the) (IN that) (S works))", "that"),
        ("(SBAR (WHADJP how) (WHPP of) (WHNP whom))", "whom"),
        ("(SBARQ (WHNP what) (SQ is))", "is"),
        ("(SINV (VP says) (NP he) (MD may))", "may"),
        ("(SQ (NP he) (VBZ is) (VP going))", "is"),
        ("(UCP (NP a) (ADJP b))", "b"),
        ("(VP (MD may) (VP go))", "may"),
        ("(VP (ADVP a) (VBZ sees) (NP b))", "sees"),
        ("(VP (VBZ is) (TO to) (VBN gone))", "to"),
        ("(WHADJP (WRB how) (JJ big))", "how"),
        ("(WHADVP (RB so) (WRB why))", "why"),
        ("(WHNP (NN part) (WP$ whose))", "whose"),
        ("(WHPP (IN of) (WHNP which))", "of"),
        # Noun phrases, step by step.
        ("(NP (NNP John) (POS 's))", "'s"),
        ("(NP (DT the) (NN film) (NN plot) (PP of))", "plot"),
        ("(NP (NP a) (NP b) (SBAR c))", "a"),
        ("(NP (DT the) (ADJP best) (QP two))", "best"),
        ("(NP (DT the) (CD two) (JJ best))", "two"),
        ("(NP (DT the) (JJ rich) (RB only))", "only"),
        ("(NP (DT the) (PRP we))", "we"),
        ("(NX (NN a) (NN b))", "b"),
        ("(NML (NN a) (NN b) (HYPH -))", "b"),
        # Coordination.
        ("(NP (NN cats) (CC and) (NN dogs))", "cats"),
        ("(NP (NN cats) (, ,) (NN cows) (, ,) (CC and) (NN dogs))", "cows"),
        ("(NP (NN cats) (CONJP as) (NN dogs))", "cats"),
        ("(NP (CC and) (NN dogs))", "dogs"),
        ("(NP (`` ``) (CC and) (NN dogs))", "dogs"),
        ("(VP (VB come) (CC and) (VB go))", "come"),
        ("(UCP (NP a) (CC and) (ADJP b))", "a"),
        # Labels with tags, marks and alternatives.
        ("(S-TPC-1 (NP-SBJ he) (VP=2 runs))", "runs"),
        ("(PRT|ADVP (RP up) (RB x))", "up"),
        ("(NP-SBJ (NN-X film) (PP y))", "film"),
        ("(S+VP (VB go) (NP home))", "go"),
        ("(S (NP he) (VP+VB runs))", "runs"),
        # Defaults never take punctuation or a trace where there is another part.
        ("(FRAG (NP a) (. .))", "a"),
        ("(PRN (-LRB- -LRB-) (NP a) (-RRB- -RRB-))", "a"),
        ("(UCP (NP a) (-NONE- *))", "a"),
        ("(FRAG (, ,) (. .))", "."),
        ("(0 (1 a) (2 b))", "a"),
        ("(_ (, ,) (_ b))", "b"),
        ("(XYZ (NP a) (VP b))", "a"),
        # The root stands for the S that a collapsed chain left out.
        ("(ROOT (NP he) (VP runs))", "runs"),
        ("(TOP (NP he) (VP runs))", "runs"),
        # Binarized phrases are read whole.
        ("(NP (@NP (NNP Buy) (CC and)) (NNP Accorsi))", "Buy"),
        ("(ROOT (NP it) (@S (VP (VBZ is) (NP one)) (. .)))", "is"),
        ("(S (@VP (VBZ is) (ADVP so)) (PP for))", "is"),
        ("(NP (DT the) (@NP (JJ lovely) (NN film)))", "film"),
        ("(NP (DT the) (@NP (JJ old) (@NP (NN film) (CC and) (NN plot))))", "film"),
        ("(NN film)", "film"),
        ("(S (VP (VB go)))", "go"),
    ],
)
def test_heads(phrase: str, head: str) -> None:
    tree = tree_from_brackets(phrase)
    assert tree.words[head_words(tree)[0]] == head


@pytest.mark.parametrize(
    ("phrase", "head"),
    [
        # Where the Stanford parser goes other ways than Collins; the rest is the same table.
        ("(ADJP (JJ warm) (, ,) (JJ funny))", "funny"),
        ("(ADJP (JJ warm) (CC and) (JJ funny))", "warm"),
        ("(ADJP (ADVP so) (JJ warm) (PP to))", "warm"),
        ("(ADVP (RB as) (JJ good) (PP as))", "good"),
        ("(ADVP (RB so) (IN than) (NN that))", "than"),
        ("(PRN (-LRB- -LRB-) (ADVP not) (ADJP good) (-RRB- -RRB-))", "good"),
        ("(QP (RB only) (RB about) (CD ten))", "ten"),
        ("(S (IN that) (NP it) (VP works))", "works"),
        ("(ROOT (IN that) (NP it) (VP works))", "works"),
        ("(VP (ADVP so) (JJ warm) (NP it))", "warm"),
        ("(WHADJP (WRB how) (JJ warm) (CC and) (JJ funny))", "how"),
        ("(X (NP a) (: :) (S b) (. .))", "b"),
        # What has no rule is split to the right, unless it looks like a sentence.
        ("(0 (1 a) (2 b) (. .))", "."),
        ("(0 (NP a) (VP b) (. .))", "b"),
    ],
)
def test_heads_as_the_stanford_parser_has_them(phrase: str, head: str) -> None:
    tree = tree_from_brackets(phrase)
    assert tree.words[head_children(tree, STANFORD)[0]] == head


def test_head_children_of_a_sentence() -> None:
    tree = tree_from_brackets("(S (NP (DT The) (NN plot)) (VP (VBZ is) (ADJP (RB very) (JJ clever))) (. .))")
    assert head_children(tree).tolist() == [1, 1, 0, 0, 0, 0, 1, 0, 0, 0]
    assert [tree.words[word] for word in head_words(tree)] == [
        *("is", "plot", "The", "plot", "is", "is", "clever", "very", "clever", "."),
    ]


def test_intermediate_nodes_lead_to_the_head_or_have_their_own() -> None:
    tree = tree_from_brackets("(VP (VB give) (@VP (NP him) (@VP (NP it) (ADVP now))))")
    assert [tree.words[word] for word in head_words(tree)] == ["give", "give", "it", "him", "it", "it", "now"]


@pytest.mark.parametrize(
    ("label", "category"),
    [
        *[("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("NP-SBJ=1-3", "NP"), ("ADVP|PRT", "ADVP"), ("@NP", "NP")],
        *[
            ("@NP-SBJ", "NP"),
            ("-LRB-", "-LRB-"),
            ("-NONE-", "-NONE-"),
            ("PRP$", "PRP$"),
            (":", ":"),
            ("", ""),
        ],
        *[("--", "--"), ("=", "="), ("@", "")],
    ],
)
def test_base_category(label: str, category: str) -> None:
    assert base_category(label) == category


ALL_LABELS = (*PENN_LABELS, "@NP", "@VP", "@", "S+VP", "", "0", "CONJP", "QP")


@given(trees(max_words=20, labels=ALL_LABELS), st.sampled_from([COLLINS, STANFORD]))
def test_every_head_is_a_child(tree: Tree, rules: HeadRules) -> None:
    heads = head_children(tree, rules)
    assert ((heads >= 0) & (heads < np.maximum(tree.arity, 1))).all()


@given(trees(max_words=20, labels=ALL_LABELS))
def test_every_head_word_is_inside(tree: Tree) -> None:
    heads, words = head_children(tree), head_words(tree)
    for node, children in enumerate(tree.children):
        assert tree.starts[node] <= words[node] < tree.ends[node]
        if children:
            assert 0 <= heads[node] < len(children)
            assert words[node] == words[children[heads[node]]]
        else:
            assert heads[node] == 0


@given(
    st.lists(st.sampled_from([",", ".", "-NONE-", "``", "XX"]), min_size=1, max_size=6),
    st.sampled_from(["FRAG", "NP", "0"]),
)
def test_no_default_takes_punctuation_beside_a_word(labels: list[str], phrase: str) -> None:
    tree = Tree([len(labels)] + [0] * len(labels), [phrase, *labels], labels)
    head = tree.words[head_words(tree)[0]]
    assert head == "XX" or "XX" not in labels


def test_a_long_chain_is_quick() -> None:
    num_words = 50_000
    arity = [2] * (num_words - 1) + [0] * num_words
    left = Tree(arity, ["NP"] + ["@NP"] * (num_words - 2) + ["NN"] * num_words, ["w"] * num_words)
    assert head_words(left)[0] == num_words - 1
