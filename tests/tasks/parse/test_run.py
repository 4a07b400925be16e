"""Training a parser: batches, resuming to the same weights, limits of time and patience, and what a run leaves."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from lexitree.errors import CheckpointError, FileError, TrainingDivergedError
from lexitree.learning.loop import Trainer
from lexitree.learning.observers import BatchProgress, EpochRecord, SilentObserver
from lexitree.parsers.saved_parser import load_parser
from lexitree.tasks.parse.data import load_parser_data
from lexitree.tasks.parse.examples import (
    WordDropper,
    draw_epoch,
    gold_batch,
    length_batches,
    make_parser_examples,
    parser_loss,
)
from lexitree.tasks.parse.recipe import ParserTraining
from lexitree.tasks.parse.run import ParserRun, build_parser_model, train_parser
from lexitree.tasks.parse.task import ParserTask
from tests.tiny_parser import mini_recipe

RECIPE = mini_recipe(num_trees=30, epochs=4)


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "checkpoint.safetensors")


def test_a_resumed_run_ends_with_the_same_weights(tmp_path: Path) -> None:
    whole = train_parser(RECIPE, tmp_path / "whole")
    for _ in range(4):
        # No time is left after the first epoch of each call.
        cut = train_parser(RECIPE, tmp_path / "cut", minutes=1e-9, resume=(tmp_path / "cut").exists())
    expected, found = weights_of(tmp_path / "whole"), weights_of(tmp_path / "cut")
    assert expected.keys() == found.keys()
    for name, tensor in expected.items():
        assert torch.equal(tensor, found[name]), name
    assert cut.test == whole.test
    found_scores, expected_scores = ([epoch.scores for epoch in run.training.history] for run in (cut, whole))
    assert found_scores == expected_scores
    lines = (tmp_path / "cut" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2, 3, 4]


def test_a_run_that_is_killed_leaves_its_best_parser(tmp_path: Path) -> None:
    class Killer(SilentObserver):
        def on_epoch(self, record: EpochRecord) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_parser(RECIPE, tmp_path, observer=Killer())
    assert load_parser(tmp_path / "model").training_record["epochs_run"] == 1
    assert len(train_parser(RECIPE, tmp_path, resume=True).training.history) == 4


def test_a_run_is_not_overwritten(parser_run: ParserRun) -> None:
    with pytest.raises(FileError, match="already holds a run"):
        train_parser(RECIPE, parser_run.folder)


def test_another_run_is_not_resumed(tmp_path: Path) -> None:
    train_parser(RECIPE, tmp_path, minutes=1e-9)
    other = dataclasses.replace(RECIPE, training=dataclasses.replace(RECIPE.training, seed=2))
    with pytest.raises(CheckpointError, match=r"belongs to another run: seed was 1, is 2"):
        train_parser(other, tmp_path, resume=True)


@pytest.mark.parametrize("part", ["train", "dev"])
def test_other_trees_are_another_run(part: str) -> None:
    data = load_parser_data(RECIPE)
    model = build_parser_model(RECIPE, data)
    (bank,) = data.parts[part]
    fewer = dataclasses.replace(bank, trees=bank.trees[1:])
    fingerprints = [
        ParserTask(model, each, RECIPE.training).fingerprint()
        for each in (data, data, dataclasses.replace(data, **{part: (fewer,)}))
    ]
    assert fingerprints[0] == fingerprints[1]
    assert fingerprints[0] != fingerprints[2]


def test_a_damaged_checkpoint_is_told(tmp_path: Path) -> None:
    train_parser(RECIPE, tmp_path, minutes=1e-9)
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(CheckpointError, match="damaged"):
        train_parser(RECIPE, tmp_path, resume=True)


def test_training_ends_when_nothing_gets_better(tmp_path: Path) -> None:
    recipe = mini_recipe(num_trees=5, epochs=40, patience=2, learning_rate=1e-9)
    run = train_parser(recipe, tmp_path)
    assert len(run.training.history) == 3
    # All epochs score alike, and ties go to the later one.
    assert run.best.epoch == 3


def test_a_run_that_diverges_says_so() -> None:
    data = load_parser_data(RECIPE)
    model = build_parser_model(RECIPE, data)
    trainer = Trainer(ParserTask(model, data, RECIPE.training))
    with torch.no_grad():
        model.spans.bias.fill_(torch.nan)
    with pytest.raises(TrainingDivergedError, match="no longer a number"):
        trainer.run()


def test_observers_hear_of_batches_and_epochs(tmp_path: Path) -> None:
    batches: list[BatchProgress] = []
    epochs: list[EpochRecord] = []

    class Listener(SilentObserver):
        def on_batch(self, progress: BatchProgress) -> None:
            batches.append(progress)

        def on_epoch(self, record: EpochRecord) -> None:
            epochs.append(record)

    train_parser(mini_recipe(num_trees=10, epochs=2), tmp_path, observer=Listener())
    assert [epoch.epoch for epoch in epochs] == [1, 2]
    assert batches[-1].num_done == batches[-1].num_examples == 10


def test_a_run_leaves_its_scores_and_what_they_come_from(parser_run: ParserRun) -> None:
    result = json.loads((parser_run.folder / "result.json").read_text())
    assert result["trees"] == {"train": {"learned": 50}, "dev": {"dev": 50}, "test": {"new": 20}}
    assert result["dev_f1"] > 0.99
    scores = result["test"]["new"]
    assert scores["sentences"] == 20
    assert 0 < scores["f1"] <= scores["oracle_f1"] <= 1
    assert scores["k"] == 8
    assert result["num_bytes"] < 1_000_000
    assert result["environment"]["torch"] == torch.__version__


def test_the_loss_of_a_batch_is_that_of_its_sentences() -> None:
    data = load_parser_data(RECIPE)
    torch.manual_seed(0)
    model = build_parser_model(RECIPE, data).double().eval()
    (examples,) = make_parser_examples(model, data.train, 100)
    together = parser_loss(model, gold_batch(examples[:6], model.config))
    alone = [parser_loss(model, gold_batch([example], model.config)) for example in examples[:6]]
    torch.testing.assert_close(together, torch.stack(alone).sum())
    assert together > 0


def test_sentences_that_are_too_long_are_not_trained_on() -> None:
    data = load_parser_data(RECIPE)
    model = build_parser_model(RECIPE, data)
    (examples,) = make_parser_examples(model, data.train, 8)
    assert max(example.num_words for example in examples) == 8
    assert len(examples) == sum(tree.num_words <= 8 for tree in data.train[0].trees)


def test_batches_hold_every_sentence_once_and_are_of_one_length() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 40, size=500)
    batches = length_batches(lengths, 200, rng)
    assert sorted(number for batch in batches for number in batch) == list(range(500))
    assert all(len(batch) * lengths[batch].max() <= 200 for batch in batches if len(batch) > 1)
    assert np.mean([np.ptp(lengths[batch]) for batch in batches]) < 5


def test_weights_say_how_often_a_treebank_is_seen() -> None:
    data = load_parser_data(RECIPE)
    model = build_parser_model(RECIPE, data)
    (examples,) = make_parser_examples(model, data.train, 100)
    drawn = draw_epoch([examples[:10], examples[10:20]], [2.5, 0.2], np.random.default_rng(0))
    assert len(drawn) == 25 + 2
    first = {id(example) for example in examples[:10]}
    assert sum(id(example) in first for example in drawn) == 25


def test_rare_words_are_made_unknown_more_often() -> None:
    data = load_parser_data(RECIPE)
    model = build_parser_model(RECIPE, data)
    words = model.features.trained_words
    counts = {words.words[2]: 1, words.words[3]: 10_000}
    drop = WordDropper(model, counts, ParserTraining(word_dropout=1.0, vector_dropout=0.0))
    numbers = model.features.number([words.words[2], words.words[3]] * 300)
    (examples,) = make_parser_examples(model, data.train, 100)
    batch = gold_batch([examples[0]._replace(sentence=numbers)], model.config).sentences
    torch.manual_seed(0)
    dropped = (drop(batch).words == 0)[:, 0]
    assert not dropped[0]
    assert not dropped[-1]
    assert 0.4 < dropped[1:-1:2].float().mean() < 0.6
    assert dropped[2:-1:2].float().mean() < 0.05
