"""A model is calibrated on a table of texts: all probabilities change, and no label that it has learned."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import lexitree
from lexitree.errors import ConfigError
from lexitree.labels import SENTIMENTS
from lexitree.pipeline.calibrating import calibrate
from lexitree.saving.model_folder import ModelFolder
from lexitree.saving.model_kinds import save_model
from tests.pipeline.stubs import WORDS, RightBranching
from tests.tiny import tiny_model

TEXTS = [f"{first} {second} film" for first in WORDS for second in WORDS]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    names = dict(zip("01234", SENTIMENTS, strict=True))
    monkeypatch.setattr("lexitree.pipeline.loading.open_parser", lambda name, **_: RightBranching())
    return save_model(tiny_model(labels=tuple("01234"), label_names=names), tmp_path / "model")


@pytest.fixture
def table(model: Path, tmp_path: Path) -> Path:
    """Texts of which the model labels most as they are labelled here."""
    answers = lexitree.load(model, parser=RightBranching(), labels=3)(TEXTS)
    labels = ["neutral" if number % 3 == 0 else answer.label for number, answer in enumerate(answers)]
    path = tmp_path / "dev.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in zip(labels, TEXTS, strict=True)))
    return path


def test_probabilities_change_and_labels_stay(model: Path, table: Path, tmp_path: Path) -> None:
    before = lexitree.load(model, parser=RightBranching())
    found = calibrate(model, [table, table], labels=3, num_rows=40, parser="stub")
    assert found.num_texts == 80
    assert found.temperature != pytest.approx(1, rel=1e-3)
    after = lexitree.load(model, parser=RightBranching())
    for old, new in zip(before.stream(TEXTS), after.stream(TEXTS), strict=True):
        assert old.label == new.label
        scores = np.log(list(old.probabilities.values())) / found.temperature
        expected = np.exp(scores) / np.exp(scores).sum()
        assert list(new.probabilities.values()) == pytest.approx(expected.tolist(), abs=1e-5)
    # It is part of the model wherever that goes, and once fitted it fits.
    record = ModelFolder.find(model).training
    assert record["calibration_error"] == found.error
    moved = save_model(after.predictor.model, tmp_path / "moved")
    again = calibrate(moved, [table], labels=3, num_rows=40, parser="stub", store=False)
    assert again.temperature == pytest.approx(found.temperature, rel=1e-3)


def test_what_cannot_be_calibrated(model: Path, table: Path, shipped_folder: Path) -> None:
    with pytest.raises(ConfigError, match="at least 20 texts, and there are 3"):
        calibrate(model, [table], labels=3, num_rows=3, parser="stub")
    shutil.copytree(model, shipped_folder / "sentiment")
    with pytest.raises(ConfigError, match="sentiment is not a folder"):
        calibrate("sentiment", [table], labels=3)
