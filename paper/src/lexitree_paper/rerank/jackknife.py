"""Jackknifing: candidate lists for training sentences from parsers that have not seen them.

A parser knows the sentences it was trained on by heart. What it says of them is better than what it says of others,
and a reranker that learned from that would trust it too much.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lexitree.errors import ConfigError
from lexitree.files import file_errors
from lexitree.learning.observers import Observer
from lexitree.learning.run_folder import MODEL_FOLDER
from lexitree.ops.openmp import openmp_threads
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.protocol import Candidate
from lexitree.parsers.saved_parser import load_parser
from lexitree.processes import run_in_processes
from lexitree.tasks.parse.data import ParserData, Treebank, load_parser_data, sentence_key
from lexitree.tasks.parse.recipe import ParserRecipe
from lexitree.tasks.parse.run import train_parser
from lexitree.trees.brackets import tree_to_brackets
from lexitree.trees.tree import Tree
from lexitree.writing import atomic_write

LISTS_FILE = "lists.jsonl"
"""In the directory of each fold: the lists of its sentences."""


@dataclass(frozen=True, slots=True)
class JackknifeFold:
    """What one parser is trained on, and what it is to parse."""

    number: int
    train: ParserData
    held_out: tuple[Treebank, ...]


def cut_jackknife(banks: ParserData, num_folds: int, seed: int = 1) -> list[JackknifeFold]:
    """Cut the training trees into parts, the same sentence always in the same; each fold is trained on all others.

    The test treebanks are left out: no parser of a fold is the one that will be used.
    """
    keys = list(dict.fromkeys(sentence_key(tree) for bank in banks.train for tree in bank.trees))
    if not 2 <= num_folds <= len(keys):
        raise ConfigError(f"{len(keys):,} sentences cannot be cut into {num_folds} folds")
    order: list[int] = np.random.Generator(np.random.PCG64([seed])).permutation(len(keys)).tolist()
    fold_of = {keys[number]: place % num_folds for place, number in enumerate(order)}

    def pick(fold: int, *, inside: bool) -> tuple[Treebank, ...]:
        return tuple(
            dataclasses.replace(
                bank,
                trees=tuple(tree for tree in bank.trees if (fold_of[sentence_key(tree)] == fold) is inside),
            )
            for bank in banks.train
        )

    return [
        JackknifeFold(
            fold + 1,
            dataclasses.replace(banks, train=pick(fold, inside=False), test=()),
            pick(fold, inside=True),
        )
        for fold in range(num_folds)
    ]


def write_jackknife_lists(
    recipe: ParserRecipe,
    folder: str | Path,
    output: str | Path,
    *,
    num_folds: int,
    k: int,
    jobs: int = 1,
    on_fold: Callable[[int], object] = lambda _: None,
    **options: Any,
) -> int:
    """Train a parser for each fold, parse what it has not seen, and write the lists; their number.

    Finished folds are kept in `folder`, where an interrupted run is resumed. `jobs` folds are made at the same time,
    in processes of their own; `on_fold` is told the number of each finished one. Options are those of `make_fold`.
    """
    folds = range(1, num_folds + 1)
    paths = [Path(folder) / f"fold-{number}-of-{num_folds}" / LISTS_FILE for number in folds]
    tasks = [
        (recipe, path, number, num_folds, k)
        for number, path in zip(folds, paths, strict=True)
        if not path.exists()
    ]
    threads = max(1, torch.get_num_threads() // min(jobs, num_folds))
    make = functools.partial(_make_fold_on, threads, **options)
    for place, _ in run_in_processes(make, tasks, jobs=jobs):
        on_fold(tasks[place][2])
    return _join_lists(paths, Path(output))


def _make_fold_on(threads: int, *task: Any, **options: Any) -> None:
    """Make a fold with its share of the cores: processes side by side would otherwise all take all of them."""
    with openmp_threads(threads):
        make_fold(*task, **options)


def make_fold(
    recipe: ParserRecipe,
    path: Path,
    number: int,
    num_folds: int,
    k: int,
    *,
    data: str | Path | None = None,
    device: str = "auto",
    minutes: float | None = None,
    observer_of: Callable[[int], Observer] | None = None,
) -> None:
    """Train the parser of one fold, counted from 1, beside the path, and write the lists of its sentences there.

    `minutes` is the most that the training may take; the parser is then the best so far. `observer_of` gives who is
    told of a fold's epochs; it is called in the process of the fold.
    """
    fold = cut_jackknife(load_parser_data(recipe, data), num_folds, recipe.training.seed)[number - 1]
    train_parser(
        recipe,
        path.parent,
        banks=fold.train,
        data=data,
        device=device,
        minutes=minutes,
        # The checkpoint refuses what was begun with other settings.
        resume=path.parent.exists(),
        observer=None if observer_of is None else observer_of(number),
    )
    with atomic_write(path) as stream:
        for line in parse_fold(path.parent / MODEL_FOLDER, fold, k, device):
            stream.write(line + "\n")


def parse_fold(parser: Path, fold: JackknifeFold, k: int, device: str = "auto") -> Iterator[str]:
    """A line of JSON for each sentence of a fold: the gold tree and the k best, each bank in its own style."""
    for bank in fold.held_out:
        loaded: NeuralParser = load_parser(parser, device=device, style=bank.style, library="torch")
        found = loaded.parse_all_k_best([tree.words for tree in bank.trees], k)
        for gold, candidates in zip(bank.trees, found, strict=True):
            yield list_to_json(gold, candidates, treebank=bank.name, fold=fold.number)


def list_to_json(gold: Tree | None, candidates: Sequence[Candidate], **more: object) -> str:
    """A list as `read_lists` reads it."""
    values: dict[str, object] = {} if gold is None else {"gold": tree_to_brackets(gold)}
    values["candidates"] = [
        {"score": candidate.log_probability, "tree": tree_to_brackets(candidate.tree)}
        for candidate in candidates
    ]
    return json.dumps({**values, **more}, ensure_ascii=False)


def _join_lists(parts: Sequence[Path], output: Path) -> int:
    num_lists = 0
    with atomic_write(output) as stream:
        for path in parts:
            with file_errors(path):
                lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            stream.writelines(lines)
            num_lists += len(lines)
    return num_lists
