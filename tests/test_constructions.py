"""In constructed sentences the form decides the label, and they share nothing with the behaviour suite."""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from lexitree.corpora.annotated_texts import AnnotatedText, read_annotated
from tests.behaviour.suite import all_cases
from tests.behaviour.test_apart import sentences_within

sys.path.append(str(Path(__file__).parents[1] / "scripts"))

from known_phrases import TEXTS, KnownPhrases
from write_constructions import (
    Fillers,
    KeptOut,
    Sentence,
    Span,
    Writer,
    decided_sentences,
    finish,
    label_of,
    main,
    read_grammar,
)

DATA = os.environ.get("LEXITREE_DATA")
FAMILIES = frozenset(
    (
        *(
            "contrast",
            "concession",
            "superlative",
            "negated",
            "scope",
            "counterfactual",
            "comparison",
            "degree",
        ),
        *("reported", "event", "irony", "time", "amount", "question", "neutral", "around"),
    )
)
TREES = (
    "(3 (3 (2 the) (2 cast)) (3 (3 (2 is) (3 (3 really) (3 good))) (2 .)))",
    "(1 (1 (2 the) (2 plot)) (1 (1 (2 is) (1 (1 utterly) (1 dull))) (2 .)))",
    "(4 (2 visually) (4 great))",
    "(0 (2 a) (0 (0 terrible) (2 idea)))",
)
TABLES = {
    "sentfin": "positive\tShares rise on good results\nnegative\tShares fall on dull results\nneutral\tBank names a new board",
    "pros-cons": "positive\tgood sound, great buttons, works with all phones\nnegative\tterrible sound",
}
ANY_TABLE = "positive\tThat was really good!\nnegative\tThis is terrible.\nnegative\tIt is not good.\nneutral\tIt is on."
MAMS = (
    ("Great soup, but rude staff.", ("soup", "positive"), ("staff", "negative")),
    ("Although the staff was rude, the soup was great.", ("staff", "negative"), ("soup", "positive")),
    ("Great soup and rude staff.", ("soup", "positive"), ("staff", "negative")),
    (
        "Great soup, but rude staff and great wine.",
        ("soup", "positive"),
        ("staff", "negative"),
        ("wine", "positive"),
    ),
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder as small as it can be."""
    (tmp_path / "sst").mkdir()
    (tmp_path / "sst" / "train.txt").write_text("\n".join(TREES) + "\n")
    for name in TEXTS:
        write_packed(tmp_path / "domains" / name / "train.tsv.gz", TABLES.get(name, ANY_TABLE))
    lines = [json.dumps({"text": text, "spans": spans_in(text, aspects)}) for text, *aspects in MAMS]
    write_packed(tmp_path / "domains" / "mams" / "train.spans.jsonl.gz", "\n".join(lines))
    return tmp_path


def spans_in(text: str, aspects: Iterable[tuple[str, str]]) -> list[dict[str, object]]:
    starts = [(text.index(word), word, label) for word, label in aspects]
    return [
        {"start": at, "end": at + len(word), "label": label, "kind": "aspect"} for at, word, label in starts
    ]


def write_packed(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.write(text + "\n")


def sentences_of(data: Path, seed: int = 1, number: int = 800) -> list[Sentence]:
    writer = Writer(Fillers.read(read_grammar("fillers.toml"), data), seed)
    return list(writer.write(read_grammar("constructions.toml"), number))


def test_there_are_many_constructions_of_all_families() -> None:
    grammar = read_grammar("constructions.toml")
    assert set(grammar) == FAMILIES
    assert sum(map(len, grammar.values())) >= 75
    for names in grammar.values():
        for given in names.values():
            assert set(given) <= {"root", "sides", "topics", "patterns"}
            assert given.get("sides", "+") in ("+", "-")


def test_every_pattern_can_be_filled_about_every_topic(data: Path) -> None:
    fillers = Fillers.read(read_grammar("fillers.toml"), data)
    topics = list(fillers.topics)
    writer = Writer(fillers, 1)
    for family, names in read_grammar("constructions.toml").items():
        for name, given in names.items():
            for topic in given.get("topics", topics):
                fillers.topics = [topic]
                for attempt in range(2 * len(given["patterns"])):
                    for side in {"+": [1], "-": [-1]}.get(given.get("sides", ""), [1, -1]):
                        text = writer.sentence(f"{family}.{name}", given, side, attempt).text
                        assert not re.search(r"[\[\]{}|]|\(n\)|  ", text)
                        assert not text[0].islower() or "://" in text or text.startswith("www")


def test_the_form_decides_the_label(data: Path) -> None:
    by_construction: dict[str, list[Sentence]] = {}
    for sentence in sentences_of(data, number=3000):
        by_construction.setdefault(sentence.construction, []).append(sentence)
    for sentence in by_construction["contrast.but"]:
        end = sentence.text.rstrip(".")
        last = max((span for span in sentence.spans if span.end == len(end)), key=lambda span: span.start)
        first = next(span for span in sentence.spans if span.start == 0 or span.end < last.start)
        assert side_of(last.label) == side_of(sentence.label) == -side_of(first.label)
    for sentence in by_construction["amount.bad_fell"]:
        assert sentence.label == "positive"
    assert {sentence.label for sentence in by_construction["superlative.never"]} == {"0", "4"}
    assert {sentence.label for sentence in by_construction["negated.plain"]} == {"1"}
    assert {sentence.label for sentence in by_construction["reported.open"]} == {""}
    for name, sentences in by_construction.items():
        assert {sentence.label for sentence in sentences} == {"2"} or not name.startswith("neutral.")


def side_of(label: str) -> int:
    return {"0": -1, "1": -1, "negative": -1, "2": 0, "3": 1, "4": 1, "positive": 1}[label]


def test_labels_of_the_notation() -> None:
    assert [label_of(code, 1) for code in ("a", "b", "A", "B", "a1", "b1")] == [
        *("positive", "negative", "4", "0", "3", "1"),
    ]
    assert [label_of(code, -1) for code in ("a", "b", "p", "m", "P", "M", "p1", "n", "o")] == [
        *("negative", "positive", "positive", "negative", "4", "0", "3", "2", ""),
    ]


def test_articles_move_the_spans_behind_them() -> None:
    before = "not a(n) ugly film but a(n) unique one, a(n) hour long. is it a(n) 8?"
    spans = [
        Span(at, at + len(word), word) for word in ("ugly", "unique", "hour") for at in [before.index(word)]
    ]
    text, found = finish(before, [*spans, Span(4, before.index(" film"), "whole")])
    assert text == "Not an ugly film but a unique one, an hour long. Is it an 8?"
    assert [text[span.start : span.end] for span in found] == ["ugly", "unique", "hour", "an ugly"]


def test_known_phrases_agree_with_their_words(data: Path) -> None:
    found = {(topic, kind, *filler) for topic, kind, filler in KnownPhrases(data).fillers()}
    assert found == {
        ("film", "known", "the cast is really good", 1, "3"),
        ("film", "known", "the plot is utterly dull", -1, "1"),
        ("film", "known_adj", "visually great", 1, "4"),
        ("film", "known_adj", "utterly dull", -1, "1"),
        ("film", "known_adj", "really good", 1, "3"),
        ("", "known", "that was really good", 1, "positive"),
        ("", "known", "this is terrible", -1, "negative"),
        ("", "headline", "Shares rise on good results", 1, "positive"),
        ("", "headline", "Shares fall on dull results", -1, "negative"),
        ("", "headline", "Bank names a new board", 0, "2"),
        ("device", "np", "good sound", 1, "positive"),
        ("device", "np", "great buttons", 1, "positive"),
        ("device", "np", "terrible sound", -1, "negative"),
    }


def test_the_conjunction_decides_real_sentences(data: Path) -> None:
    first, second = decided_sentences(data)
    assert (first.text, first.label) == (MAMS[0][0], "negative")
    assert [(first.text[span.start : span.end], span.label) for span in first.spans] == [
        *(
            ("Great soup", "positive"),
            ("rude staff", "negative"),
            ("soup", "positive"),
            ("staff", "negative"),
        ),
    ]
    assert (second.text, second.label) == (MAMS[1][0], "positive")
    assert [second.text[span.start : span.end] for span in second.spans[:2]] == [
        *("Although the staff was rude", "the soup was great"),
    ]


def test_nothing_is_shared_with_what_is_kept_out() -> None:
    kept_out = KeptOut(
        ["I love the long way home, but it rained.", "So bad!", "The {thing} broke after three days."]
    )
    assert kept_out.shares("so bad")
    assert not kept_out.shares("so bad, so sad")
    assert kept_out.shares("It is true that I love the long way home.")
    assert kept_out.shares("The lamp broke after three days.")
    assert kept_out.shares("The lamp broke, and I love the long way.")
    assert not kept_out.shares("The lamp broke, and I love the way.")


def test_the_same_file_is_written_and_can_be_read(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept_out = tmp_path / "kept-out.tsv"
    kept_out.write_text("negative\tGreat soup, but rude staff.\n")
    read: list[list[AnnotatedText]] = []
    for name, seed in (("one", "3"), ("two", "3"), ("three", "4")):
        arguments = [str(tmp_path / name), "--data", str(data), "--number", "400", "--seed", seed]
        monkeypatch.setattr(sys, "argv", ["write_constructions.py", *arguments, "--keep-out", str(kept_out)])
        main()
        read.append(read_annotated([tmp_path / name / "train.spans.jsonl"]))
    files = [(tmp_path / name / "train.spans.jsonl").read_bytes() for name in ("one", "two", "three")]
    assert files[0] == files[1] != files[2]
    assert "left out" in capsys.readouterr().out
    texts = [row.text for row in read[0]]
    assert len(set(texts)) == len(texts) > 350
    assert MAMS[1][0] in texts
    assert MAMS[0][0] not in texts
    labels = {row.label for row in read[0]} | {span.label for row in read[0] for span in row.spans}
    assert labels == {*"01234", "negative", "positive", ""}


@pytest.mark.skipif(DATA is None, reason="the training data are not at hand: LEXITREE_DATA is not set")
def test_no_case_of_the_behaviour_suite_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["write_constructions.py", str(tmp_path)])
    main()
    rows = read_annotated([tmp_path / "train.spans.jsonl"])
    cases = {text for case in all_cases() for text in case.texts}
    assert len(rows) > 19_000
    texts = {row.text for row in rows}
    phrases = {row.text[span.start : span.end] for row in rows for span in row.spans}
    # Numbers, so that a failure shows nothing of the suite to those who write the grammar.
    num_equal = len(cases & texts)
    num_within_cases = len(sentences_within(cases, texts | phrases))
    num_cases_within = len(sentences_within(texts, cases))
    assert (num_equal, num_within_cases, num_cases_within) == (0, 0, 0)
