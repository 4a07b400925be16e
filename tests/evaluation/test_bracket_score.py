"""Bracket scores: evalb's rules one by one by hand, evalb's own sample, and its counts of real parses."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lexitree.errors import ConfigError, TreeError
from lexitree.evaluation.bracket_counts import BracketRules, count_sentence
from lexitree.evaluation.bracket_oracle import oracle_score
from lexitree.evaluation.bracket_score import score_brackets
from lexitree.trees.binarize import binarize, collapse_unary, to_binary
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.dependencies import DependencyTree
from lexitree.trees.tree import Tree
from tests.evaluation.bracket_cases import (
    FILM,
    brackets,
    flat,
    score,
)

# --- The rules, one by one ---


def test_labels_and_spans_must_match() -> None:
    assert brackets(FILM, FILM) == (3, 3, 3)
    assert brackets(FILM, "(TOP (S (NP (DT the) (NN film)) (NP (VBZ works))))") == (2, 3, 3)
    assert brackets(FILM, "(TOP (S (DT the) (VP (NN film) (VBZ works))))") == (1, 3, 2)


def test_precision_recall_and_f1() -> None:
    overall = score(FILM, "(TOP (S (DT the) (VP (NN film) (VBZ works))))").overall
    assert (overall.precision, overall.recall, overall.f1) == (1 / 2, 1 / 3, 2 / 5)
    assert overall.complete_match == 0.0


def test_brackets_are_summed_before_they_are_divided() -> None:
    gold = [tree_from_brackets(FILM), tree_from_brackets("(NP (DT a) (NN hit))")]
    guess = [tree_from_brackets(FILM), tree_from_brackets("(VP (DT a) (NN hit))")]
    scores = score_brackets(gold, guess)
    assert (scores.precision, scores.recall, scores.f1) == (3 / 4, 3 / 4, 3 / 4)
    assert scores.overall.complete_match == 1 / 2
    assert scores.sentences.matched.tolist() == [3, 0]
    assert scores.sentences.gold.tolist() == scores.sentences.guessed.tolist() == [3, 1]


@pytest.mark.parametrize("root", ["TOP", "ROOT", "S1", "", "TOP-2"])
def test_the_top_is_no_bracket(root: str) -> None:
    assert brackets(FILM, FILM.replace("TOP", root)) == (3, 3, 3)
    assert brackets(FILM, FILM.removeprefix("(TOP ").removesuffix(")")) == (3, 3, 3)


def test_phrases_close_over_punctuation() -> None:
    gold = "(S (NP (NP (NN film)) (, ,) (NP (NN art)) (, ,)) (VP (VBZ works)) (. .))"
    # The commas hang elsewhere, and a phrase that holds one of them only vanishes.
    guess = "(S (NP (NP (NN film) (, ,)) (NP (NN art))) (X (, ,)) (VP (VBZ works) (. .)))"
    assert brackets(gold, guess) == (5, 5, 5)
    assert score(gold, guess).overall.num_words == 3


@pytest.mark.parametrize("tag", [",", ":", "``", "''", "."])
def test_what_is_punctuation(tag: str) -> None:
    assert brackets(f"(S (NP (NN a) ({tag} x)) (NN b))", f"(S (NP (NN a)) ({tag} x) (NN b))") == (2, 2, 2)


@pytest.mark.parametrize("tag", ["-LRB-", "#", "$", "SYM", "HYPH"])
def test_what_is_no_punctuation(tag: str) -> None:
    assert brackets(f"(S (NP (NN a) ({tag} x)) (NN b))", f"(S (NP (NN a)) ({tag} x) (NN b))") == (1, 2, 2)


def test_traces_are_no_words() -> None:
    gold = "(S (NP-SBJ (-NONE- *)) (VP (VBD said) (SBAR (-NONE- 0) (S (-NONE- *T*)))))"
    scores = score(gold, "(S (VP (VBD said)))")
    assert brackets(gold, "(S (VP (VBD said)))") == (2, 2, 2)
    assert scores.sentences.length.tolist() == [1]
    assert brackets(gold, "(S (VP (VBD said)))", tags="own") == (2, 2, 2)


def test_function_tags_are_no_part_of_a_label() -> None:
    gold = FILM.replace("(NP", "(NP-SBJ-1").replace("(VP", "(VP=2")
    assert brackets(gold, FILM) == (3, 3, 3)
    # What starts with a dash has no category left, and nothing is no bracket.
    assert brackets("(S (-X- (NN a) (NN b)))", "(S (NN a) (NN b))") == (1, 1, 1)


def test_adverbs_and_particles_are_equal() -> None:
    gold = "(VP (VB give) (PRT (RP up)) (ADVP (RB now)))"
    scores = score(gold, "(VP (VB give) (ADVP (RP up)) (PRT (RB now)))")
    assert scores.f1 == 1.0
    assert [(label.label, label.gold) for label in scores.by_label] == [("ADVP", 2), ("VP", 1)]


@pytest.mark.parametrize(
    ("gold", "guess", "expected"),
    [
        ("(NP (NP (NN a)))", "(NP (NN a))", (1, 2, 1)),
        ("(NP (NN a))", "(NP (NP (NP (NN a))))", (1, 1, 3)),
        ("(NP (NP (NN a)))", "(NP (NP (NN a)))", (2, 2, 2)),
        ("(S (NP (NN a)))", "(NP (S (NN a)))", (2, 2, 2)),
        ("(S (S (NP (NN a))))", "(S (NP (NP (NN a))))", (2, 3, 3)),
    ],
)
def test_equal_brackets_match_one_for_one(gold: str, guess: str, expected: tuple[int, int, int]) -> None:
    assert brackets(gold, guess) == expected


def test_labels_can_be_ignored() -> None:
    overall = score("(S (NP (NN a) (NN b)) (NN c))", "(X (NP (NN a)) (Y (NN b) (NN c)))").overall
    assert (overall.matched, overall.unlabelled) == (0, 1)
    assert overall.unlabelled_f1 == 2 / 5


def test_crossing_counts_guessed_brackets() -> None:
    gold = "(S (A (N a) (N b)) (B (N c) (N d)))"
    # B over b-c crosses A and B, and counts once; each of the two equal ones counts.
    scores = score(gold, "(S (N a) (X (X (N b) (N c))) (N d))")
    assert scores.sentences.crossing.tolist() == [2]
    # The other way round, A and B cross the two, and each counts once.
    assert score("(S (N a) (X (X (N b) (N c))) (N d))", gold).sentences.crossing.tolist() == [2]
    assert score(gold, "(S (A (N a) (N b) (N c)) (N d))").sentences.crossing.tolist() == [1]
    assert score(gold, gold).sentences.crossing.tolist() == [0]


def test_crossing_figures() -> None:
    gold = [tree_from_brackets("(S (A (N a) (N b)) (B (N c) (N d)))")] * 4
    guess = [
        gold[0],
        tree_from_brackets("(S (N a) (X (N b) (N c)) (N d))"),
        tree_from_brackets("(S (N a) (X (X (N b) (N c))) (N d))"),
        tree_from_brackets("(S (N a) (X (X (X (N b) (N c)))) (N d))"),
    ]
    overall = score_brackets(gold, guess).overall
    assert overall.average_crossing == 6 / 4
    assert (overall.no_crossing, overall.two_or_less_crossing) == (1 / 4, 3 / 4)


def test_tags_count_without_punctuation() -> None:
    gold = "(S (NP (DT the) (NN film)) (VP (VBZ works)) (. .))"
    overall = score(gold, gold.replace("VBZ", "NNS")).overall
    assert (overall.num_words, overall.num_right_tags) == (3, 2)
    assert overall.tagging_accuracy == 2 / 3
    assert overall.f1 == 1.0


def test_whose_tags_say_what_punctuation_is() -> None:
    gold = "(S (NP (NN film)) (: -) (VP (VBZ works)))"
    guess = "(S (NP (NN film)) (SYM -) (VP (VBZ works)))"
    assert brackets(gold, guess) == (3, 3, 3)
    with pytest.raises(
        TreeError, match=r"sentence 1: the gold tree has 2 words without punctuation, the predicted one 3"
    ):
        score(gold, guess, tags="own")
    scores = score(gold, guess, tags="own", on_error="skip")
    assert (scores.overall.num_errors, scores.overall.num_valid) == (1, 0)
    # As many words, but not the same ones.
    swapped = "(S (NP (. film)) (SYM -) (VP (VBZ works)))"
    with pytest.raises(TreeError, match="word 1 is 'film' in the gold tree but '-' in the predicted one"):
        score(gold, swapped, tags="own")


def test_the_length_counts_punctuation_but_no_traces() -> None:
    gold = "(S (NP (-NONE- *)) (NP (NN film)) (, ,) (VP (VBZ works)) (. .))"
    assert score(gold, gold).sentences.length.tolist() == [4]


def test_short_sentences_have_up_to_40_words() -> None:
    scores = score_brackets(
        [flat(40), flat(41), flat(39, 1), flat(39, 2)], [None, *[flat(41)], flat(40), flat(41)]
    )
    assert (scores.overall.num_sentences, scores.short.num_sentences) == (4, 2)
    assert (scores.short.num_skipped, scores.short.num_valid) == (1, 1)


def test_scores_by_length() -> None:
    gold = [flat(3), flat(10), flat(11), flat(20), flat(35)]
    guess = [flat(3), flat(10), flat(11), tree_from_brackets(f"(X {' '.join(['(NN w)'] * 20)})"), flat(35)]
    scores = score_brackets(gold, guess)
    found = [(part.first, part.last, part.score.num_sentences, part.score.f1) for part in scores.by_length()]
    assert found == [(1, 10, 2, 1.0), (11, 20, 2, 0.5), (31, 40, 1, 1.0)]
    assert [part.first for part in scores.by_length(5)] == [1, 6, 11, 16, 31]
    with pytest.raises(ConfigError):
        scores.by_length(0)


def test_scores_by_label() -> None:
    gold = [tree_from_brackets(FILM)] * 2
    guess = [tree_from_brackets(FILM), tree_from_brackets("(S (X (DT the) (NN film)) (NP (VBZ works)))")]
    found = {
        label.label: (label.gold, label.guessed, label.precision, label.recall, label.f1)
        for label in score_brackets(gold, guess).by_label
    }
    assert found == {
        "NP": (2, 2, 0.5, 0.5, 0.5),
        "S": (2, 2, 1.0, 1.0, 1.0),
        "VP": (2, 1, 1.0, 0.5, 2 / 3),
        "X": (0, 1, 0.0, 0.0, 0.0),
    }
    assert list(found) == ["NP", "S", "VP", "X"]


# --- What this package writes into labels ---


def test_joined_and_inserted_nodes_are_read_back() -> None:
    tree = tree_from_brackets("(ROOT (S (NP (NP (NN a))) (VP (VB b) (NP (NN c)) (PP (IN d)) (ADVP (RB e)))))")
    for changed in (
        collapse_unary(tree),
        binarize(tree),
        binarize(collapse_unary(tree), "left"),
        collapse_unary(binarize(tree, "head")),
    ):
        scores = score_brackets([tree], [changed])
        assert scores.f1 == scores.overall.unlabelled_f1 == scores.overall.tagging_accuracy == 1.0
        assert scores.overall.matched == 7


def test_nodes_without_a_label_are_no_brackets() -> None:
    tree = tree_from_brackets("(S (NP (NN a) (NN b) (NN c)) (VP (VB d) (NP (NN e) (NN f))))")
    assert score_brackets([tree], [to_binary(tree).tree]).f1 == 1.0


def test_words_may_be_escaped_differently() -> None:
    gold = Tree([2, 0, 0], ["NP", "-LRB-", "CD"], ["-LRB-", "1\\/2"])
    assert score_brackets([gold], [Tree([2, 0, 0], ["NP", "X", "CD"], ["(", "1/2"])]).f1 == 1.0


# --- Sentences that do not count ---


def test_other_words_are_an_error_that_names_the_sentence() -> None:
    gold = [tree_from_brackets(FILM)] * 3
    guess = [
        gold[0],
        tree_from_brackets("(S (NP (NN film)) (VP (VBZ works)))"),
        gold[2].with_labels(["X"] * 7),
    ]
    with pytest.raises(
        TreeError, match=r"sentence 2: the gold tree has 3 words, the predicted one 2\n.*on_error='skip'"
    ):
        score_brackets(gold, guess)
    scores = score_brackets(gold, guess, on_error="skip")
    overall = scores.overall
    assert (overall.num_sentences, overall.num_valid, overall.num_errors, overall.num_skipped) == (3, 2, 1, 0)
    assert (overall.matched, overall.gold, overall.guessed) == (3, 6, 7)
    assert [fault.number for fault in scores.faults] == [2]
    with pytest.raises(TreeError, match="word 2 is 'film' in the gold tree but 'Film' in the predicted one"):
        score(FILM, FILM.replace("film", "Film"))


def test_punctuation_may_differ() -> None:
    assert score("(S (NN a) (`` ``))", '(S (NN a) (`` "))').f1 == 1.0


def test_sentences_that_are_skipped() -> None:
    dots = tree_from_brackets("(X (. .) (. .))")
    scores = score_brackets([tree_from_brackets(FILM), dots], [None, dots])
    assert (scores.overall.num_skipped, scores.overall.num_valid, scores.f1) == (2, 0, 0.0)
    assert [fault.problem for fault in scores.faults] == [
        "there is no predicted tree",
        "there are no words besides punctuation",
    ]
    # evalb asks first whether the guess has words.
    scores = score_brackets([tree_from_brackets("(X (NN a))")], [tree_from_brackets("(X (. a))")], tags="own")
    assert scores.overall.num_skipped == 1


def test_no_sentences() -> None:
    scores = score_brackets([], [])
    assert (scores.f1, scores.overall.num_sentences, scores.by_length(), scores.by_label) == (0.0, 0, [], ())


def test_lists_of_different_lengths() -> None:
    tree = tree_from_brackets(FILM)
    with pytest.raises(TreeError, match="sentence 2: there is no predicted tree left"):
        score_brackets([tree, tree], [tree])
    with pytest.raises(TreeError, match="sentence 1: there is no gold tree left"):
        score_brackets([], iter([tree]))


def test_what_cannot_be_scored() -> None:
    with pytest.raises(TreeError, match="dependency tree"):
        score_brackets([DependencyTree.from_parents(["a"], [-1], [""])], [tree_from_brackets("(NN a)")])
    with pytest.raises(ConfigError, match="'gold' or 'own'"):
        score_brackets([], [], tags="guessed")
    with pytest.raises(ConfigError, match="'gold' or 'own'"):
        oracle_score([], [], tags="guessed")


def test_as_plain_data() -> None:
    scores = score_brackets([tree_from_brackets(FILM)] * 2, [tree_from_brackets(FILM), None])
    data = json.loads(json.dumps(scores.as_dict()))
    assert data["overall"]["f1"] == data["short"]["tagging_accuracy"] == data["by_length"][0]["recall"] == 1.0
    assert data["overall"]["num_valid"] == 1
    assert data["by_label"][0] == {
        "label": "NP", "matched": 1, "gold": 1, "guessed": 1, "precision": 1.0, "recall": 1.0, "f1": 1.0
    }  # fmt: skip
    assert data["faults"] == [{"number": 2, "problem": "there is no predicted tree"}]


# --- evalb's own sample ---

SAMPLE_GOLD = "(S (A (P this)) (B (Q is) (A (R a) (T test))))"
SAMPLE_RULES = BracketRules(deleted_tags=frozenset({",", ":", "``", "''"}), equal_labels=(("TT", "T"),))


@pytest.mark.parametrize(
    ("guess", "expected"),
    [
        ("(S (A (P this)) (B (Q is) (A (R a) (T test))))", (4, 4, 4, 0, 4, 4)),
        ("(S (A (P this)) (B (Q is) (C (R a) (T test))))", (3, 4, 4, 0, 4, 4)),
        ("(S (A (P this)) (B (Q is) (A (R a) (U test))))", (4, 4, 4, 0, 4, 3)),
        ("(S (C (P this)) (B (Q is) (A (R a) (U test))))", (3, 4, 4, 0, 4, 3)),
        ("(S (A (P this)) (B (Q is) (R a) (A (T test))))", (3, 4, 4, 0, 4, 4)),
        ("(S (A (P this) (Q is)) (A (R a) (T test)))", (2, 4, 3, 1, 4, 4)),
        ("(S (P this) (Q is) (R a) (T test))", (1, 4, 1, 0, 4, 4)),
        ("(S (A (P this)) (B (Q is) (A (A (R a) (T test)))))", (4, 4, 5, 0, 4, 4)),
        ("(S (A (P this)) (B (Q is) (A (A (A (A (A (R a) (T test))))))))", (4, 4, 8, 0, 4, 4)),
        ("(TOP (S (A (P this)) (B (Q is) (A (R a) (T test)))))", (4, 4, 4, 0, 4, 4)),
        ("(S (A (P this)) (B (Q is) (A (R a) (TT test))))", (4, 4, 4, 0, 4, 4)),
        ("(S (A-SBJ-1 (P this)) (B-WHATEVER (Q is) (A (R a) (T test))))", (4, 4, 4, 0, 4, 4)),
        ("(S (A (P this)) (B (Q was) (A (A (R a) (T test)))))", "error"),
        ("(S (A (P this)) (B (Q is) (U not) (A (A (R a) (T test)))))", "error"),
        ("(S (A (P this)) (NONE *) (B (Q is) (A (R a) (T test))))", "error"),
    ],
)
def test_the_sample_that_comes_with_evalb(guess: str, expected: tuple[int, ...] | str) -> None:
    """The figures are those of evalb's sample.rsl."""
    found = count_sentence(
        tree_from_brackets(SAMPLE_GOLD), tree_from_brackets(guess), tags="own", rules=SAMPLE_RULES
    )
    if isinstance(expected, str):
        assert found.status == expected
    else:
        counts = (found.matched, found.gold, found.guessed, found.crossing, found.words, found.right_tags)
        assert (found.status, counts) == ("valid", expected)


# --- Real parses ---

DATA = Path(os.environ.get("LEXITREE_DATA") or "nowhere")
RECORD = Path(__file__).parents[2] / "results" / "brackets-vs-pyevalb.json"


@pytest.mark.skipif(
    not (DATA / "kbest").is_dir(), reason="LEXITREE_DATA does not lead to the candidate lists"
)
@pytest.mark.parametrize("name", ["wsj00", "mctb_dialogue", "mctb_forum", "mctb_law", "mctb_review"])
def test_the_counts_that_evalb_has_of_real_parses(name: str) -> None:
    """evalb's counts were recorded when it was last compared, sentence by sentence, with these."""
    rows = json.loads(RECORD.read_text(encoding="utf-8"))["rows"]
    (evalb,) = (row["evalb"] for row in rows if (row["file"], row["candidate"]) == (name, "first"))
    lines = (DATA / "kbest" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    sentences = [json.loads(line) for line in lines]
    gold = [tree_from_brackets(sentence["gold"]) for sentence in sentences]
    guessed = [tree_from_brackets(sentence["candidates"][0]["tree"]) for sentence in sentences]
    ours = score_brackets(gold, guessed, tags="own", on_error="skip").overall
    found = {
        "num_errors": ours.num_errors,
        "matched": ours.matched,
        "gold": ours.gold,
        "guessed": ours.guessed,
        "crossing": ours.crossing,
        "words": ours.num_words,
        "right_tags": ours.num_right_tags,
    }
    assert found == {key: evalb[key] for key in found}
    assert score_brackets(gold, guessed).overall.num_errors == 0
