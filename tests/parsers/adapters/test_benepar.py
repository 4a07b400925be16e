"""Against a stand-in with the call shapes of benepar 0.2.0, which gives trees of NLTK's."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from lexitree.errors import (
    LexitreeError,
    MissingExtraError,
    ParseMismatchError,
    ParseRefusedError,
    ParserError,
)
from lexitree.parsers.adapters import BeneparParser
from lexitree.trees.brackets import tree_to_brackets


class FakeNltkTree(list[Any]):
    """As `nltk.Tree`: a list with a label."""

    def __init__(self, label: str, parts: Iterable[Any]) -> None:
        super().__init__(parts)
        self._label = label

    def label(self) -> str:
        return self._label


@dataclass
class FakeInputSentence:
    """As `benepar.InputSentence`."""

    words: list[str] | None = None
    space_after: list[bool] | None = None
    tags: list[str] | None = None
    escaped_words: list[str] | None = None


class FakeParser:
    """As `benepar.Parser`."""

    seen: list[list[str]]

    def __init__(self, name: str, batch_size: int = 64, language_code: str | None = None) -> None:
        if name == "benepar_none":
            raise LookupError("\n*****\n  Resource benepar_none not found.\n*****")
        if name == "benepar_old":
            raise AttributeError("T5TokenizerFast has no attribute build_inputs_with_special_tokens")
        self.name = name
        self.batch_size = batch_size

    def parse_sents(self, sents: Iterable[FakeInputSentence]) -> Iterator[FakeNltkTree]:
        for sent in sents:
            assert sent.words is not None
            assert sent.escaped_words is not None
            FakeParser.seen.append(sent.words)
            if "toolong" in sent.words:
                raise ValueError("Sentence of length 1000 is too long for the encoder")
            leaves = [
                FakeNltkTree("NN", ["other" if word == "changed" else word]) for word in sent.escaped_words
            ]
            yield FakeNltkTree("TOP", [FakeNltkTree("NP", leaves)])


@pytest.fixture(autouse=True)
def fake_benepar(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeParser.seen = []
    module = ModuleType("benepar")
    module.Parser, module.InputSentence = FakeParser, FakeInputSentence  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "benepar", module)


def test_trees_with_the_words_as_they_were_given() -> None:
    sentences = [["a", "-LRB-", "\\/"], ["b\xa0c", '"'], ["d"]]
    trees = list(BeneparParser(batch_size=2).parse_all(sentences))
    assert [list(tree.words) for tree in trees] == sentences
    assert tree_to_brackets(trees[0]) == "(NP (NN a) (NN -LRB-) (NN \\/))"
    assert FakeParser.seen[0] == ["a", "(", "/"]


def test_one_sentence_that_fails_is_refused_alone() -> None:
    sentences = [["a"], ["toolong"], ["b"]]
    with pytest.raises(
        ParseRefusedError, match=r"sentence 2 \(toolong\): ValueError: Sentence of length 1000"
    ):
        list(BeneparParser().parse_all(sentences))
    parser = BeneparParser(on_refused="flat")
    assert [tree.label for tree in parser.parse_all(sentences)] == ["NP", "X", "NP"]
    assert parser.report.num_refused == 1


def test_other_words() -> None:
    with pytest.raises(ParseMismatchError, match="sentence 2"):
        list(BeneparParser().parse_all([["a"], ["changed"]]))


def test_models_that_are_not_there() -> None:
    with pytest.raises(ParserError, match="'benepar_none' is missing") as caught:
        BeneparParser("benepar_none")
    assert 'benepar.download("benepar_none")' in str(caught.value)
    with pytest.raises(ParserError, match="cannot be loaded"):
        BeneparParser("benepar_old")


def test_the_default_model() -> None:
    assert "benepar_en3" in BeneparParser().name


def test_the_package_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "benepar", None)
    with pytest.raises(MissingExtraError, match=r"\[benepar\]"):
        BeneparParser()


def test_a_package_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "benepar.py").write_text("import no_such_dependency\n")
    monkeypatch.delitem(sys.modules, "benepar")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(LexitreeError, match=r"installed but cannot be imported .*no_such_dependency"):
        BeneparParser()
