"""Trees as deep as they have words, up to 50,000: every step works, in time and memory that grow with the words."""

from __future__ import annotations

import itertools
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
from lexitree.pipeline.text_pipeline import Predictor
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
"""What twice the words may cost at most, in time and in memory, beyond what starting costs: four would be quadratic."""
MOST_ATTEMPTS = 3


class Cost(NamedTuple):
    seconds: float
    """Of processor time, which other processes do not lengthen."""
    peak_bytes: int


MEASURE = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""A child's peak begins with that of its parent: this small one stands between the tests and the command."""


def run_measured(*arguments: object) -> Cost:
    """Run a command that must succeed; what it took."""
    command = [sys.executable, "-c", MEASURE, *COMMAND, *map(str, arguments)]
    finished = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    seconds, peak_kib = finished.stdout.split()[-2:]
    return Cost(float(seconds), int(peak_kib) * 1024)


def write_tree(path: Path, tree: Tree) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(tree_to_brackets(tree) + "\n")
    return path


def train_on_chain(folder: Path, num_words: int, *options: str) -> Cost:
    """One step of training on one chain."""
    write_tree(folder / "train.txt", chain(num_words))
    write_tree(folder / "dev.txt", tiny_trees(1)[0])
    sizes = set_options({"model.hidden": 8, "model.word_size": 8, "model.output": 8})
    return run_measured("train", folder, "-o", folder / "run", "--epochs", "1", *sizes, *options, "-q")


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
    """Cost beyond starting up (ten words) of half the words and of all of them.

    What else runs on the machine can only add to a cost, so the least of a few measurements counts.
    """
    least: dict[int, Cost] = {}
    for _ in range(MOST_ATTEMPTS):
        for size in (TINY, HALF, DEEP):
            least[size] = _less(measure(size), least.get(size))
        if _is_linear(*least.values()):
            return
    start, half, whole = least.values()
    raise AssertionError(f"not linear: {start} for {TINY} words, {half} for {HALF}, {whole} for {DEEP}")


def _less(cost: Cost, other: Cost | None) -> Cost:
    if other is None:
        return cost
    return Cost(min(cost.seconds, other.seconds), min(cost.peak_bytes, other.peak_bytes))


def _is_linear(start: Cost, half: Cost, whole: Cost) -> bool:
    time_grows = whole.seconds - start.seconds < MAX_GROWTH * (half.seconds - start.seconds)
    memory_grows = whole.peak_bytes - start.peak_bytes < MAX_GROWTH * max(
        half.peak_bytes - start.peak_bytes, 64 << 20
    )
    return time_grows and memory_grows and whole.peak_bytes < MAX_BYTES


def check_commands_on_chain(tmp_path: Path, name: str) -> None:
    attempts = itertools.count()
    folders: dict[int, Path] = {}

    def train(size: int) -> Cost:
        folders[size] = tmp_path / f"{size}-{next(attempts)}"
        return train_on_chain(folders[size], size, "-m", name)

    assert_linear(train)
    model, labelled = folders[DEEP] / "run" / "model", tmp_path / "labelled.jsonl"
    assert_linear(lambda size: run_measured("predict", model, folders[size] / "train.txt", "-o", labelled))
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
