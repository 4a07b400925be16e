"""What a run saves: its best model, with the scores that are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lexitree.corpora.named import load_corpus
from lexitree.evaluation.accuracy import evaluate
from lexitree.learning.observers import EpochRecord, SilentObserver
from lexitree.learning.run_folder import RESULT_FILE
from lexitree.saving.pretrained import from_pretrained
from lexitree.tasks.classify.run import train
from tests.tiny import tiny_recipe


def test_the_saved_model_has_the_scores_that_are_told(trained_run: Path, treebank: Path) -> None:
    result = json.loads((trained_run / RESULT_FILE).read_text())
    model = from_pretrained(trained_run / "model")
    corpus = load_corpus(treebank)
    for split in ("dev", "test"):
        scores = evaluate(model, model.prepare(corpus.splits[split]))
        assert scores.root.accuracy == result[f"{split}_root"]
        assert scores.phrase is not None
        assert scores.phrase.accuracy == result[f"{split}_phrase"]
    assert (
        json.loads((trained_run / "model" / "config.json").read_text())["training"]["test_root"]
        == (result["test_root"])
    )
    assert f"| best_epoch | {result['best_epoch']} |" in (trained_run / "model" / "README.md").read_text()


def test_the_model_is_saved_as_soon_as_it_is_the_best(treebank: Path, tmp_path: Path) -> None:
    class Stopper(SilentObserver):
        def on_epoch(self, record: EpochRecord) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(tiny_recipe(treebank), tmp_path / "r", observer=Stopper())
    assert from_pretrained(tmp_path / "r" / "model").config.hidden == 8
