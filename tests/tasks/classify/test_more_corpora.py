"""A run learns from several corpora: their labels, coarser ones and spans among them, find their nodes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lexitree.arrays import NO_INDEX
from lexitree.corpora.corpus import Corpus
from lexitree.corpora.further import Grain
from lexitree.corpora.named import load_corpus
from lexitree.errors import ConfigError, FileError, TableError
from lexitree.labels import LabelSet
from lexitree.learning.run_folder import LESSONS_FILE
from lexitree.models.inference import run_examples
from lexitree.saving.pretrained import from_pretrained
from lexitree.tasks.classify.building import load_recipe_corpus
from lexitree.tasks.classify.more_corpora import CorpusPlan, with_more
from lexitree.tasks.classify.more_learning import MoreLearning, mean_score
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.classify.run import train, train_seeds
from lexitree.tasks.classify.teaching import read_lessons
from tests.tiny import tiny_model, tiny_polarity, tiny_recipe, tiny_trees, write_treebank

ROOM = "(S (NP (DT The) (NN room)) (VP (VBZ is) (ADJP (JJ bad))))"
STAFF = "(NP (JJ fine) (NN staff))"
LINES: list[dict[str, Any]] = [
    {
        "trees": [ROOM],
        "label": "negative",
        "spans": [[0, 1, 2, "negative", "aspect"], [0, 3, 4, "negative", "opinion"]],
    },
    {"trees": [STAFF, ROOM], "spans": [[0, 1, 2, "positive", "aspect"]]},
    {"trees": [STAFF], "label": "positive", "spans": []},
    {"trees": [ROOM], "spans": [[0, 0, 2, "neutral", "aspect"], [0, 1, 2, "positive", "aspect"]]},
]
FIVE = LabelSet(
    tuple("01234"),
    {"0": "very negative", "1": "negative", "2": "neutral", "3": "positive", "4": "very positive"},
)


def write_parsed(
    folder: Path, train: list[dict[str, Any]] = LINES, dev: list[dict[str, Any]] | None = None
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for split, lines in (("train", train), ("dev", dev)):
        if lines is not None:
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (folder / f"{split}.parsed.jsonl").write_text(text, encoding="utf-8")
    return folder


def five_labels(supervision: Any = "all") -> Corpus:
    return Corpus("main", {"train": tuple(tiny_trees(3)), "dev": tuple(tiny_trees(2, 5))}, FIVE, supervision)


def added(folder: Path, *, main: Corpus | None = None, **settings: Any) -> Corpus:
    return with_more(main or five_labels(), [CorpusPlan(corpus=str(folder), **settings)])


def labelled(corpus: Corpus) -> list[dict[str, int]]:
    """For each training tree of the first further corpus, its labelled phrases with their numbers."""
    [further] = corpus.further
    return [
        {
            " ".join(tree.phrase(node)): int(number)
            for node, number in enumerate(numbers)
            if number != NO_INDEX
        }
        for tree, numbers in zip(further.train.trees, further.train.label_index, strict=True)
    ]


def test_labels_of_texts_and_spans_find_their_nodes(tmp_path: Path) -> None:
    corpus = added(write_parsed(tmp_path / "hotels"), weight=2.0, span_weight=0.5)
    [further] = corpus.further
    assert (further.name, further.first_grain, further.first_tree) == ("hotels", 5, 3)
    assert further.groups == {"negative": (0, 1), "neutral": (2,), "positive": (3, 4)}
    sentence, span = {"-": 5, "o": 6, "+": 7}, {"-": 8, "o": 9, "+": 10}
    assert labelled(corpus) == [
        {"The room is bad": sentence["-"], "bad": span["-"]},
        {"fine staff": span["+"]},
        {},
        {"fine staff": sentence["+"]},
        # Two spans disagree about the phrase.
        {},
    ]
    everything = (0, 1, 2, 3, 4)
    assert further.grains[0] == Grain((0, 1), everything, 2.0)
    assert further.grains[5] == Grain((3, 4), everything, 0.5)
    assert further.train.text_sizes == (1, 2, 1, 1)
    assert corpus.train[3:] == further.train.trees
    assert {label for tree in corpus.train[3:] for label in tree.labels} == {""}


def test_which_phrase_a_span_labels_is_a_setting(tmp_path: Path) -> None:
    folder = write_parsed(tmp_path / "hotels", LINES[:1])
    assert labelled(added(folder, spans={"aspect": "phrase", "opinion": "none"})) == [
        {"The room is bad": 5, "room": 6}
    ]
    with pytest.raises(ConfigError, match=r"spans.aspect must be one of phrase, statement, sentence, none"):
        CorpusPlan(corpus="x", spans={"aspect": "clause"})


def test_a_corpus_of_two_labels_leaves_the_others_open(tmp_path: Path) -> None:
    [further] = added(write_parsed(tmp_path / "two", LINES[:3])).further
    assert further.grains[0] == Grain((0, 1), (0, 1, 3, 4), 1.0)


def test_a_model_of_whole_sentences_does_not_use_spans(tmp_path: Path) -> None:
    corpus = added(write_parsed(tmp_path / "hotels", LINES[:3]), main=five_labels("root"))
    [further] = corpus.further
    assert [numbers.tolist() for numbers in further.train.label_index] == [[5], [-1], [-1], [6]]
    assert [tree.labels[0] for tree in further.train.trees] == [""] * 4


@pytest.mark.parametrize("supervision", ["all", "root"])
def test_a_corpus_without_labels_is_for_a_teacher(tmp_path: Path, supervision: Any) -> None:
    """So is one of spans alone, if whole sentences are learned."""
    spans = LINES[3:] if supervision == "root" else [{"trees": [ROOM]}]
    corpus = added(
        write_parsed(tmp_path / "bare", spans, dev=[{"trees": [STAFF]}]), main=five_labels(supervision)
    )
    [further] = corpus.further
    assert (len(further.train.trees), further.grains) == (1, ())
    assert "bare 1 without labels to learn" in corpus.inference
    model = tiny_model(labels=tuple("01234"), supervision=supervision)
    assert MoreLearning.prepare(model, [further]).evaluate(model) == {}


def test_what_labels_mean_can_be_said_and_labels_ignored(tmp_path: Path) -> None:
    folder = write_parsed(tmp_path / "hotels", LINES[:3])
    corpus = added(folder, labels={"negative": ["0"], "positive": []})
    assert labelled(corpus)[0] == {"The room is bad": 5, "bad": 6}
    assert labelled(corpus)[1:] == [{}, {}, {}]
    with pytest.raises(ConfigError, match=r"\[more\] hotels: the label 'negative' cannot mean 'bad'"):
        added(folder, labels={"negative": ["bad"]})
    with pytest.raises(ConfigError, match=r"labels.negative must be a list of labels, not 'bad'"):
        CorpusPlan(corpus="x", labels={"negative": "bad"})


def test_an_unknown_label_is_named_with_its_line(tmp_path: Path) -> None:
    folder = write_parsed(tmp_path / "hotels", dev=[*LINES, {"trees": [ROOM], "label": "mixed"}])
    with pytest.raises(
        TableError, match=r"dev.parsed.jsonl:5: the label 'mixed' is not one of negative, neutral"
    ) as caught:
        added(folder)
    assert "labels.mixed = [...]" in caught.value.remedy
    with pytest.raises(ConfigError, match=r"\[more\] odd: it is not obvious which of 0 \(very negative\)"):
        added(write_parsed(tmp_path / "odd", [{"trees": [ROOM], "label": "mixed"}]))


def test_a_recipe_lists_corpora_as_tables(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('[[more]]\ncorpus = "a"\nweight = 0.5\n[[more]]\ncorpus = "b"\nlabels = { x = ["1"] }\n')
    first, second = Recipe.from_toml(path).more
    assert (first.weight, second.labels) == (0.5, {"x": ["1"]})
    path.write_text('[[more]]\ncorpus = "a"\nwieght = 0.5\n')
    with pytest.raises(FileError, match=r"\[more\] \[number 1\] unknown setting: wieght"):
        Recipe.from_toml(path)
    with pytest.raises(ConfigError, match="no mean over corpora"):
        Recipe().with_values({"training.choose_by": "mean"})


def test_sentences_that_are_scored_are_not_learned(tmp_path: Path) -> None:
    scored = five_labels().dev[0]
    seen = " ".join(f"(NN {word})" for word in scored.words)
    lines = [{"trees": [f"(S {seen})"], "label": "negative"}, *LINES]
    folder = write_parsed(tmp_path / "hotels", lines, [{"trees": [ROOM], "label": "negative"}])
    corpus = added(folder)
    words = [tree.words for tree in corpus.further[0].train.trees]
    assert words == [("fine", "staff")]
    assert "hotels 1 (4 texts left out)" in corpus.inference


def test_a_treebank_can_be_further_and_finer(tmp_path: Path) -> None:
    """Its labelled phrases are spans, and labels of another treebank mean what they mean there."""
    main = dataclasses.replace(tiny_polarity(), splits={"train": tiny_polarity().train})
    corpus = with_more(
        main, [CorpusPlan(corpus=str(write_treebank(tmp_path / "bank", {"train": 4})), name="bank")]
    )
    [further] = corpus.further
    assert further.groups == {"0": (0, 1), "1": (3, 4)}
    for tree, read, numbers in zip(
        tiny_trees(4), further.train.trees, further.train.label_index, strict=True
    ):
        assert read.words == tree.words
        expected = ["", *"01", *"01"]
        assert [expected[number - 4 if number != NO_INDEX else 0] for number in numbers] == list(tree.labels)
        assert numbers[0] in (5, 6)
        assert not {5, 6} & set(numbers[1:].tolist())


TWO_LINES: list[dict[str, Any]] = [
    {"trees": ["(S (NP (DT the) (NN room)) (VP (VBZ is) (ADJP (JJ dirty))))"], "label": "0"},
    {"trees": ["(S (NP (DT the) (NN room)) (VP (VBZ is) (ADJP (JJ clean))))"], "label": "1"},
]


def two_way(tmp_path: Path, *, choose_by: str = "main") -> Recipe:
    """The tiny treebank, with rooms besides: words that it does not have."""
    words = {"0": "dirty", "1": "clean"}
    dev = [
        {"trees": [f"(S (NNS rooms) (VBP are) (JJ {words[label]}) (. .))"], "label": label} for label in words
    ]
    folder = write_parsed(tmp_path / "rooms", TWO_LINES * 8, dev)
    recipe = tiny_recipe(write_treebank(tmp_path / "bank"), epochs=3)
    more = [{"corpus": str(folder), "weight": 3.0, "per_epoch": 12}]
    changes = {"training.choose_by": choose_by, "training.batch_size": 5}
    return Recipe.from_dict({**recipe.as_dict(), "more": more}).with_values(changes)


def test_a_run_learns_from_them_and_reports_their_scores(tmp_path: Path) -> None:
    recipe = two_way(tmp_path, choose_by="mean").with_values({"training.epochs": 10})
    run = train(recipe, tmp_path / "run")
    scores = run.scores()
    rooms = scores["dev_more"]["rooms"]["texts"]
    assert scores["dev_mean"] == pytest.approx((scores["dev_root"] + rooms) / 2)
    assert run.best.scores["dev_mean"] == max(each.scores["dev_mean"] for each in run.training.history)
    model = from_pretrained(run.model_folder)
    examples = model.prepare(load_rooms(tmp_path), labelled=False)
    said = [output.probabilities[0].argmax() for output in run_examples(model, examples)]
    assert said == [0, 1]
    assert "rooms" in json.dumps(model.training_record["more"])
    # Words of its training part are in the vocabulary, those of its development part are not.
    known = model.lexicon.index(["clean", "rooms"]).tolist()
    assert known[0] > 0
    assert known[1] == 0


def load_rooms(tmp_path: Path) -> list[Any]:
    corpus = with_more(load_corpus(tmp_path / "bank"), [CorpusPlan(corpus=str(tmp_path / "rooms"))])
    return [*corpus.further[0].train.trees[:2]]


def test_a_resumed_run_ends_with_the_same_weights(tmp_path: Path) -> None:
    recipe = two_way(tmp_path)
    whole = train(recipe, tmp_path / "whole")
    train(recipe.with_values({"training.epochs": 1}), tmp_path / "parts")
    parts = train(recipe, tmp_path / "parts", resume=True)
    assert parts.scores() == whole.scores()
    files = [(run.model_folder / "model.safetensors").read_bytes() for run in (parts, whole)]
    assert files[0] == files[1]


def test_a_teacher_labels_them_all(tmp_path: Path) -> None:
    recipe = two_way(tmp_path)
    train(recipe, tmp_path / "teacher")
    student = dataclasses.replace(recipe, teacher=str(tmp_path / "teacher"))
    run = train(student, tmp_path / "student")
    lessons = read_lessons(run.folder / LESSONS_FILE, student.teacher)
    assert len(lessons.probabilities) == sum(tree.num_nodes for tree in load_recipe_corpus(recipe).train)
    assert run.scores()["dev_more"]["rooms"].keys() == {"texts", "two-way"}


@pytest.mark.slow
def test_seeds_are_compared_by_what_chooses_epochs(tmp_path: Path) -> None:
    summary = train_seeds(two_way(tmp_path, choose_by="mean"), [1, 2], tmp_path / "runs", jobs=1)
    assert summary.scores[0] == "dev_mean"


def test_texts_are_scored_as_a_whole_and_spans_apart(tmp_path: Path) -> None:
    model = tiny_model(labels=("0", "1", "2"))
    main = Corpus("main", {"train": tuple(tiny_trees(3)), "dev": ()}, LabelSet(("0", "1", "2")), "all")
    folder = write_parsed(tmp_path / "hotels", dev=LINES)
    [further] = added(folder, main=main).further
    more = MoreLearning.prepare(model, [further])
    found = more.evaluate(model)["hotels"]
    assert list(found) == ["texts", "two-way", "spans", "two-way spans"]
    assert {found["texts"], found["spans"]} <= {0, 0.5, 1}
    assert mean_score(0.5, {"hotels": {"texts": 0.7, "spans": 0.1}}) == pytest.approx(0.6)
    assert mean_score(None, {}) is None


def test_training_examples_get_their_numbers(tmp_path: Path) -> None:
    model = tiny_model(labels=tuple("01234"))
    corpus = added(write_parsed(tmp_path / "hotels"))
    more = MoreLearning.prepare(model, corpus.further)
    examples = more.label_training(model.prepare(corpus.train, training=True))
    assert all((example.label_index < 5).all() for example in examples[:3])
    for example, numbers in zip(examples[3:], corpus.further[0].train.label_index, strict=True):
        np.testing.assert_array_equal(example.label_index, numbers)
