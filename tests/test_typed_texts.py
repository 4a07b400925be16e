"""Typed texts: the labelled ones say what they mean, and no sentence for a parser is one that something is judged by."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "scripts"))

import write_typed_texts
from write_typed_texts import CHANGES, Judged, frequent_words, main, ratings, sentences_of, signs, vary

LONG = "We walked along the river for an hour and then had soup"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with the treebanks that are kept out, and with texts."""
    (tmp_path / "treebanks").mkdir()
    for name in write_typed_texts.KEPT_OUT:
        (tmp_path / "treebanks" / f"{name}.txt").write_text(
            "(S (NP (PRP I)) (VP (VBP own) (NP (CD two) (NNS kettles))) (. .))\n"
        )
    monkeypatch.setenv("LEXITREE_DATA", str(tmp_path))
    monkeypatch.setattr(
        write_typed_texts, "KEPT_OUT", {**dict.fromkeys(write_typed_texts.KEPT_OUT, 0), "questionbank": 1}
    )
    domain = tmp_path / "domains" / "teas"
    domain.mkdir(parents=True)
    (domain / "dev.tsv").write_text(f"neutral\tThe kettle leaks, badly.\nneutral\t{LONG}.\n")
    (tmp_path / "domains" / "judged").mkdir()
    (tmp_path / "domains" / "judged" / "dev.tsv").write_text("positive\tAnd thanks for the loud fan\n")
    (domain / "train.tsv").write_text(
        "negative\tthe KETTLE leaks badly!! It works, though.\n"
        "neutral\tI own two kettles\n"
        f"neutral\t{LONG} with plenty of bread.\n"
        "positive\tYou should thank [NAME] for the warm tea.\n"
        "neutral\tNo.\nneutral\t?!\nneutral\tand thanks for the loud fan :)\n"
    )
    return tmp_path


def write(monkeypatch: pytest.MonkeyPatch, output: Path, *arguments: str) -> list[str]:
    monkeypatch.setattr(sys, "argv", ["write_typed_texts.py", str(output), *arguments])
    main()
    return output.read_text(encoding="utf-8").splitlines()


def test_ratings_and_signs_have_their_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = write(monkeypatch, tmp_path / "typed.tsv")
    assert len(set(lines)) == len(lines)
    labels = {text: label for label, text in (line.split("\t") for line in lines)}
    assert len(labels) == len(lines)
    expected = {
        "1/5": "negative",
        "★★★☆☆": "neutral",
        "10/10": "positive",
        ":)": "positive",
        "The food :(": "negative",
    }
    assert {text: labels[text] for text in expected} == expected


def test_no_sentence_is_one_that_something_is_judged_by(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("--sentences", "domains/teas", "domains/judged", "--copies", "0")
    lines = write(monkeypatch, data / "out" / "texts.txt", *arguments)
    written = ["It works, though.", "No."]
    assert lines[:1] == written[:1]
    assert lines[2:3] == written[1:]
    assert lines[1] in {f"You should thank {name} for the warm tea." for name in write_typed_texts.NAMES}
    assert set(lines[3:]) == {text for _, text in (*ratings(), *signs())}
    (data / "more.tsv").write_text("positive\tThank you\tIt works, though, I say\n")
    assert write(monkeypatch, data / "texts.txt", *arguments, "--without", str(data / "more.tsv")) == lines
    (data / "more.tsv").write_text("positive\tYou should thank Anna for the warm tea\n")
    monkeypatch.setattr(write_typed_texts, "NAMES", ("Anna",))
    without = write(monkeypatch, data / "texts.txt", *arguments, "--without", str(data / "more.tsv"))
    assert without == [lines[0], *lines[2:]]
    trees = data / "more.txt"
    trees.write_text(
        "(X (X it) (X works) (-NONE- *) (X ,) (X though) (X now))\n(X (X You) (X should) (X thank) (X Anna) (X for) (X the) (X warm) (X tea))\n"
    )
    assert write(monkeypatch, data / "texts.txt", *arguments, "--without", str(trees)) == without


def test_texts_are_alike_but_for_their_writing_or_their_ends() -> None:
    judged = Judged(["The kettle, it leaks. Badly so.", f"{LONG}.", "Thank you very much"])
    dropped = [
        "the kettle it leaks badly so",
        "The  kettle: it leaks!",
        f"{LONG} by the sea",
        f"Later {LONG.lower()}",
    ]
    kept = ["Badly so", "The kettle leaks", "Thank you", "We walked along the river."]
    assert judged.drop([*dropped, *kept, *kept]) == kept
    assert judged.num_dropped == len(dropped)


def test_the_same_copies_are_written_every_time(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_copies(seed: str) -> list[str]:
        arguments = ("--sentences", "mini-reviews", "domains/teas", "--copies", "2", "--seed", seed)
        return write(monkeypatch, data / "texts.txt", *arguments)

    lines = write_copies("3")
    assert write_copies("3") == lines
    assert write_copies("4") != lines
    assert len(set(lines)) == len(lines)
    reviews = write_typed_texts.training_sentences(["mini-reviews"])
    assert set(reviews) & set(lines)
    assert Judged(write_typed_texts.judged_texts(["mini-reviews", "domains/teas"])).drop(lines) == lines


def test_a_copy_is_changed_in_every_way() -> None:
    """Each change is seen on a sentence that it concerns."""
    sentences = ["You should try it, because it is good.", "It works well with tea."]
    changed: set[int] = set()
    for number, (share, change) in enumerate(CHANGES):
        assert 0 < share < 1
        rng = np.random.default_rng(1)
        for _ in range(20):
            changed |= {number for text in sentences if change(text, rng) not in (text, "")}
    # They begin with a capital already.
    assert set(range(len(CHANGES))) - changed == {2}
    assert CHANGES[0][1]("You should try it.", np.random.default_rng(1)) == "try it."
    assert CHANGES[1][1]("It works.", np.random.default_rng(1)) == "works."
    assert CHANGES[2][1]("works.", np.random.default_rng(1)) == "Works."
    assert CHANGES[4][1]("I don't know, you see", np.random.default_rng(1)) == "idk, u see"
    rng = np.random.default_rng(2)
    assert all(vary(sentence, rng) != sentence for sentence in (*sentences, "5", "Ok") for _ in range(20))


def test_sentences_have_words_and_an_end() -> None:
    assert list(sentences_of("It works. Try it :)")) == ["It works.", "Try it :)"]
    assert list(sentences_of("?! ...")) == []
    assert list(sentences_of("tea " * 81)) == []
    assert sorted(frequent_words(["Tea, tea and Tea"] * 10 + ["and 20 20"] * 10)) == ["Tea", "and"]
