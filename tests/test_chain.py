"""Trees as deep as they have words, up to 50,000: every step works, in calls and memory that grow with the words."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from lexitree.batch.tree_examples import make_examples
from lexitree.learning.loop import Trainer
from lexitree.ops.tree_batch import TreeBatch
from lexitree.pipeline.predictor import Predictor
from lexitree.tasks.classify.recipe import TrainingConfig
from lexitree.tasks.classify.task import ClassifyTask
from lexitree.trees.brackets import read_trees, tree_from_brackets, tree_to_brackets
from lexitree.trees.jsonl import read_json_lines
from lexitree.trees.tree import Tree
from tests.command import COMMAND, environment, set_options
from tests.tiny import CONSTITUENCY_MODELS, LABELS, chain, tiny_model, tiny_trees

DEEP, HALF, TINY = 50_000, 25_000, 10
MAX_BYTES = 3 << 30
MAX_GROWTH = 2.6
"""What twice the words may cost at most, in work and in memory, beyond what starting costs: four would be quadratic."""


class Cost(NamedTuple):
    calls: int
    """Calls of functions, Python's own and those of libraries, to which no other process can add; 0: not counted."""
    peak_bytes: int


MEASURE = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""A child's peak begins with that of its parent: this small one stands between the tests and the command."""

COUNT = """
import atexit, itertools, runpy, sys, threading
calls = itertools.count()
def count(frame, event, function):
    if event in ("call", "c_call"):
        next(calls)
threading.setprofile(count)
sys.setprofile(count)
@atexit.register
def show():
    sys.setprofile(None)
    print(next(calls))
runpy.run_module("lexitree", run_name="__main__")
"""
"""Runs the command line and prints the number of calls, which takes some time of its own."""


def run_measured(*arguments: object, counted: bool = False) -> Cost:
    """Run a command that must succeed; what it took."""
    program = [sys.executable, "-c", COUNT] if counted else COMMAND
    command = [sys.executable, "-c", MEASURE, *program, *map(str, arguments)]
    finished = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    *_, calls, peak_kib = ["0", *finished.stdout.split()]
    return Cost(int(calls) if counted else 0, int(peak_kib) * 1024)


def write_tree(path: Path, tree: Tree) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(tree_to_brackets(tree) + "\n")
    return path


def train_on_chain(folder: Path, num_words: int, *options: str, counted: bool = False) -> Cost:
    """One step of training on one chain."""
    write_tree(folder / "train.txt", chain(num_words))
    write_tree(folder / "dev.txt", tiny_trees(1)[0])
    sizes = set_options({"model.hidden": 8, "model.word_size": 8, "model.output": 8})
    return run_measured(
        "train", folder, "-o", folder / "run", "--epochs", "1", *sizes, *options, "-q", counted=counted
    )


@pytest.mark.slow
def test_a_chain_of_5_000_words(tmp_path: Path) -> None:
    """Trained on and predicted, by the commands a user types."""
    train_on_chain(tmp_path, 5_000, "-m", "contree-lex")
    run_measured("predict", tmp_path / "run" / "model", tmp_path / "train.txt", "-o", tmp_path / "out.jsonl")
    (predicted,) = read_json_lines(tmp_path / "out.jsonl")
    assert predicted.words == chain(5_000).words
    assert set(predicted.labels) <= set(LABELS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["contree-lex", "bicontree"])
def test_the_chain_of_50_000_words(name: str, tmp_path: Path) -> None:
    """Read, checked, batched, trained on, predicted and written, in time and memory linear in its length."""
    check_commands_on_chain(tmp_path, name)


def assert_linear(measure: Callable[[int], Cost]) -> None:
    """Compare the cost of half the words and of all of them, beyond that of starting up (ten words)."""
    start, half, whole = (measure(size) for size in (TINY, HALF, DEEP))
    assert whole.calls - start.calls < MAX_GROWTH * (half.calls - start.calls)
    memory_of_half = max(half.peak_bytes - start.peak_bytes, 64 << 20)
    assert whole.peak_bytes - start.peak_bytes < MAX_GROWTH * memory_of_half
    assert whole.peak_bytes < MAX_BYTES


def check_commands_on_chain(tmp_path: Path, name: str) -> None:
    folders = {size: tmp_path / str(size) for size in (TINY, HALF, DEEP)}
    assert_linear(lambda size: train_on_chain(folders[size], size, "-m", name, counted=True))
    model, labelled = folders[DEEP] / "run" / "model", tmp_path / "labelled.jsonl"
    assert_linear(
        lambda size: run_measured("predict", model, folders[size] / "train.txt", "-o", labelled, counted=True)
    )
    assert run_measured("trees", "check", folders[DEEP] / "train.txt").peak_bytes < MAX_BYTES
    (predicted,) = read_json_lines(labelled)
    assert predicted.with_labels(chain(DEEP).labels) == chain(DEEP)
    assert set(predicted.labels) <= set(LABELS)

    shallower = write_tree(tmp_path / "right.txt", chain(5_000, "right"))
    run_measured("predict", model, shallower, "-f", "brackets", "-o", tmp_path / "right.out")
    (predicted,) = read_trees(tmp_path / "right.out")
    assert predicted.words == chain(5_000, "right").words


@pytest.mark.parametrize("side", ["left", "right"])
def test_reading_writing_and_batching(side: str, tmp_path: Path) -> None:
    tree = chain(DEEP, side)
    assert tree_from_brackets(tree_to_brackets(tree)) == tree
    batch = TreeBatch.from_trees([tree, chain(3), tree])
    assert len(batch.level_sizes) == DEEP
    assert batch.level_sizes[:2] == (2 * DEEP + 3, 3)
    path = write_tree(tmp_path / "t.txt", tree)
    for command in (["convert"], ["binarize"], ["statistics"]):
        assert run_measured("trees", *command, path).peak_bytes < 1 << 30


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", [name for name in CONSTITUENCY_MODELS if not name.startswith("bilstm")])
def test_every_tree_model_on_both_chains(name: str, side: str) -> None:
    """Deeper than Python's own stack allows."""
    check_model_on_chain(name, side, 2_000)


@pytest.mark.slow
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", ["contree", "contree-nary", "contree-le", "rntn", "topdown", "bicontree"])
def test_every_tree_model_on_both_chains_of_50_000_words(name: str, side: str) -> None:
    check_model_on_chain(name, side, DEEP)


def check_model_on_chain(name: str, side: str, num_words: int) -> None:
    model = tiny_model(name, dropout=0.0)
    examples = make_examples([chain(num_words, side)], model.lexicon, labels=LABELS, direction="right")
    few = make_examples(tiny_trees(1), model.lexicon, labels=LABELS, direction="right")
    before = model.scorer.hidden_bias.detach().clone()
    result = Trainer(ClassifyTask(model, examples, few, TrainingConfig(epochs=1))).run()
    assert np.isfinite(result.history[0].loss)
    assert (model.scorer.hidden_bias != before).any()
    prediction = Predictor(model).predict(chain(num_words, side))
    assert np.isfinite(prediction.node_probabilities).all()
    assert prediction.node_probabilities.shape == (2 * num_words - 1, 2)
    if prediction.head_index is not None:
        assert (prediction.head_index >= prediction.source.starts).all()
        assert (prediction.head_index < prediction.source.ends).all()


@pytest.mark.slow
def test_the_chain_at_the_papers_size(tmp_path: Path) -> None:
    sizes = set_options({"model.hidden": 150, "model.word_size": 300, "model.output": 128})
    assert train_on_chain(tmp_path / "t", DEEP, *sizes).peak_bytes < 2 * MAX_BYTES
