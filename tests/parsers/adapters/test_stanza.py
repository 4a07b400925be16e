"""Against a stand-in with the call shapes of Stanza 1.15, and against the real package where it is installed."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from lexitree.errors import ConfigError, MissingExtraError, ParseMismatchError, ParseRefusedError, ParserError
from lexitree.parsers.adapters import StanzaParser
from lexitree.parsers.adapters.python_packages import tree_from_stanza
from lexitree.trees.brackets import tree_to_brackets


@dataclass
class FakeTree:
    """As `stanza.models.constituency.parse_tree.Tree`: a word is a node without children."""

    label: str
    children: tuple[FakeTree, ...] = ()


def tagged(word: str, tag: str = "NN") -> FakeTree:
    return FakeTree(tag, (FakeTree(word),))


class FakePipeline:
    """As `stanza.Pipeline`: called with lists of words, it gives a document of sentences with trees."""

    made: list[dict[str, Any]]
    calls: list[list[list[str]]]

    def __init__(self, lang: str = "en", **options: Any) -> None:
        FakePipeline.made.append({"lang": lang, **options})
        assert options["download_method"] is None
        assert options["tokenize_pretokenized"]
        if lang == "xx":
            raise FileNotFoundError(
                "Resources file not found at: /models/resources.json  Try to download the model again."
            )
        known = options.get("package", {}).get("constituency", "wsj") in ("wsj", "big")
        self.processors = {"tokenize": 1, "pos": 1, **({"constituency": 1} if known else {})}

    def __call__(self, sentences: list[list[str]]) -> Any:
        FakePipeline.calls.append(sentences)
        if any("toolong" in words for words in sentences):
            raise RuntimeError("CUDA out of memory")
        return SimpleNamespace(
            sentences=[SimpleNamespace(constituency=self.parse(words)) for words in sentences]
        )

    def parse(self, words: list[str]) -> FakeTree | None:
        if "notree" in words:
            return None
        words = ["other" if word == "changed" else word for word in words]
        return FakeTree("ROOT", (FakeTree("NP", tuple(map(tagged, words))),))


@pytest.fixture(autouse=True)
def fake_stanza(monkeypatch: pytest.MonkeyPatch) -> None:
    FakePipeline.made, FakePipeline.calls = [], []
    module = ModuleType("stanza")
    module.Pipeline = FakePipeline  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "stanza", module)


def test_trees_in_batches() -> None:
    parser = StanzaParser(batch_size=2)
    sentences = [["a", "("], ["b\xa0c", '"'], ["d", "e"]]
    trees = list(parser.parse_all(sentences))
    assert [list(tree.words) for tree in trees] == sentences
    assert tree_to_brackets(trees[2]) == "(NP (NN d) (NN e))"
    assert [len(batch) for batch in FakePipeline.calls] == [2, 1]
    assert len(FakePipeline.made) == 1


def test_options_reach_the_pipeline() -> None:
    StanzaParser("big", language="de", model_folder="/models", device="cpu")
    (made,) = FakePipeline.made
    assert made["lang"] == "de"
    assert made["processors"] == "tokenize,pos,constituency"
    assert made["package"] == {"constituency": "big"}
    assert (made["model_dir"], made["device"]) == ("/models", "cpu")


def test_one_sentence_that_fails_is_refused_alone() -> None:
    sentences = [["a"], ["toolong"], ["b"], ["notree"]]
    with pytest.raises(ParseRefusedError, match=r"sentence 2 \(toolong\): RuntimeError: CUDA out of memory"):
        list(StanzaParser().parse_all(sentences))
    parser = StanzaParser(on_refused="flat")
    assert [tree.label for tree in parser.parse_all(sentences)] == ["NP", "X", "NP", "X"]
    assert [refusal.number for refusal in parser.report.refused] == [2, 4]


def test_other_words() -> None:
    with pytest.raises(ParseMismatchError, match="sentence 2"):
        list(StanzaParser().parse_all([["a"], ["changed"]]))


def test_sentences_that_get_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePipeline, "__call__", lambda self, sentences: SimpleNamespace(sentences=[]))
    with pytest.raises(ParserError, match=r"returns 0 trees for 2 sentences \(from sentence 1 on\)"):
        list(StanzaParser().parse_all([["a"], ["b"]]))


def test_models_that_are_not_there() -> None:
    with pytest.raises(ParserError, match="Resources file not found") as caught:
        StanzaParser(language="xx")
    assert 'stanza.download("xx"' in str(caught.value)
    with pytest.raises(ParserError, match="not one of the language's models") as caught:
        StanzaParser("unknown")
    assert '"constituency": "unknown"' in str(caught.value)


def test_the_package_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stanza", None)
    with pytest.raises(MissingExtraError, match=r"\[stanza\]"):
        StanzaParser()


def test_settings_out_of_range() -> None:
    with pytest.raises(ConfigError, match="batch_size"):
        StanzaParser(batch_size=0)


def test_trees_of_any_form() -> None:
    deep = tagged("a")
    for _ in range(5_000):
        deep = FakeTree("NP", (deep,))
    assert tree_from_stanza(deep).num_nodes == 5_001
    mixed = FakeTree("S", (FakeTree("bare"), tagged("b", "VB")))
    assert tree_to_brackets(tree_from_stanza(mixed)) == "(S (_ bare) (VB b))"
    assert tree_to_brackets(tree_from_stanza(FakeTree("word"))) == "(_ word)"


def test_the_real_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delitem(sys.modules, "stanza")
    trees = pytest.importorskip("stanza.models.constituency.parse_tree", reason="Stanza is not installed")
    real = trees.Tree(
        "ROOT",
        [trees.Tree("S", [trees.Tree("UH", [trees.Tree("(")]), trees.Tree("NN", [trees.Tree("yes")])])],
    )
    tree = tree_from_stanza(real)
    assert (tree.labels, tree.words) == (("ROOT", "S", "UH", "NN"), ("(", "yes"))
    with pytest.raises(ParserError, match="cannot be loaded"):
        StanzaParser(model_folder=str(tmp_path))
