"""Drivers: what is counted is what a plain reading of the rules counts, on every page and in every table."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lexitree.analysis.driver_counts import MAX_GROUPS, find_drivers
from lexitree.analysis.driver_mentions import explains, kinds_of_labels
from lexitree.analysis.driver_report import DRIVER_COLUMNS, DriverReport
from lexitree.errors import ConfigError, FileError
from lexitree.evaluation.intervals import Share
from lexitree.labels import SENTIMENTS, LabelSet
from lexitree.results.document import Document
from lexitree.results.labelled_tree import LabelledTree
from lexitree.results.sentence import Phrase, Sentence
from lexitree.text.sentences import split_sentences
from lexitree.trees.tree import Tree
from tests.pipeline.stubs import right_branching
from tests.results.placing import placed
from tests.views.test_page import HOSTILE, check

STARS = LabelSet(tuple("01234"), dict(zip("01234", SENTIMENTS, strict=True)))
TOPICS = LabelSet(("price", "service"))
GOOD, BAD = ("good", "great", "fine"), ("bad", "dull", "slow")
TAGS = {"the": "DT", "is": "VBZ", "it": "PRP", "and": "CC", ",": ",", ".": "."}


def a_document(text: str, labels: LabelSet = STARS, *, heads: bool = True) -> Document:
    """Words have the label of their first letters, a phrase that of its last word that has one, and it is its head."""
    sentences: list[Sentence] = []
    for tokenized in split_sentences(text):
        words = [token.form for token in tokenized.tokens]
        binary = right_branching(words)
        parse = binary.with_labels(
            [TAGS.get(word.lower(), "NN") if word else "X" for word in binary.node_words]
        )
        places = [_place(binary.phrase(node), labels) for node in range(binary.num_nodes)]
        rows = np.full((binary.num_nodes, len(labels)), 0.1 / (len(labels) - 1), dtype=np.float32)
        rows[np.arange(binary.num_nodes), places] = 0.9
        labelled = LabelledTree(
            source=binary,
            label_set=labels,
            node_probabilities=rows,
            head_index=np.array([_head(binary, node) for node in range(binary.num_nodes)]) if heads else None,
        )
        sentences.append(placed(labelled, parse, text, tokenized.tokens))
    return Document(text, tuple(sentences))


def _place(words: tuple[str, ...], labels: LabelSet) -> int:
    if len(labels) == 2:
        return len(words[-1]) % 2
    strong = [3 if word.lower() in GOOD else 1 for word in words if word.lower() in GOOD + BAD]
    return strong[-1] if strong else 2


def _head(tree: Tree, node: int) -> int:
    start, words = int(tree.starts[node]), tree.phrase(node)
    strong = [place for place, word in enumerate(words) if word.lower() in GOOD + BAD]
    return start + (strong[-1] if strong else 0)


TEXTS = [
    "The film is good, and it is great.",
    "The plot is bad. It is Bad, bad and dull.",
    "It is fine.",
    "",
    "The film is slow and bad.",
    "The film is here.",
    "It is good and it is dull.",
]
GROUPS = ["a", "b", "a", "b", "b", None, "a"]


def counted_plainly(documents: list[Document]) -> dict[tuple[str, str], Counter[str]]:
    """Texts, phrases and texts of the label for each driver, by looking below and around every phrase."""
    counts: dict[tuple[str, str], Counter[str]] = {}

    def side(phrase: Phrase) -> str | None:
        assert phrase.head is not None
        is_content = phrase.head.lower() in GOOD + BAD or phrase.head.lower() not in TAGS
        side = kinds_of_labels(phrase.sentence.label_set)[phrase.label]
        return side if is_content and side != "neutral" and phrase.head.isalpha() else None

    for document in documents:
        seen: set[tuple[str, str]] = set()
        for phrase in document.phrases:
            inside = list(phrase.children)
            for part in inside:
                inside.extend(part.children)
            if side(phrase) is None or any(side(part) == side(phrase) for part in inside):
                continue
            key = side(phrase) or "", phrase.head.lower() if phrase.head else ""
            count = counts.setdefault(key, Counter())
            count["phrases"] += 1
            if key not in seen:
                count["texts"] += 1
                kinds = kinds_of_labels(phrase.sentence.label_set)
                count["labelled"] += kinds[document.label or ""] == key[0]
            seen.add(key)
    return counts


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return [a_document(text) for text in TEXTS]


@pytest.fixture(scope="module")
def report(documents: list[Document]) -> DriverReport:
    return find_drivers(documents, groups=GROUPS, by="shop")


def test_counts_are_those_of_a_plain_count(documents: list[Document], report: DriverReport) -> None:
    plain = counted_plainly(documents)
    assert {(driver.label, driver.head) for driver in report.drivers} == set(plain)
    for driver in report.drivers:
        count = plain[driver.label, driver.head]
        assert driver.num_occurrences == count["phrases"]
        assert driver.texts == Share(count["texts"], 6)
        assert driver.labelled == Share(count["labelled"], count["texts"])
        base = report.text_labels[driver.label].value
        assert driver.excess == pytest.approx(count["labelled"] - base * count["texts"], abs=1e-5)
    assert plain["negative", "bad"] == {"phrases": 4, "texts": 2, "labelled": 2}
    assert report.num_texts == 6
    assert report.num_empty == 1
    assert report.labels == ("negative", "neutral", "positive")
    assert {label: share.count for label, share in report.text_labels.items()} == {
        "negative": 3,
        "neutral": 1,
        "positive": 2,
    }


def test_groups(report: DriverReport) -> None:
    assert report.num_without_group == 1
    (bad,) = [driver for driver in report.drivers if driver.head == "bad"]
    assert bad.groups == {"a": Share(0, 3), "b": Share(2, 2)}
    assert bad.change is not None
    assert bad.change[0] == 1.0
    assert list(report.groups or {}) == ["a", "b"]
    with pytest.raises(ConfigError, match="fewer groups than documents: none for document 2"):
        find_drivers([a_document("Good."), a_document("Bad.")], groups=["a"])
    with pytest.raises(ConfigError, match="more groups than documents"):
        find_drivers([a_document("Good.")], groups=pd.Series(["a", "b"]))
    many = [a_document("Good.")] * (MAX_GROUPS + 1)
    with pytest.raises(ConfigError, match="more than 60 different values"):
        find_drivers(many, groups=list(map(str, range(len(many)))))
    assert list(find_drivers(many[:3], groups=["10", "9", "9"]).groups or {}) == ["9", "10"]


def test_examples_are_linked_to_their_rows(report: DriverReport) -> None:
    (bad,) = [driver for driver in report.drivers if driver.head == "bad"]
    assert [text.row for text, _ in bad.examples] == [2, 5]
    for text, mention in bad.examples:
        assert text.text == TEXTS[text.row - 1]
        assert text.text[mention.start : mention.end].lower() == "bad"
    page = report.html()
    for row in {text.row for driver in report.drivers for text, _ in driver.examples}:
        assert f'href="#row-{row}"' in page
        assert page.count(f'id="row-{row}"') == 1


def page_tables(page: str) -> list[list[list[str]]]:
    """The cells of each table of drivers, as text."""
    tables: list[list[list[str]]] = []
    for table in re.findall(r'<table class="lt-drivers">(.*?)</tbody></table></section>', page, re.DOTALL):
        body = table.partition("<tbody>")[2]
        cells = [
            re.findall(r"<t[hd][ >].*?</t[hd]>", _without_details(row)) for row in body.split("</tr><tr ")
        ]
        tables.append([[_text(cell) for cell in row] for row in cells])
    return tables


def _without_details(row: str) -> str:
    return re.sub(r"<details.*?</details>|<svg.*?</svg>|<span class=\"lt-phrases\">.*?</span>", "", row)


def _text(cell: str) -> str:
    return unescape(re.sub(r"<[^>]*>", " ", "<" + cell.partition("<")[2])).strip()


def test_the_numbers_on_the_page_are_those_of_a_plain_count(
    documents: list[Document], report: DriverReport
) -> None:
    plain = counted_plainly(documents)
    labels, *tables = page_tables(report.html())
    assert [row[0] for row in labels] == ["negative", "neutral", "positive"]
    assert [row[2] for row in labels] == ["3", "1", "2"]
    shown = {
        (label, row[0]): row
        for label, table in zip(("negative", "positive"), tables, strict=True)
        for row in table
    }
    assert set(shown) == set(plain)
    for key, (_, _, texts, phrases, share, labelled, groups, _) in shown.items():
        count = plain[key]
        low, high = Share(count["texts"], 6).interval
        assert (int(texts), int(phrases)) == (count["texts"], count["phrases"])
        assert share.split() == [f"{100 * count['texts'] / 6:.1f}", "%", f"{100 * low:.1f}–{100 * high:.1f}"]
        assert labelled.startswith(f"{100 * count['labelled'] / count['texts']:.1f} %")
        rows = [
            place
            for place, document in enumerate(documents)
            if counted_plainly([document]).get(key) and GROUPS[place] == "b"
        ]
        assert groups.split("→")[1].split()[0] == f"{100 * len(rows) / 2:.1f}"


def test_tables(report: DriverReport, tmp_path: Path) -> None:
    rows = report.rows()
    assert all(tuple(row) == DRIVER_COLUMNS for row in rows)
    assert len(rows) == 3 * len(report.drivers)
    assert report.to_dataframe().shape == (len(rows), len(DRIVER_COLUMNS))
    for name, delimiter in (("drivers.csv", ","), ("drivers.tsv", "\t")):
        report.save(tmp_path / name)
        with open(tmp_path / name, encoding="utf-8", newline="") as stream:
            written = list(csv.DictReader(stream, delimiter=delimiter))
        assert [row["head"] for row in written] == [row["head"] for row in rows]
        assert [float(row["share_low"]) for row in written] == [row["share_low"] for row in rows]
    report.save(tmp_path / "drivers.json")
    values = json.loads((tmp_path / "drivers.json").read_text(encoding="utf-8"))
    assert values == json.loads(json.dumps(report.as_dict()))
    assert values["drivers"][0]["groups"]["b"]["total"] == 2
    report.save(tmp_path / "drivers.html")
    assert (tmp_path / "drivers.html").read_text(encoding="utf-8") == report.html()
    for name in ("drivers.pdf", "drivers.csv.gz"):
        with pytest.raises(FileError, match=r"cannot be written as .*\nEndings that fit: .html"):
            report.save(tmp_path / name)
    assert repr(report) == "DriverReport(6 texts; drivers: 3 negative, 3 positive)"


def test_labels_without_an_order_have_drivers_each() -> None:
    report = find_drivers([a_document("cheap fare", TOPICS), a_document("rude staffs", TOPICS)])
    assert report.labels == ("price", "service")
    assert {driver.label for driver in report.drivers} == {"price", "service"}
    assert "What makes texts price or service" in report.html()
    with pytest.raises(ConfigError, match="text 2 was labelled by a model with other labels"):
        find_drivers([a_document("cheap fare", TOPICS), a_document("It is bad.")])


def test_without_head_words_phrases_are_counted_by_their_words() -> None:
    report = find_drivers([a_document("It is bad.", heads=False), a_document("Bad", heads=False)])
    assert [(driver.head, driver.texts.count) for driver in report.drivers] == [("bad", 2)]


def test_no_texts_no_drivers() -> None:
    for documents in ([], [a_document("")], [a_document("It is.")]):
        report = find_drivers(documents)
        assert report.drivers == ()
        check(report.html())
        assert report.rows() == []


@pytest.mark.parametrize(
    ("word", "tag", "is_kept"),
    [
        ("bad", "JJ", True),
        ("über", "JJ", True),
        ("of", "", True),
        ("of", "IN", False),
        ("the", "DT", False),
        ("Was", "VBD", False),
        ("n’t", "RB", False),
        ("42", "CD", False),
        ("...", ":", False),
    ],
)
def test_words_that_explain_nothing(word: str, tag: str, is_kept: bool) -> None:
    assert explains(word, tag) == is_kept


@pytest.mark.parametrize(
    ("ids", "kinds"),
    [
        (("1", "2", "3"), ["negative", "neutral", "positive"]),
        (("0", "1"), ["negative", "positive"]),
        (("x", "y"), ["x", "y"]),
    ],
)
def test_kinds_of_labels(ids: tuple[str, ...], kinds: list[str]) -> None:
    assert list(kinds_of_labels(LabelSet(ids)).values()) == kinds


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_text_of_a_user_runs(hostile: str) -> None:
    documents: list[Any] = [a_document(f"It is bad {hostile} {text}") for text in TEXTS]
    report = find_drivers(documents, groups=[hostile, "b", *GROUPS[2:]], by=hostile)
    page = report.html()
    check(page)
    check(report._repr_html_())
    assert "script" not in re.sub(r"&lt;.*?&gt;|javascript:alert", "", page.partition("</head>")[2])
    assert "default-src 'none'" in page
