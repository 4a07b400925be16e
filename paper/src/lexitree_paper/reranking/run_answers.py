"""Trains one run of the reranking experiment and writes what the record needs of it."""

from __future__ import annotations

import dataclasses
import datetime
import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from lexitree.errors import FileError
from lexitree.learning.checkpoint import CHECKPOINT_FILE
from lexitree.learning.provenance import describe_code, machine
from lexitree.learning.run_folder import MODEL_FOLDER
from lexitree.trees.brackets import strip_traces, tree_from_brackets
from lexitree.trees.tree import Tree
from lexitree.writing import atomic_write
from lexitree_paper.analyze.head_overlap import find_reranker_heads, reranker_overlap
from lexitree_paper.rerank.data import RerankData
from lexitree_paper.rerank.model import RerankerModel
from lexitree_paper.rerank.reranker import load_reranker
from lexitree_paper.rerank.run import RerankRun, train_reranker
from lexitree_paper.reranking.plan import RerankTask, is_same_recipe, settings_of

ANSWER_FILE = "answer.json"
"""In the folder of a finished run: all that the record needs, so that models need not be copied."""

_SECONDS_AROUND = 20.0
"""Time of a run besides its epochs: reading lists, scoring the tests, comparing heads."""


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """The time in which runs may be trained, in seconds since the epoch."""

    begin: float
    end: float

    @property
    def minutes_left(self) -> float:
        return (self.end - time.time()) / 60

    def has_room_for(self, seconds: float) -> bool:
        """Return whether a run would end in time; one that never could is started anyway, and interrupted."""
        return time.time() + seconds <= self.end or seconds > self.end - self.begin


def run_task(task: RerankTask, limit: TimeLimit | None) -> bool:
    """Train one run; return whether it is finished."""
    if limit is not None and (limit.minutes_left <= 0 or not _has_room(task, limit)):
        return False
    # Matrix products are small: several runs make better use of the cores.
    torch.set_num_threads(1)
    lists = task.read_lists()
    if (task.folder / ANSWER_FILE).exists():
        # It belongs to another recipe, or to other lists or vectors.
        shutil.rmtree(task.folder)
    run = train_reranker(
        task.recipe,
        task.folder,
        lists=lists,
        data=task.data,
        device=task.device,
        minutes=None if limit is None else limit.minutes_left,
        # The checkpoint refuses what was begun with other settings.
        resume=task.folder.exists(),
    )
    if len(run.training.history) < task.recipe.training.epochs:
        return False
    answer = _make_answer(task, lists, run)
    with atomic_write(task.folder / ANSWER_FILE) as stream:
        json.dump(answer, stream)
        stream.write("\n")
    # It is large, and a finished run is never resumed.
    (task.folder / CHECKPOINT_FILE).unlink(missing_ok=True)
    return True


def _has_room(task: RerankTask, limit: TimeLimit) -> bool:
    """Return whether the run would end in time, judging by similar runs; started runs are always resumed."""
    folder = task.folder.parents[1]
    known = [json.loads(path.read_bytes())["seconds"] for path in folder.glob(f"*/*/{ANSWER_FILE}")]
    is_begun = (task.folder / CHECKPOINT_FILE).exists()
    return is_begun or not known or limit.has_room_for(max(known) + _SECONDS_AROUND)


def read_answer(task: RerankTask) -> dict[str, Any] | None:
    """Read the answer of a run; None unless it is finished with the same recipe and data."""
    path = task.folder / ANSWER_FILE
    if not path.is_file():
        return None
    try:
        answer: dict[str, Any] = json.loads(path.read_bytes())
    except ValueError as error:
        raise FileError(path, "is damaged or cut off", remedy="Delete it to repeat the run.") from error
    is_same = is_same_recipe(answer["settings"], task.recipe) and answer["data"] == task.checksums()
    return answer if is_same else None


def is_begun(task: RerankTask) -> bool:
    """Return whether a run was started but not finished."""
    return task.folder.exists() and not (task.folder / ANSWER_FILE).exists()


def begin_anew(task: RerankTask) -> None:
    """Delete a run; its empty folder tells later commands to train it."""
    shutil.rmtree(task.folder, ignore_errors=True)
    task.folder.mkdir(parents=True)


def _make_answer(task: RerankTask, lists: RerankData, run: RerankRun) -> dict[str, Any]:
    model = load_reranker(run.folder / MODEL_FOLDER, device=task.device).model
    return {
        "settings": settings_of(task.recipe),
        "data": task.checksums(),
        **describe_code(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "num_parameters": model.num_parameters(),
        "best_epoch": run.best.epoch,
        "base_weight": run.best.scores["base_weight"],
        "dev_f1": run.best.scores["dev_f1"],
        "seconds": run.training.seconds,
        "choices": list(run.choices),
        **(_describe_heads(model, lists, task.drawn) if model.encoder.has_heads else {}),
    }


def _describe_heads(model: RerankerModel, lists: RerankData, drawn: Sequence[str]) -> dict[str, Any]:
    """Return how often learned heads agree with Collins' rules on gold test trees, and the heads of trees to draw."""
    overlap = reranker_overlap(model, [_without_traces(each.source.gold) for each in lists.test])
    trees = [tree_from_brackets(text) for text in drawn]
    return {
        "heads": [dataclasses.asdict(row) for row in overlap.rows()],
        "drawn": [headed.source_heads() for headed in find_reranker_heads(model, trees)],
    }


def _without_traces(tree: Tree | None) -> Tree:
    kept = None if tree is None else strip_traces(tree)
    assert kept is not None, "lists that are scored have gold trees with words"
    return kept
