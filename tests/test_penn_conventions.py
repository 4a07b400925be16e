"""Each rule changes what differs from the Penn Treebank's guidelines, and nothing else."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from lexitree.corpora.mini import load_mini_parses
from lexitree.parsers.penn_spans import without_root
from lexitree.trees.brackets import read_trees, tree_from_brackets, tree_to_brackets

sys.path.append(str(Path(__file__).parents[1] / "scripts"))

import penn_conventions
from penn_conventions import RULES, imperative, main, rewrite, to_node, to_tree

CHANGED = (
    ("repeated_label", "(NP (NP (DT a) (NN film)))", "(NP (DT a) (NN film))"),
    ("bare_head", "(VP (VP (VBZ is)) (NP (NN junk)))", "(VP (VBZ is) (NP (NN junk)))"),
    ("bare_head", "(PP (PP (IN of)) (NP (NN release)))", "(PP (IN of) (NP (NN release)))"),
    ("auxiliary", "(VP (VBZ has) (RB n't) (VBN evolved))", "(VP (VBZ has) (RB n't) (VP (VBN evolved)))"),
    ("lone_premodifier", "(NP (DT the) (ADJP (JJ bad)) (NN day))", "(NP (DT the) (JJ bad) (NN day))"),
    ("lone_intensifier", "(ADJP (ADVP (RB really)) (JJ helpful))", "(ADJP (RB really) (JJ helpful))"),
    ("nested_noun_phrase", "(NP (DT a) (NP (JJ new) (NN job)))", "(NP (DT a) (JJ new) (NN job))"),
    ("quantity", "(PP (IN in) (QP (NP (CD 1971))))", "(PP (IN in) (NP (CD 1971)))"),
    ("quantity", "(PP (IN on) (QP (CD 3) (NNP May)))", "(PP (IN on) (NP (CD 3) (NNP May)))"),
    ("quantity", "(PP (IN at) (QP (RB only) (CD 5)))", "(PP (IN at) (NP (QP (RB only) (CD 5))))"),
    (
        "relative_pronoun",
        "(SBAR (NP (WDT which)) (S (VP (VBZ helps))))",
        "(SBAR (WHNP (WDT which)) (S (VP (VBZ helps))))",
    ),
    (
        "relative_pronoun",
        "(SBAR (NP (NP (DT some)) (PP (IN of) (NP (WDT which)))) (S (VP (VBP work))))",
        "(SBAR (WHNP (NP (DT some)) (WHPP (IN of) (WHNP (WDT which)))) (S (VP (VBP work))))",
    ),
    ("infinitive", "(PP (TO to) (VP (VB leave)))", "(S (VP (TO to) (VP (VB leave))))"),
    ("infinitive", "(S (TO to) (VP (VB win)))", "(S (VP (TO to) (VP (VB win))))"),
    (
        "infinitive",
        "(ADJP (JJ sure) (TO to) (VP (VB win)))",
        "(ADJP (JJ sure) (S (VP (TO to) (VP (VB win)))))",
    ),
    (
        "complement_clause",
        "(VP (VBP like) (VP (TO to) (VP (VB cook))))",
        "(VP (VBP like) (S (VP (TO to) (VP (VB cook)))))",
    ),
    ("complement_clause", "(VP (VB stop) (VP (VBG doing)))", "(VP (VB stop) (S (VP (VBG doing))))"),
    ("complement_clause", "(PP (IN of) (VP (VBG winning)))", "(PP (IN of) (S (VP (VBG winning))))"),
    ("embedded_clause", "(SBAR (WHNP (WP who)) (VP (VBD won)))", "(SBAR (WHNP (WP who)) (S (VP (VBD won))))"),
    ("embedded_clause", "(SBAR (NP (DT that)) (VP (VBZ is)))", "(SBAR (S (NP (DT that)) (VP (VBZ is))))"),
    (
        "finite_verb",
        "(S (NP (NN life)) (VBZ is) (ADJP (JJ good)) (. .))",
        "(S (NP (NN life)) (VP (VBZ is) (ADJP (JJ good))) (. .))",
    ),
    ("bare_noun", "(S (PRP I) (VP (VBP agree)))", "(S (NP (PRP I)) (VP (VBP agree)))"),
    ("bare_noun", "(PP (IN of) (NN snow) (NNS sports))", "(PP (IN of) (NP (NN snow) (NNS sports)))"),
    (
        "bare_adverb",
        "(S (RB So) (NP (DT that)) (VP (VBZ is)))",
        "(S (ADVP (RB So)) (NP (DT that)) (VP (VBZ is)))",
    ),
    ("word_tag", "(PP (IN to) (NP (NN school)))", "(PP (TO to) (NP (NN school)))"),
    ("word_tag", "(WHNP (IN that))", "(WHNP (WDT that))"),
    ("word_tag", "(PRT (IN on))", "(PRT (RP on))"),
    ("word_tag", "(INTJ (NNP Wow))", "(INTJ (UH Wow))"),
    ("imperative", "(VP (VB Try) (NP (PRP it)) (. !))", "(S (VP (VB Try) (NP (PRP it))) (. !))"),
    ("imperative", "(VB Understand)", "(S (VP (VB Understand)))"),
)

KEPT = (
    "(S (NP (NP (PRP it))) (VP (VBZ seems)))",
    "(VP (VP (VBZ is)) (CC or) (VP (VBD was)))",
    "(VP (VB be) (VP (VBN forgiven)))",
    "(VP (VBZ has) (NP (NN time)))",
    "(PP (PP (IN over)) (CC and) (PP (IN under) (NP (PRP it))))",
    "(NP (NP (NN something)) (ADJP (JJ awesome)))",
    "(NP (ADJP (JJ new)) (CC and) (ADJP (JJ old)) (NNS films))",
    "(ADJP (ADJP (JJR better)) (PP (IN than) (NP (NN gold))))",
    "(NP (DT the) (NN film) (NP (DT that) (NN year)))",
    "(NP (NN designer) (NP (NNP Ralph) (NNP Lauren)))",
    "(NP (QP (JJR more) (IN than) (CD 30)) (NNS years))",
    "(SBAR (WHADVP (WRB when)) (S (NP (PRP he)) (VP (VBD left))))",
    "(S (VP (TO to) (VP (VB win))))",
    "(VP (VBD was) (VP (VBG winning)))",
    "(SBAR (IN if) (S (VP (VBN done))))",
    "(SQ (VBZ is) (NP (PRP it)) (ADJP (JJ good)) (. ?))",
    "(S (NP (PRP it)) (VP (VBZ is) (RB not) (ADJP (RB so) (JJ bad))) (. .))",
    "(PRT (RP up))",
)


@pytest.mark.parametrize(("name", "before", "after"), CHANGED)
def test_a_rule_changes_what_differs(name: str, before: str, after: str) -> None:
    rule = getattr(penn_conventions, name)
    node = to_node(tree_from_brackets(before))
    changed = rule(node)
    assert tree_to_brackets(to_tree(changed)) == after
    assert rule(changed) is changed
    assert to_tree(node) == tree_from_brackets(before)
    assert [other.__name__ for other in RULES if other(changed) is not changed] == []


def test_every_rule_has_an_example() -> None:
    assert [rule.__name__ for rule in (*RULES, imperative)] == list(
        dict.fromkeys(name for name, *_ in CHANGED)
    )


@pytest.mark.parametrize("brackets", KEPT)
def test_what_follows_the_guidelines_stays(brackets: str) -> None:
    node = to_node(tree_from_brackets(brackets))
    assert [rule.__name__ for rule in RULES if rule(node) is not node] == []


def test_rules_build_on_each_other() -> None:
    before = "(S (PRP they) (VBP want) (VP (VP (TO to)) (VB be) (ADJP (JJ safe))) (. .))"
    after = "(S (NP (PRP they)) (VP (VBP want) (S (VP (TO to) (VP (VB be) (ADJP (JJ safe)))))) (. .))"
    counts: Counter[str] = Counter()
    changed = rewrite(to_node(tree_from_brackets(before)), counts)
    assert tree_to_brackets(to_tree(changed)) == after
    assert +counts == Counter(("bare_noun", "bare_head", "auxiliary", "finite_verb", "complement_clause"))


def test_trees_keep_their_words_and_find_an_end() -> None:
    for tree in map(without_root, (tree for split in load_mini_parses().values() for tree in split)):
        changed = rewrite(to_node(tree), Counter())
        assert to_tree(to_node(tree)) == tree
        assert to_tree(changed).words == tree.words
        counts: Counter[str] = Counter()
        assert rewrite(changed, counts) == changed
        assert not +counts


def test_files_are_rewritten_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bank.txt").write_text(
        "(ROOT (S (NP-SBJ (PRP I)) (VP (VP (VBP know)) (NP (PRP it)))))\n( (S (NP (-NONE- *)) (VP (VB Go) (ADVP (RB on)))))\n"
    )
    arguments = ["penn_conventions.py", str(tmp_path / "out"), str(tmp_path / "bank.txt")]
    monkeypatch.setattr(sys, "argv", arguments)
    main()
    assert list(map(tree_to_brackets, read_trees(tmp_path / "out" / "bank.txt"))) == [
        "(S (NP (PRP I)) (VP (VBP know) (NP (PRP it))))",
        "(S (VP (VB Go) (ADVP (RB on))))",
    ]
    table = dict(line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert table["rule"] == "bank.txt"
    assert {name: count for name, count in table.items() if count not in ("0", "bank.txt")} == {
        "trees": "2",
        "changed": "1",
        "bare_head": "1",
    }
