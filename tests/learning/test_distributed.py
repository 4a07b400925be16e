"""Several processes train as one does at the same batch size, and none of them waits for one that is gone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from lexitree.errors import ConfigError, LostProcessError
from lexitree.learning.distributed import (
    OneProcess,
    ProcessGroup,
    is_data_parallel,
    join_processes,
    own_device,
    refuse_several_processes,
)
from lexitree.learning.loop import Trainer
from lexitree.learning.run_folder import read_result
from lexitree.models.classifier import TreeClassifier
from lexitree.models.model_config import ModelConfig
from lexitree.models.transformer import TransformerConfig, open_transformer
from lexitree.models.word_table import WordTable
from lexitree.tasks.classify.recipe import TrainingConfig
from lexitree.tasks.classify.run import train as train_into
from lexitree.tasks.classify.task import ClassifyTask
from lexitree.trees.brackets import tree_from_brackets
from tests.learning.forked import run_forked, torchrun_variables
from tests.tasks.classify.test_more_corpora import two_way
from tests.tiny import LABELS, tiny_model, tiny_trees

DROPOUT = {"dropout": 0.3, "state_dropout": 0.2, "weight_dropout": 0.2}
EVERYTHING: Mapping[str, Any] = {"clip": 1.0, "averaging": 0.9, "schedule": "linear", "warm_up": 0.1}
"""Settings under which all parts of an update matter."""

Trained = tuple[dict[str, npt.NDArray[Any]], list[float], list[float]]
"""Weights, losses and development scores of a run."""


def static_model() -> TreeClassifier:
    return tiny_model(**DROPOUT)


def transformer_model(folder: Path) -> TreeClassifier:
    """A transformer that is trained, with dropout of its own, and static vectors beside it."""
    torch.manual_seed(1)
    table = WordTable.random(tiny_model().lexicon.vocabulary, 4)
    lexicon = open_transformer(TransformerConfig(name=str(folder)), table=table)
    sizes = {"hidden": 8, "output": 8, "word_size": lexicon.word_size}
    return TreeClassifier(ModelConfig(model="bicontree", labels=LABELS, **sizes, **DROPOUT), lexicon)


def train(model: TreeClassifier, processes: OneProcess, num_trees: int = 20, **settings: Any) -> Trained:
    # Two roots that are leaves: a share may have no inner node, and one of the last batch no tree at all.
    leaves = [tree_from_brackets("(1 good)"), tree_from_brackets("(0 bad)")]
    examples = model.prepare([*tiny_trees(num_trees - 1), *leaves], training=True)
    config = TrainingConfig(**{"batch_size": 4, "epochs": 2, "learning_rate": 0.01, **EVERYTHING, **settings})
    task = ClassifyTask(model, examples, model.prepare(tiny_trees(10, 1)), config, processes=processes)
    result = Trainer(task, processes=processes).run()
    losses = [record.loss for record in result.history]
    # Tensors would be sent as shared memory of a process that has ended.
    weights = {name: weight.numpy() for name, weight in model.state_dict().items()}
    return weights, losses, [record.scores["dev_phrase"] for record in result.history]


def largest_difference(first: Trained, second: Trained) -> float:
    return max(float(np.abs(weight - second[0][name]).max()) for name, weight in first[0].items())


def test_two_processes_do_what_one_does() -> None:
    def run(processes: OneProcess) -> Trained:
        return train(static_model().double(), processes, num_trees=9, batch_size=3)

    (alone,), (first, second) = run_forked(1, run), run_forked(2, run)
    assert largest_difference(alone, first) < 1e-12
    assert largest_difference(first, second) == 0
    assert first[1] == pytest.approx(alone[1], abs=1e-12)
    assert first[1:] == second[1:]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "size"), [("static", 2), ("static", 3), ("transformer", 2)])
def test_200_updates_in_double_precision(kind: str, size: int, encoders: dict[str, Path]) -> None:
    def run(processes: OneProcess) -> Trained:
        model = static_model() if kind == "static" else transformer_model(encoders["bert"])
        return train(model.double(), processes, num_trees=80, epochs=10)

    (alone,), together = run_forked(1, run), run_forked(size, run)
    assert max(largest_difference(alone, each) for each in together) < 1e-8
    assert alone[1][-1] < alone[1][0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["static", "transformer"])
def test_single_precision(kind: str, encoders: dict[str, Path]) -> None:
    def run(processes: OneProcess) -> Trained:
        model = static_model() if kind == "static" else transformer_model(encoders["bert"])
        return train(model, processes, num_trees=80, epochs=4, learning_rate=0.003)

    (alone,), together = run_forked(1, run), run_forked(2, run)
    assert together[0][1][0] == pytest.approx(alone[1][0], abs=1e-3)
    assert together[0][2][-1] == pytest.approx(alone[2][-1], abs=0.02)
    assert largest_difference(*together) == 0


@pytest.mark.slow
def test_a_run_with_further_corpora_and_a_teacher(tmp_path: Path) -> None:
    recipe = two_way(tmp_path, choose_by="mean")
    train_into(recipe, tmp_path / "teacher")
    student = recipe.with_values({"teacher": str(tmp_path / "teacher")})
    results: list[dict[str, Any]] = []
    for size in (1, 2):
        folder = tmp_path / f"student-{size}"
        outcomes = run_forked(size, lambda _, folder=folder: train_into(student, folder).scores())
        results.append(read_result(folder))
        assert all(outcome == outcomes[0] for outcome in outcomes)
    one, two = results
    assert [epoch["loss"] for epoch in two["epochs"]] == pytest.approx(
        [epoch["loss"] for epoch in one["epochs"]], abs=1e-3
    )
    assert two["dev_more"] == one["dev_more"]
    assert two["environment"]["processes"] == 2


def test_alone() -> None:
    with join_processes() as processes:
        assert (processes.rank, processes.size, processes.is_first) == (0, 1, True)
        assert processes.from_first(lambda: 7) == 7
        assert not isinstance(processes, ProcessGroup)
    assert own_device("cpu") == "cpu"
    assert not is_data_parallel()


def test_each_process_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: done.append(f"set {device}"))
    monkeypatch.setattr(
        "lexitree.learning.distributed.choose_device", lambda name: done.append(f"try {name}") or name
    )
    for name, value in torchrun_variables(1, 2, 1).items():
        monkeypatch.setenv(name, value)
    for device in ("auto", "cuda", "cuda:1"):
        done.clear()
        assert own_device(device) == "cuda:1"
        # Whatever comes before would open the first GPU.
        assert done == ["set cuda:1", "try cuda:1"]
    assert own_device("cpu") == "cpu"
    with pytest.raises(ConfigError, match="2 processes cannot share the device cuda:0"):
        own_device("cuda:0")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ConfigError, match="2 processes need as many GPUs"):
        own_device("cuda")


def test_files_are_for_the_first_process() -> None:
    def work(processes: OneProcess) -> Any:
        with join_processes() as same:
            assert same is processes
        pids = [processes.from_first(os.getpid) for _ in range(2)]
        refused = ""
        try:
            processes.check_same(processes.rank, "numbers")
        except ConfigError as error:
            refused = error.message
        with pytest.raises(LostProcessError if processes.rank else ZeroDivisionError):
            processes.from_first(lambda: 1 // 0)
        return pids, refused

    first, second = run_forked(2, work)
    assert first == second
    assert "different numbers: process 0 and process 1" in first[1]


def test_the_others_end_with_a_process_that_is_killed() -> None:
    def work(processes: OneProcess) -> Any:
        model = static_model()
        examples = model.prepare(tiny_trees(12), training=True)
        config = TrainingConfig(batch_size=4, epochs=4)
        task = ClassifyTask(model, examples, examples, config, processes=processes)
        if processes.rank == 1:
            own = task.update

            def update(batch: Any) -> Any:
                if task.optimizer.num_steps >= 5:
                    os.kill(os.getpid(), signal.SIGKILL)
                return own(batch)

            task.update = update  # type: ignore[method-assign]
        return Trainer(task, processes=processes).run()

    start = time.monotonic()
    first, second = run_forked(2, work)
    assert second is None
    assert isinstance(first, LostProcessError)
    assert "--resume" in first.remedy
    assert time.monotonic() - start < 30


@pytest.mark.slow
def test_nobody_waits_for_a_process_that_hangs() -> None:
    def work(processes: OneProcess) -> Any:
        if processes.rank == 1:
            time.sleep(20)
            return None
        train(static_model(), processes)
        return None

    start = time.monotonic()
    first, _ = run_forked(2, work, update_seconds=2)
    assert isinstance(first, LostProcessError)
    assert time.monotonic() - start < 30


def test_what_trains_in_one_process_only(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_several_processes("parsers")
    for name, value in torchrun_variables(0, 2, 1).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match="parsers are trained in one process"):
        refuse_several_processes("parsers")
