"""Training on texts from Python: what is learned, what is held out, and what the model remembers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lexitree
from lexitree.corpora.text_splits import SPLITS_FILE
from lexitree.corpora.text_tables import LabelledText, TableSettings, texts_from_columns
from lexitree.errors import ConfigError, FileError, LabelError, Place, TableError
from lexitree.evaluation.accuracy import evaluate
from lexitree.pipeline.predictor import Predictor
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.saving.pretrained import from_pretrained
from lexitree.tasks.classify.prepared_run import RunResult
from lexitree.tasks.classify.text_corpus import corpus_from_texts, parse_texts
from lexitree.tasks.classify.texts import fine_tune, train_texts
from tests.cli.untrained_parser import save_untrained_parser
from tests.pipeline.stubs import Penn, RightBranching
from tests.tiny import SIZES

TEXTS = [
    f"The {noun} is {word}. Really, {word}!" if word in ("good", "bad") else f"The {noun} is {word}."
    for noun in ("film", "plot", "cast", "story", "end")
    for word in ("good", "great", "bad", "dull")
]
LABELS = ["pos", "pos", "neg", "neg"] * 5
SETTINGS: dict[str, Any] = {
    **{f"model.{name}": value for name, value in SIZES.items()},
    "training.epochs": 2,
    "training.batch_size": 5,
    "training.learning_rate": 0.01,
}


def small(folder: Path, **options: Any) -> RunResult:
    settings = {**SETTINGS, **options.pop("settings", {})}
    return train_texts(TEXTS, LABELS, folder, settings=settings, **options)


@pytest.fixture
def builtin(shipped_folder: Path) -> Path:
    """A package with a parser that is opened at once."""
    return save_untrained_parser(shipped_folder / "parser")


def test_a_model_of_texts_reads_text_without_being_told_how(builtin: Path, tmp_path: Path) -> None:
    run = small(tmp_path / "run", dev=0.2, test=0.2, settings={"table.layout": "one"})
    entry = json.loads((run.model_folder / "config.json").read_text())["text"]
    assert entry == {"format": 1, "parser": "builtin", "layout": "one", "text": "", "label": ""}
    pipe = lexitree.load(run.model_folder)
    assert isinstance(pipe, TextPipeline)
    document = pipe("The film is good. Really.")
    assert len(document) == 1, "as in training, a text is one sentence"
    assert set(document.probabilities) == {"neg", "pos"}
    assert isinstance(lexitree.load(run.model_folder, reads="trees"), Predictor)
    assert 'pipe("A text.")' in (run.model_folder / "README.md").read_text()


def test_only_the_parser_of_the_package_is_opened_for_a_model(tmp_path: Path) -> None:
    """Some names of parsers start programs, and a model may come from anywhere."""
    run = small(tmp_path / "run", parser=RightBranching())
    assert isinstance(lexitree.load(run.model_folder), Predictor)
    assert lexitree.load(run.model_folder, parser=RightBranching())("The film.").label
    model = from_pretrained(run.model_folder)
    assert model.reading is not None
    model.reading = model.reading.with_values({"parser": "command:touch /tmp/never"})
    lexitree.save_model(model, tmp_path / "other")
    with pytest.raises(ConfigError, match="unless you name it"):
        lexitree.load(tmp_path / "other")
    assert isinstance(lexitree.load(tmp_path / "other", reads="trees"), Predictor)


def test_every_sentence_learns_and_every_text_is_scored_once(tmp_path: Path) -> None:
    table = TableSettings(dev=0.2, test=0.2)
    corpus = corpus_from_texts({"train": texts_from_columns(TEXTS, LABELS)}, Penn(), table)
    assert corpus.texts is not None
    assert [len(sizes) for sizes in corpus.texts.document_sizes.values()] == [12, 4, 4]
    assert len(corpus.train) == sum(corpus.texts.document_sizes["train"]) > 12
    assert {tree.label for tree in corpus.train} == {"neg", "pos"}
    run = small(tmp_path / "run", parser=Penn(), dev=0.2, test=0.2)
    record = json.loads((run.folder / SPLITS_FILE).read_text())
    model = from_pretrained(run.model_folder)
    pipe = TextPipeline(Predictor(model), Penn())
    for split, scores in (("dev", run.dev), ("test", run.test)):
        rows = record["rows"][split]
        assert scores is not None
        assert scores.root.num_counted == len(rows) == 4
        assert scores.root_answers is not None
        answers = [model.config.labels[number] for number in scores.root_answers]
        assert answers == [pipe(TEXTS[row]).label for row in rows], "as a document is labelled"
        again = evaluate(
            model, model.prepare(corpus.splits[split]), document_sizes=corpus.document_sizes(split)
        )
        assert np.array_equal(again.root.counts, scores.root.counts)


def test_nothing_held_out_keeps_the_last_epoch(tmp_path: Path) -> None:
    run = small(tmp_path / "run", parser=Penn(), dev=0, test=0, settings={"training.patience": 1})
    assert [record.is_best for record in run.training.history] == [True, True]
    assert run.best.epoch == 2
    assert set(run.scores().values()) == {None}
    again = small(
        tmp_path / "run", parser=Penn(), dev=0, test=0, resume=True, settings={"training.epochs": 3}
    )
    assert again.best.epoch == 3


def test_class_weights(tmp_path: Path) -> None:
    """With one text of a label to nine of the other, only weights keep the rare one in the answers."""
    labels = ["pos" if "plot" in text and "good" in text else "neg" for text in TEXTS]
    found: dict[str, float] = {}
    for weights in ("none", "balanced"):
        settings = {**SETTINGS, "training.class_weights": weights}
        run = train_texts(TEXTS, labels, tmp_path / weights, dev=0, test=0, settings=settings, parser=Penn())
        pipe = lexitree.load(run.model_folder, parser=Penn())
        found[weights] = np.mean([document.probabilities["pos"] for document in pipe.stream(TEXTS)])
    assert found["balanced"] > found["none"] + 0.1


@pytest.mark.parametrize(
    ("texts", "labels", "problem"),
    [
        (["a", "b", "c"], ["x", "x", "x"], r"texts:1: all 3 texts have the label 'x'"),
        (["a", "b", "c"], ["x", "y", "x"], "3 rows with 2 labels are too few"),
        (["a", "b", ""], ["x", "y", "x"], "texts:3: the text is empty"),
    ],
)
def test_what_cannot_be_learned_leaves_no_folder(
    tmp_path: Path, texts: list[str], labels: list[str], problem: str
) -> None:
    with pytest.raises((LabelError, TableError), match=problem):
        train_texts(texts, labels, tmp_path / "run", parser=Penn())
    assert not (tmp_path / "run").exists()


def test_a_text_without_words_is_refused() -> None:
    with pytest.raises(TableError, match="t:7: the text has no words"):
        parse_texts([LabelledText(" ", "a", Place("t", 7))], Penn(), "text")


def test_a_folder_is_not_written_twice(tmp_path: Path) -> None:
    small(tmp_path / "run", parser=Penn())
    with pytest.raises(FileError, match="already holds a run"):
        small(tmp_path / "run", parser=Penn())


def test_fine_tuning_starts_from_a_model(tmp_path: Path, saved_model: Path) -> None:
    texts = [text.partition(".")[0] for text in TEXTS if "end" not in text]
    labels = [str(int("good" in text or "great" in text)) for text in texts]
    settings = {"training.epochs": 2}
    run = fine_tune(
        texts, labels, tmp_path / "run", start=str(saved_model), parser=RightBranching(), settings=settings
    )
    assert run.training.history[0].scores["dev_root"] == 1.0, "it knew these labels before"
    record = json.loads((run.model_folder / "config.json").read_text())["training"]
    assert record["start"] == "model"
    assert record["patience"] > 0
