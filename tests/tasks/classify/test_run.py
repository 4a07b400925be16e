"""A whole run in a directory: what it leaves there, what it refuses, and what it survives."""

from __future__ import annotations

import dataclasses
import errno
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lexitree.corpora.corpus import Corpus
from lexitree.corpora.named import load_corpus
from lexitree.errors import CheckpointError, ConfigError, FileError, LexitreeError, VectorsError
from lexitree.evaluation.accuracy import evaluate
from lexitree.labels import LabelSet
from lexitree.learning import checkpoint
from lexitree.learning.checkpoint import CHECKPOINT_FILE
from lexitree.learning.run_folder import RESULT_FILE
from lexitree.saving.pretrained import from_pretrained
from lexitree.tasks.classify.building import build_model
from lexitree.tasks.classify.run import train
from lexitree.tasks.classify.task import ClassifyTask
from tests.command import files_of, leftovers
from tests.tiny import (
    CONSTITUENCY_MODELS,
    FASTEST_ON_A_CPU,
    FINER_LABELS,
    LABELS,
    tiny_polarity,
    tiny_recipe,
    tiny_trees,
    write_treebank,
)


def test_what_a_run_leaves(trained_run: Path, treebank: Path) -> None:
    assert {path.name for path in trained_run.iterdir()} >= {
        "checkpoint.safetensors",
        "metrics.jsonl",
        "model",
        "result.json",
    }
    assert not leftovers(trained_run)
    result = json.loads((trained_run / RESULT_FILE).read_text())
    assert result["corpus"] == {"train": 40, "dev": 10, "test": 10}
    assert result["recipe"]["corpus"] == str(treebank)
    assert set(result["environment"]["backend"].values()) == {FASTEST_ON_A_CPU}
    assert [record["epoch"] for record in result["epochs"]] == list(range(1, 26))
    assert result["dev_root"] == max(record["dev_root"] for record in result["epochs"])
    assert result["test_root"] > 0.8


def test_a_run_is_not_overwritten(treebank: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(treebank)
    train(recipe, tmp_path)
    before = files_of(tmp_path)
    with pytest.raises(FileError, match="already holds a run") as caught:
        train(recipe, tmp_path)
    assert "--resume" in caught.value.remedy
    assert files_of(tmp_path) == before


def test_resuming_a_finished_run_changes_no_weight(treebank: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(treebank)
    first = train(recipe, tmp_path)
    before = files_of(tmp_path)
    again = train(recipe, tmp_path, resume=True)
    assert (again.training, again.scores()) == (first.training, first.scores())
    assert files_of(tmp_path) == before


def test_more_epochs_go_on_from_the_last(treebank: Path, tmp_path: Path) -> None:
    train(tiny_recipe(treebank, epochs=2), tmp_path / "a")
    train(tiny_recipe(treebank, epochs=4), tmp_path / "a", resume=True)
    train(tiny_recipe(treebank, epochs=4), tmp_path / "b")
    weights = [(tmp_path / name / "model" / "model.safetensors").read_bytes() for name in "ab"]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"model": {"hidden": 9}}, "hidden was 8, is 9"),
        ({"model": {"dropout": 0.3}}, "dropout was 0.2, is 0.3"),
        ({"model": {"model": "contree"}}, "model was 'bicontree', is 'contree'"),
        ({"batch_size": 5}, "batch_size was 25, is 5"),
        ({"seed": 2}, "seed was 1, is 2"),
    ],
)
def test_other_settings_are_refused(
    treebank: Path, tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    train(tiny_recipe(treebank, epochs=1), tmp_path)
    with pytest.raises(CheckpointError, match=named):
        train(tiny_recipe(treebank, epochs=2, **change), tmp_path, resume=True)


@pytest.mark.parametrize("split", ["train", "dev"])
def test_other_trees_are_refused(tmp_path: Path, split: str) -> None:
    data = write_treebank(tmp_path / "data")
    train(tiny_recipe(data, epochs=1), tmp_path / "run")
    lines = (data / f"{split}.txt").read_text().splitlines()
    (data / f"{split}.txt").write_text("\n".join(lines[1:] + lines[:1]) + "\n")
    with pytest.raises(CheckpointError, match="checksum of the trees"):
        train(tiny_recipe(data, epochs=2), tmp_path / "run", resume=True)


def test_what_a_killed_run_left_is_cleared_and_nothing_else(treebank: Path, tmp_path: Path) -> None:
    train(tiny_recipe(treebank, epochs=1), tmp_path)
    ours = [".checkpoint.safetensors.abc.part", ".metrics.jsonl.x.part", ".result.json.y.part"]
    folders = [".model.abc.part", ".model.abc.old"]
    for name in (*ours, ".theirs.part", ".bashrc.old"):
        (tmp_path / name).write_text("x")
    for name in folders:
        (tmp_path / name / "model").mkdir(parents=True)
    train(tiny_recipe(treebank, epochs=2), tmp_path, resume=True)
    names = {path.name for path in tmp_path.iterdir()}
    assert not names & {*ours, *folders}
    assert names >= {".theirs.part", ".bashrc.old"}


def test_a_full_disk_stops_the_run_and_the_last_checkpoint_goes_on(
    treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(tiny_recipe(treebank, epochs=4), tmp_path / "undisturbed")
    save_file, num_saved = checkpoint.save_file, 0

    def fail_at_the_third(*arguments: Any, **options: Any) -> None:
        nonlocal num_saved
        num_saved += 1
        if num_saved == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        save_file(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save_file", fail_at_the_third)
        with pytest.raises(FileError, match="No space left"):
            train(tiny_recipe(treebank, epochs=4), tmp_path / "cut")
    assert not leftovers(tmp_path)
    assert len((tmp_path / "cut" / "metrics.jsonl").read_text().splitlines()) == 2
    train(tiny_recipe(treebank, epochs=4), tmp_path / "cut", resume=True)
    weights = [
        (tmp_path / name / "model" / "model.safetensors").read_bytes() for name in ("undisturbed", "cut")
    ]
    assert weights[0] == weights[1]


def test_a_folder_that_cannot_be_made(treebank: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(FileError, match=r"cannot be (made|written)"):
            train(tiny_recipe(treebank), folder)
    assert (tmp_path / "file").read_text() == "mine"


def test_results_without_a_checkpoint_are_not_started_over(treebank: Path, tmp_path: Path) -> None:
    train(tiny_recipe(treebank), tmp_path)
    (tmp_path / CHECKPOINT_FILE).unlink()
    with pytest.raises(FileError, match="no checkpoint to resume from"):
        train(tiny_recipe(treebank), tmp_path, resume=True)


def test_a_corpus_without_development_trees(treebank: Path, tmp_path: Path) -> None:
    corpus = load_corpus(treebank)
    bare = dataclasses.replace(corpus, splits={"train": corpus.train})
    with pytest.raises(ConfigError, match="has no dev trees"):
        train(tiny_recipe(treebank), tmp_path, corpus=bare)
    without_test = dataclasses.replace(corpus, splits={"train": corpus.train, "dev": corpus.dev})
    result = train(tiny_recipe(treebank), tmp_path, corpus=without_test).scores()
    assert result["test_root"] is None
    assert result["dev_root"] >= 0


def test_root_supervision_is_inferred_and_can_be_asked_for(treebank: Path, tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("0\tbad film\n1\tgood film\n" * 5)
    inferred = train(tiny_recipe(tmp_path), tmp_path / "a").scores()
    assert inferred["dev_phrase"] is None
    asked = train(tiny_recipe(treebank, model={"supervision": "root"}), tmp_path / "b").scores()
    assert asked["dev_phrase"] is None
    assert from_pretrained(tmp_path / "b" / "model").config.supervision == "root"


@pytest.mark.parametrize("model", CONSTITUENCY_MODELS)
def test_every_model_trains(treebank: Path, tmp_path: Path, model: str) -> None:
    result = train(tiny_recipe(treebank, model={"model": model}, epochs=3), tmp_path)
    losses = [record.loss for record in result.training.history]
    assert losses[-1] < losses[0]


def test_rntn_has_its_own_sizes_and_no_output_layer(treebank: Path, tmp_path: Path) -> None:
    corpus = load_corpus(treebank)
    recipe = dataclasses.replace(tiny_recipe(treebank), model={"model": "rntn"})
    config = build_model(recipe, corpus).config
    assert (config.hidden, config.word_size, config.output, config.dropout) == (25, 25, 0, 0.0)
    assert config.bias_init == "zero"
    wider = dataclasses.replace(recipe, model={"model": "rntn", "hidden": 30, "output": 6})
    config = build_model(wider, corpus).config
    assert (config.hidden, config.word_size, config.output) == (30, 30, 6)
    vectors = tmp_path / "v.txt"
    vectors.write_text("good 1 2 3\nbad 4 5 6\n")
    with pytest.raises(ConfigError, match="the word size is 3 and the state size 25"):
        build_model(dataclasses.replace(recipe, vectors=str(vectors)), corpus)


def test_vectors_decide_the_word_size(treebank: Path, tmp_path: Path) -> None:
    vectors = tmp_path / "v.txt"
    vectors.write_text("good 1 2 3\nbad 4 5 6\nunheard 7 8 9\n")
    recipe = dataclasses.replace(
        tiny_recipe(treebank), vectors=str(vectors), model={"hidden": 4, "output": 4}
    )
    model = build_model(recipe, load_corpus(treebank))
    assert model.config.word_size == 3
    assert set(model.lexicon.vocabulary) == {"good", "bad", "unheard"}
    with pytest.raises(ConfigError, match="has 3 dimensions, not the 5 asked for"):
        build_model(dataclasses.replace(recipe, model={"word_size": 5}), load_corpus(treebank))


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden": 0},
        {"hidden": "x"},
        {"model": "tree"},
        {"colour": 1},
        {"dropout": 1.0},
        {"head_method": "Q"},
    ],
)
def test_wrong_model_settings_are_users_errors(
    treebank: Path, tmp_path: Path, settings: dict[str, Any]
) -> None:
    with pytest.raises(LexitreeError):
        train(tiny_recipe(treebank, model=settings), tmp_path / "run")


def test_threads_are_set_as_asked_for(treebank: Path, tmp_path: Path) -> None:
    before = torch.get_num_threads()
    train(tiny_recipe(treebank, epochs=1), tmp_path, threads=before + 1)
    assert json.loads((tmp_path / RESULT_FILE).read_text())["environment"]["threads"] == before + 1
    assert torch.get_num_threads() == before


def test_the_fingerprint_sees_words_shapes_and_labels(treebank: Path) -> None:
    recipe = tiny_recipe(treebank)
    corpus = load_corpus(treebank)
    model = build_model(recipe, corpus)
    examples = model.prepare(corpus.train)
    base = ClassifyTask(model, examples, [], recipe.training).fingerprint()
    assert base == json.loads(json.dumps(base))
    for name in ("word_index", "label_index"):
        array = getattr(examples[3], name).copy()
        array[-1] = np.where(array[-1] == 0, 1, 0)
        changed = [*examples[:3], dataclasses.replace(examples[3], **{name: array}), *examples[4:]]
        assert ClassifyTask(model, changed, [], recipe.training).fingerprint() != base


def test_the_record_names_the_corpus_that_was_given(treebank: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(treebank, epochs=1)
    mine = tiny_polarity()

    def recorded(corpus: Corpus, folder: str) -> tuple[str, str]:
        train(recipe, tmp_path / folder, corpus=corpus)
        result = json.loads((tmp_path / folder / RESULT_FILE).read_text())
        return result["recipe"]["corpus"], from_pretrained(tmp_path / folder / "model").training_record[
            "corpus"
        ]

    assert recorded(mine, "mine") == ("tiny-polarity", "tiny-polarity")
    # The recipe's own corpus, read beforehand, keeps the path it was read from.
    assert recorded(load_corpus(treebank), "own") == (str(treebank), treebank.name)


def test_a_bad_row_of_the_vectors_can_be_skipped(treebank: Path, tmp_path: Path) -> None:
    vectors = tmp_path / "v.txt"
    words = sorted({word for tree in tiny_trees(60) for word in tree.words})
    rows = [f"{word} " + " ".join(["0.1"] * 8) for word in words]
    vectors.write_text("\n".join([*rows, "broken 0.1 x", ""]), encoding="utf-8")
    recipe = dataclasses.replace(tiny_recipe(treebank, epochs=1), vectors=str(vectors))
    with pytest.raises(VectorsError, match=r"v\.txt"):
        train(recipe, tmp_path / "strict")
    with pytest.warns(UserWarning, match=r"v\.txt: 1 malformed row was skipped"):
        assert train(dataclasses.replace(recipe, on_error="skip"), tmp_path / "skipped").training.history


def test_the_length_of_the_vectors_reaches_the_model_and_stays(treebank: Path, tmp_path: Path) -> None:
    words = sorted({word for tree in tiny_trees(60) for word in tree.words})
    np.savez(tmp_path / "v.npz", words=words, vectors=np.full((len(words), 8), 0.1, dtype=np.float32))
    recipe = dataclasses.replace(
        tiny_recipe(treebank, epochs=1), vectors=str(tmp_path / "v.npz"), vector_length=3.0
    )
    model = build_model(recipe, load_corpus(treebank))
    norms = model.state_dict()["lexicon.vectors"].norm(dim=1)
    torch.testing.assert_close(norms, torch.full_like(norms, 3.0))
    train(recipe, tmp_path / "run")
    # Its weights come from the checkpoint: another length would be on record, and in no vector.
    with pytest.raises(CheckpointError, match=r"vector_length was 3\.0, is 5\.0"):
        train(dataclasses.replace(recipe, vector_length=5.0), tmp_path / "run", resume=True)


def test_other_vectors_of_the_same_words_are_another_run(treebank: Path, tmp_path: Path) -> None:
    words = sorted({word for tree in tiny_trees(60) for word in tree.words})
    for value in (0.1, 0.2):
        vectors = np.full((len(words), 8), value, dtype=np.float32)
        np.savez(tmp_path / f"{value}.npz", words=words, vectors=vectors)
    recipe = dataclasses.replace(tiny_recipe(treebank, epochs=1), vectors=str(tmp_path / "0.1.npz"))
    train(recipe, tmp_path / "run")
    with pytest.raises(CheckpointError, match="checksum of the word vectors"):
        train(dataclasses.replace(recipe, vectors=str(tmp_path / "0.2.npz")), tmp_path / "run", resume=True)


def test_a_finished_run_without_its_checkpoint_is_left_alone(treebank: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(treebank, epochs=1)
    train(recipe, tmp_path / "run")
    before = (tmp_path / "run" / RESULT_FILE).read_bytes()
    (tmp_path / "run" / CHECKPOINT_FILE).unlink()
    with pytest.raises(FileError, match="already holds a run"):
        train(recipe, tmp_path / "run")
    assert (tmp_path / "run" / RESULT_FILE).read_bytes() == before


def test_a_development_split_without_labelled_sentences_is_refused(tmp_path: Path) -> None:
    trees = ["(_ (1 good) (0 film))", "(_ (0 bad) (1 film))"] * 5
    for split in ("train", "dev"):
        (tmp_path / f"{split}.txt").write_text("\n".join(trees) + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="label at its root"):
        train(tiny_recipe(tmp_path), tmp_path / "run")


@pytest.mark.parametrize(
    ("model", "training"),
    [
        ("bicontree", {}),
        ("bicontree", {"root_weight": 3.0, "averaging": 0.9}),
        ("bilstm", {"distinct_phrases": True}),
    ],
)
def test_finer_labels_are_trained_with_and_answers_are_scored(
    treebank: Path, tmp_path: Path, model: str, training: dict[str, Any]
) -> None:
    settings = {"model": model, "dropout": 0.0}
    recipe = tiny_recipe(treebank, model=settings, epochs=25, batch_size=5, **training)
    result = train(recipe, tmp_path, corpus=tiny_polarity())
    losses = [record.loss for record in result.training.history]
    assert losses[-1] < losses[0] / 2
    assert result.test is not None
    assert result.test.phrase is not None
    for split, confusion in (("dev", result.dev.root), ("test", result.test.root)):
        assert confusion.labels == LABELS
        assert confusion.num_counted == len(tiny_polarity().splits[split])
    assert set(result.test.root_gold_text) == set("01")
    assert set(result.test.root_answers_text) <= set("01")
    assert result.test.root.accuracy > 0.8
    assert result.test.phrase.accuracy > 0.8
    saved = from_pretrained(tmp_path / "model")
    assert dict(saved.config.finer_labels) == FINER_LABELS
    assert evaluate(saved, saved.prepare(tiny_polarity().test)).as_dict() == result.test.as_dict()
    assert json.loads((tmp_path / RESULT_FILE).read_text())["model"]["finer_labels"] == FINER_LABELS


def test_finer_labels_with_root_supervision(treebank: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(treebank, model={"supervision": "root"}, epochs=1)
    result = train(recipe, tmp_path, corpus=tiny_polarity())
    assert result.dev.phrase is None
    assert result.dev.root.num_counted == 10


def test_a_run_with_finer_labels_goes_on_with_the_same_only(treebank: Path, tmp_path: Path) -> None:
    corpus = tiny_polarity()
    train(tiny_recipe(treebank, epochs=1), tmp_path / "cut", corpus=corpus)
    train(tiny_recipe(treebank, epochs=2), tmp_path / "cut", corpus=corpus, resume=True)
    train(tiny_recipe(treebank, epochs=2), tmp_path / "whole", corpus=corpus)
    weights = [(tmp_path / name / "model" / "model.safetensors").read_bytes() for name in ("cut", "whole")]
    assert weights[0] == weights[1]
    otherwise = dataclasses.replace(
        corpus, label_set=LabelSet(corpus.labels, finer={**FINER_LABELS, "-": ""})
    )
    with pytest.raises(CheckpointError, match=r"finer_labels\.- was '0', is ''"):
        train(tiny_recipe(treebank, epochs=3), tmp_path / "cut", corpus=otherwise, resume=True)
    reordered = dataclasses.replace(
        corpus, label_set=LabelSet(corpus.labels, finer=dict(reversed(FINER_LABELS.items())))
    )
    with pytest.raises(CheckpointError, match="checksum of the trees was"):
        train(tiny_recipe(treebank, epochs=3), tmp_path / "cut", corpus=reordered, resume=True)
