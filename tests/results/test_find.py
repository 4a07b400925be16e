"""Finding phrases by label, walking between them, and tables of them."""

from __future__ import annotations

import builtins
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lexitree
from lexitree.errors import ConfigError, MissingExtraError
from lexitree.labels import SENTIMENTS, LabelSet
from lexitree.results.document import ROW_COLUMNS, Document, to_dataframe
from lexitree.results.labelled_tree import LabelledTree
from lexitree.results.sentence import Phrase, Sentence
from lexitree.text.tokens import Token
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree
from tests.pipeline.stubs import tiny_pipeline
from tests.results.placing import placed
from tests.strategies import trees

STARS = LabelSet(tuple("01234"), dict(zip("01234", SENTIMENTS, strict=True)))


def a_sentence(tree: Tree, sure: float = 0.8) -> Sentence:
    """A sentence with the labels of a tree, which are numbers of stars."""
    rows = np.full((tree.num_nodes, 5), (1 - sure) / 4, dtype=np.float32)
    rows[np.arange(tree.num_nodes), [int(label) for label in tree.labels]] = sure
    ends = np.cumsum([len(word) + 1 for word in tree.words]) - 1
    tokens = [
        Token(word, int(end) - len(word), int(end), word) for word, end in zip(tree.words, ends, strict=True)
    ]
    labelled = LabelledTree(source=tree, label_set=STARS, node_probabilities=rows)
    return placed(labelled, tree, " ".join(tree.words), tokens)


BUT = tree_from_brackets(
    "(1 (3 (2 It) (3 looks good)) (1 (2 but) (0 (1 is) (0 (2 so) (1 dull)))))".replace(
        "looks good", "(2 looks) (3 good)"
    )
)


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ({"label": "negative"}, ["is", "dull"]),
        ({"label": "1"}, ["is", "dull"]),
        ({"label": "very negative"}, ["so dull"]),
        ({"label": ["negative", "very negative"]}, ["is", "dull"]),
        ({"label": "positive"}, ["good"]),
        ({"label": "positive", "minimal": False}, ["It looks good", "looks good", "good"]),
        ({"label": "very positive"}, []),
        ({"label": "negative", "min_probability": 0.9}, []),
        ({"min_probability": 0.8}, ["It", "looks", "good", "but", "is", "so dull", "so", "dull"]),
    ],
)
def test_smallest_phrases_of_a_label(options: dict[str, Any], texts: list[str]) -> None:
    document = Document(" ".join(BUT.words), (a_sentence(BUT),))
    assert [phrase.text for phrase in document.find(**options)] == texts


def test_a_label_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match="no label 'angry'\nThe labels are 'very negative', 'negative'"):
        a_sentence(BUT).find("angry")
    assert Document("", ()).find("angry") == []


@given(trees(labels=tuple("01234"), binary=True), st.sampled_from([None, "negative", ["positive", "4"]]))
@settings(max_examples=60)
def test_minimal_is_what_it_says(tree: Tree, label: Any) -> None:
    """Compared with a search below each phrase."""
    sentence = a_sentence(tree)
    every = {phrase.node: phrase for phrase in sentence.find(label, minimal=False)}

    def below(phrase: Phrase) -> list[Phrase]:
        found = list(phrase.children)
        for part in found:
            found.extend(part.children)
        return found

    def is_minimal(phrase: Phrase) -> bool:
        inside = [part for part in below(phrase) if part.node in every]
        return not any(label is not None or part.label == phrase.label for part in inside)

    assert [phrase.node for phrase in sentence.find(label)] == [n for n, p in every.items() if is_minimal(p)]


def test_up_and_down() -> None:
    sentence = a_sentence(BUT)
    assert sentence.whole.parent is None
    for phrase in sentence.phrases:
        assert all(part.parent == phrase for part in phrase.children)
    assert sentence.tree == BUT
    assert (
        str(sentence.tree)
        == "(1 (3 (2 It) (3 (2 looks) (3 good))) (1 (2 but) (0 (1 is) (0 (2 so) (1 dull)))))"
    )


def test_data_frames() -> None:
    documents = tiny_pipeline()(pd.Series(["The film is good. It is not dull.", None, "The plot is bad."]))
    frame = documents[0].to_dataframe()
    assert tuple(frame.columns) == ROW_COLUMNS
    assert frame.to_dict("records") == documents[0].rows()
    together = to_dataframe(documents)
    assert tuple(together.columns) == ("document", *ROW_COLUMNS)
    assert together["document"].value_counts().to_dict() == {
        number: len(document.rows()) for number, document in enumerate(documents) if document.rows()
    }
    assert tuple(documents[1].to_dataframe().columns) == ROW_COLUMNS
    assert tuple(to_dataframe([]).columns) == ("document", *ROW_COLUMNS)


@pytest.mark.slow
def test_data_frames_of_polars() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    document = tiny_pipeline()("The film is good. It is not dull.")
    assert polars.DataFrame(document.rows()).columns == list(ROW_COLUMNS)


def test_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
        return real(name, *rest)

    monkeypatch.setattr(lexitree.errors.importlib, "import_module", refuse)  # type: ignore[attr-defined]
    with pytest.raises(MissingExtraError, match=r"to_dataframe needs the package 'pandas'(.|\n)*\[pandas\]"):
        Document("", ()).to_dataframe()


def test_what_people_hold_is_short_and_pickles() -> None:
    sentence = a_sentence(BUT)
    document = Document(sentence.document_text, (sentence,))
    held = {
        "Document('It looks good but is so dull', 1 sentence, 'negative' 0.80)": document,
        "Document('', 0 sentences)": Document("", ()),
        "Sentence('It looks good but is so dull', 'negative' 0.80)": sentence,
        "Phrase('so dull', 'very negative' 0.80)": sentence.find("very negative")[0],
        "LabelledTree('It looks good but is so dull', '1')": LabelledTree.from_tree(BUT),
        "Tree(7 words, 13 nodes, label '1': It looks good but is so dull)": BUT,
        "Corpus('mine': train 2; 5 labels)": lexitree.Corpus("mine", {"train": [BUT, BUT]}, STARS, "all"),
    }
    for shown, value in held.items():
        assert repr(value) == shown
        assert repr(pickle.loads(pickle.dumps(value))) == shown


def test_pictures_for_notebooks() -> None:
    for shown in (a_sentence(BUT), LabelledTree.from_tree(BUT), BUT):
        assert (shown._repr_svg_() or "").startswith("<svg ")
    assert Tree.flat(["word"] * 500)._repr_svg_() is None


def test_a_tree_that_brackets_cannot_hold_still_shows_itself() -> None:
    assert str(Tree.flat(["a b", "c"])) == "(_ (_ a_b) (_ c))"
    assert str(Tree.leaf("a", "no label")).startswith("Tree(1 words")
    dependencies = lexitree.DependencyTree.from_parents(["A", "film"], [1, -1])
    assert str(dependencies) == repr(dependencies)
    assert dependencies._repr_svg_() is None
