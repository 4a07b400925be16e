"""Texts with labels and spans become trees with labels and spans of words, which files hold exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from lexitree.corpora.annotated_texts import AnnotatedText, LabelledSpan
from lexitree.errors import CorpusNotFoundError, Place, TableError
from lexitree.tasks.classify import annotated_trees
from lexitree.tasks.classify.annotated_trees import (
    AnnotatedTrees,
    WordSpan,
    find_annotated,
    parse_annotated,
    read_parsed,
    write_parsed,
)
from lexitree.trees.tree import Tree


class FlatParser:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.num_calls = 0

    def parse_all(self, sentences: Iterable[Sequence[str]]) -> Iterator[Tree]:
        self.num_calls += 1
        for words in sentences:
            flat = Tree.flat(words, "S")
            yield flat.with_labels(["S", *["NN"] * (flat.num_nodes - 1)])


@pytest.fixture
def parser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FlatParser:
    flat = FlatParser()
    monkeypatch.setenv("LEXITREE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(annotated_trees, "opened_parser", lambda *_, **__: nullcontext(flat))
    return flat


def text(words: str, *spans: LabelledSpan, label: str = "") -> AnnotatedText:
    return AnnotatedText(words, label, spans, Place("x.spans.jsonl", 3))


def test_spans_of_characters_become_spans_of_words(parser: FlatParser) -> None:
    rows = [
        text(
            "Bad. The room (small) isn't :)",
            LabelledSpan(9, 20, "-", "aspect"),
            LabelledSpan(0, 2, "-"),
            label="-",
        ),
        text("Fine"),
    ]
    first, second = parse_annotated(rows)
    assert [tree.words[:4] for tree in first.trees] == [("Bad", "."), ("The", "room", "-LRB-", "small")]
    assert first.spans == (WordSpan(1, 1, 4, "-", "aspect"), WordSpan(0, 0, 1, "-"))
    assert (first.label, second.label, second.spans) == ("-", "", ())


def test_a_span_without_words_is_named(parser: FlatParser) -> None:
    with pytest.raises(TableError, match=r"x.spans.jsonl:3: the span from 4 to 5 covers no word"):
        parse_annotated([text("Fine  room", LabelledSpan(4, 5, "+"))])


def test_sentences_are_parsed_once(parser: FlatParser) -> None:
    rows = [text("The room (small) was fine. :("), text("No.")]
    assert [parse_annotated(rows) for _ in range(2)] == [parse_annotated(rows)] * 2
    assert parser.num_calls == 1
    parse_annotated(rows[:1])
    assert parser.num_calls == 2


def test_a_file_holds_them_exactly(parser: FlatParser, tmp_path: Path) -> None:
    rows = parse_annotated(
        [text("Bad. Room :( ok/not", LabelledSpan(5, 9, "-", "aspect"), label="-"), text("No.")]
    )
    path = tmp_path / "train.parsed.jsonl.gz"
    write_parsed(rows, path)
    found = list(read_parsed(path))
    assert [row[:3] for row in found] == [row[:3] for row in rows]
    assert [row.place.line for row in found] == [1, 2]
    assert find_annotated(str(path)).read("train") == found


@pytest.mark.parametrize(
    "line",
    [
        '{"label": "x"}',
        '{"trees": []}',
        '{"trees": ["(S (NN a)"]}',
        '{"trees": ["(NN a)"], "label": 3}',
        '{"trees": ["(NN a)"], "spans": [[0, 0, 2, "x", ""]]}',
        '{"trees": ["(NN a)"], "spans": [[1, 0, 1, "x", ""]]}',
        '{"trees": ["(NN a)"], "spans": [[0, 0]]}',
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "dev.parsed.jsonl"
    path.write_text('{"trees": ["(NN a)"]}\n' + line, encoding="utf-8")
    with pytest.raises(TableError, match=r"dev.parsed.jsonl:2: is not a line of parsed texts"):
        list(read_parsed(path))


def test_parsed_files_take_the_place_of_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    with pytest.raises(CorpusNotFoundError, match="has nothing to train on"):
        find_annotated(str(folder))
    for name in ("train.tsv", "train.spans.jsonl.gz", "dev.tsv", "dev.parsed.jsonl"):
        (folder / name).touch()
    files = find_annotated("corpus", tmp_path)
    assert files.name == "corpus"
    assert {split: [path.name for path in paths] for split, paths in files.splits.items()} == {
        "train": ["train.tsv", "train.spans.jsonl.gz"],
        "dev": ["dev.parsed.jsonl"],
    }


def test_rows_know_their_text(parser: FlatParser) -> None:
    [row] = parse_annotated([text("One. Two.", label="+")], layout="one")
    assert isinstance(row, AnnotatedTrees)
    assert len(row.trees) == 1
