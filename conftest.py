"""Fixtures that tests of several parts share: a tiny treebank and a model trained on it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings
from tests.tiny import tiny_recipe, write_dependency_treebank, write_treebank
from tests.tiny_encoders import KINDS, write_encoder

from lexitree.ops import devices
from lexitree.parsers import adapters
from lexitree.saving import shipped
from lexitree.tasks.classify.run import train

pytest_plugins = ["tests.tiny_parser"]

# A busy machine is no bug, so no example has a deadline. In CI, examples are the same each time.
settings.register_profile("lexitree", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("lexitree")

# In the background of a shell, or below nohup, these are ignored, also by the processes that tests start.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Tests run side by side, and results must not depend on the number of cores."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def auto_is_the_cpu() -> Iterator[None]:
    """What a test does not run on a GPU on purpose runs where its numbers repeat exactly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(devices, "_best_device", lambda: "cpu")
        yield


@pytest.fixture(scope="session")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.txt, dev.txt and test.txt: 60 short labelled sentences. Do not write into it."""
    return write_treebank(tmp_path_factory.mktemp("treebank"))


@pytest.fixture(scope="session")
def trained_run(treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run that has learned the tiny treebank. Do not write into it."""
    folder = tmp_path_factory.mktemp("run") / "trained"
    train(tiny_recipe(treebank, epochs=25, batch_size=5, model={"dropout": 0.0}), folder)
    return folder


@pytest.fixture(scope="session")
def saved_model(trained_run: Path) -> Path:
    """The folder of a saved model. Do not write into it."""
    return trained_run / "model"


@pytest.fixture
def shipped_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which the models of the package are looked for, whatever this version comes with."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    monkeypatch.setattr(shipped, "FOLDER", folder)
    monkeypatch.setattr(adapters, "BUILTIN_MODEL", folder / "parser")
    return folder


@pytest.fixture(scope="session")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of small transformers, by kind: BERT, RoBERTa and T5. Do not write into them."""
    folder = tmp_path_factory.mktemp("encoders")
    return {kind: write_encoder(folder / f"tiny-{kind}", kind) for kind in KINDS}


@pytest.fixture(scope="session")
def dependency_bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same sentences as dependency trees, in train.jsonl, dev.jsonl and test.jsonl. Do not write into it."""
    return write_dependency_treebank(tmp_path_factory.mktemp("dependencies"))


@pytest.fixture(scope="session")
def dependency_run(dependency_bank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of DepTree that has learned them. Do not write into it."""
    folder = tmp_path_factory.mktemp("run") / "deptree"
    settings = {"model": "deptree", "dropout": 0.0}
    train(tiny_recipe(dependency_bank, epochs=60, batch_size=5, model=settings), folder)
    return folder
