from __future__ import annotations

import io
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from lexitree.errors import (
    BracketError,
    EncodingError,
    FileError,
    ParseMismatchError,
    ParseRefusedError,
    ParserError,
)
from lexitree.parsers.adapters import BracketsParser
from lexitree.trees.brackets import tree_to_brackets

SENTENCES = [["the", "film", "works"], ["(", "it", ")"]]
LINES = ["(ROOT (S (NP (DT the) (NN film)) (VBZ works)))", "(ROOT (X (-LRB- -LRB-) (PRP it) (-RRB- -RRB-)))"]
SPREAD = "( (S\n    (NP (DT the) (NN film))\n    (VBZ works)))\n\n(ROOT\n  (X (-LRB- -LRB-) (PRP it)\n (-RRB- -RRB-)))\n"


def write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "trees.txt"
    path.write_text(text, encoding=encoding)
    return path


@pytest.mark.parametrize("text", ["\n".join(LINES), "\n\n".join(LINES) + "\n", SPREAD])
def test_trees_of_a_file_are_matched_with_sentences(tmp_path: Path, text: str) -> None:
    with BracketsParser(write(tmp_path, text)) as parser:
        trees = list(parser.parse_all(SENTENCES))
        assert list(parser.parse_all(SENTENCES)) == trees
    assert tree_to_brackets(trees[0]) == "(S (NP (DT the) (NN film)) (VBZ works))"
    assert trees[1].words == ("(", "it", ")")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(LINES).encode())))
    assert len(list(BracketsParser("-").parse_all(SENTENCES))) == 2


def test_too_few_trees(tmp_path: Path) -> None:
    parser = BracketsParser(write(tmp_path, LINES[0]))
    with pytest.raises(ParserError, match="the trees end before sentence 2"):
        list(parser.parse_all(SENTENCES))


def test_too_many_trees(tmp_path: Path) -> None:
    parser = BracketsParser(write(tmp_path, "\n".join(LINES)))
    with pytest.raises(ParserError, match=r"trees.txt:2: more trees than the 1 sentences"):
        list(parser.parse_all(SENTENCES[:1]))


def test_trees_in_another_order(tmp_path: Path) -> None:
    parser = BracketsParser(write(tmp_path, "\n".join(LINES)))
    with pytest.raises(ParseMismatchError, match="sentence 1 has different words"):
        list(parser.parse_all(SENTENCES[::-1]))


@pytest.mark.parametrize(
    ("layout", "missing"), [("free", "(())"), ("line", ""), ("line", "(()))"), ("line", "(S (")]
)
def test_a_missing_tree_may_become_flat(tmp_path: Path, layout: str, missing: str) -> None:
    path = write(tmp_path, f"{missing}\n{LINES[1]}\n")
    with pytest.raises(ParseRefusedError, match="sentence 1"):
        list(BracketsParser(path, layout=layout).parse_all(SENTENCES))  # type: ignore[arg-type]
    parser = BracketsParser(path, layout=layout, on_refused="flat")  # type: ignore[arg-type]
    trees = list(parser.parse_all(SENTENCES))
    assert tree_to_brackets(trees[0]) == "(X (_ the) (_ film) (_ works))"
    assert parser.report.num_refused == 1


def test_a_malformed_tree_names_its_line(tmp_path: Path) -> None:
    parser = BracketsParser(write(tmp_path, LINES[0] + "\nfilm\n"), on_refused="flat")
    with pytest.raises(BracketError, match=r"trees.txt:2:1: text outside of brackets"):
        list(parser.parse_all(SENTENCES))


def test_a_missing_file() -> None:
    with pytest.raises(FileError, match="no-such-file"):
        list(BracketsParser("no-such-file").parse_all(SENTENCES))


def test_another_encoding(tmp_path: Path) -> None:
    path = write(tmp_path, "(NN naïve)", "latin-1")
    assert next(BracketsParser(path, encoding="latin-1").parse_all([["naïve"]])).words == ("naïve",)
    with pytest.raises(EncodingError):
        list(BracketsParser(path).parse_all([["naïve"]]))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, (LINES[0] + "\n") * 20_000)

    def sentences() -> Iterator[list[str]]:
        for _ in range(20_000):
            yield SENTENCES[0]

    tracemalloc.start()
    try:
        assert sum(1 for _ in BracketsParser(path).parse_all(sentences())) == 20_000
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
