"""Natural text from treebank words, and the same words from that text again."""

from __future__ import annotations

from pathlib import Path

import pytest

from lexitree.text import detokenize, tokenize
from lexitree.trees.brackets import read_trees

NATURAL = [
    ("It 's a good film , is n't it ?", "It's a good film, isn't it?"),
    ("I ca n't say they 've won", "I can't say they've won"),
    ("`` Frailty '' works .", '"Frailty" works.'),
    ("` Tadpole ' was one .", "'Tadpole' was one."),
    ("the ` Damned . '", "the 'Damned.'"),
    ("-LRB- Taymor -RRB- utilizes", "(Taymor) utilizes"),
    ("-LRB- `` Cat '' -RRB- , too", '("Cat"), too'),
    ("a -LSB- b -RSB- -LCB- c -RCB-", "a [b] {c}"),
    ("Stevens ' vibrant film", "Stevens' vibrant film"),
    ("you can not go", "you cannot go"),
    ("you 're gon na like it", "you're gonna like it"),
    ("the writer\\/director", "the writer/director"),
    ("kicking \\*\\*\\*", "kicking ***"),
    ("pay $ 9 for # 3", "pay $9 for #3"),
    ("100 % sure", "100% sure"),
    ("good -- no , great ... really", "good -- no, great... really"),
    ("... a sour movie", "... a sour movie"),
    ("pranks , etc. .", "pranks, etc."),
    ("he left `` the U.S. . ''", 'he left "the U.S."'),
    ("Mr. Zhang 's film", "Mr. Zhang's film"),
    ("the '70s and 'em", "the '70s and 'em"),
    ("Lilo & Stitch", "Lilo & Stitch"),
    ("career - kids = misery", "career - kids = misery"),
    ("What ?", "What?"),
    ("'t is so , y' all", "'tis so, y'all"),
    ("` Tadpole ' 's hero", "'Tadpole' 's hero"),
    ("for . .", "for. ."),
    ("Good :--RRB-", "Good :-)"),
    ("word", "word"),
    (".", "."),
    ("'s", "'s"),
]


@pytest.mark.parametrize(("words", "text"), NATURAL)
def test_natural_text(words: str, text: str) -> None:
    assert detokenize(words.split()) == text


@pytest.mark.parametrize(("words", "text"), NATURAL)
def test_the_words_come_back(words: str, text: str) -> None:
    assert [token.form for token in tokenize(text)] == words.split()


def test_repeated_marks_are_joined_and_come_back_as_one() -> None:
    assert detokenize(["What", "?", "!"]) == "What?!"
    assert [token.form for token in tokenize("What?!")] == ["What", "?"]


def test_no_words_are_no_text() -> None:
    assert detokenize([]) == ""


def test_straight_and_curly_quotes_are_treebank_words_too() -> None:
    assert detokenize(["he", "said", '"', "yes", '"', "to", '"', "it", '"']) == 'he said "yes" to "it"'
    assert (
        detokenize(["he", "said", "“", "yes", "”", "to", "‘", "it", "’", ",", "it", "’s"])
        == "he said “yes” to ‘it’, it’s"
    )


def test_words_of_any_kind_are_taken() -> None:
    assert detokenize(["", "a", "", "."]) == " a ."


@pytest.mark.parametrize(("split", "least"), [("train", 0.996), ("dev", 0.997)])
def test_the_words_of_sst_come_back(real_data: Path, split: str, least: float) -> None:
    sentences = [list(tree.words) for tree in read_trees(real_data / "sst" / f"{split}.txt")]
    same = sum([token.form for token in tokenize(detokenize(words), "one")] == words for words in sentences)
    assert same / len(sentences) >= least
