"""Distillation: a trained teacher labels the training trees, and its student learns from both kinds of labels.

The teacher labels the trees once, before the first epoch, and its probabilities ("lessons") are written to a file.
Several seeds can share this file, and a resumed run reads the same numbers again, even if a GPU would not reproduce
them exactly.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file  # pyright: ignore[reportUnknownVariableType]

from lexitree.arrays import NO_INDEX, FloatArray
from lexitree.batch.tree_examples import Example, as_read, example_to_label
from lexitree.errors import ConfigError, FileError, PluginError
from lexitree.learning.checkpoint import checksum_arrays
from lexitree.learning.run_folder import model_folders
from lexitree.models.catalog import encoder_class
from lexitree.models.classifier import TreeClassifier
from lexitree.models.inference import run_examples
from lexitree.models.model_config import ModelConfig
from lexitree.plugins import Registry, Source
from lexitree.saving.pretrained import from_pretrained
from lexitree.trees.binarize import unchanged
from lexitree.trees.tree import Tree
from lexitree.writing import atomic_path


class Teacher(Protocol):
    """A teacher of another package: a function that labels trees."""

    def __call__(self, trees: Sequence[Tree], labels: Sequence[str]) -> Iterable[FloatArray]:
        """Label trees.

        Args:
            trees: The training trees, in the form in which the student reads them.
            labels: The labels that the student is trained with.

        Returns:
            For each tree an array [nodes, labels]: the probability of each label, for the nodes in pre-order.
        """
        ...


def _admit(name: str, value: Any, source: Source) -> Teacher:
    if not callable(value) or isinstance(value, type):
        raise TypeError("must be a function that takes trees and labels and returns probabilities")
    return cast(Teacher, value)


TEACHERS: Registry[Teacher] = Registry("teacher", admit=_admit)
"""Teachers that are not saved models, by name."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """A teacher's probabilities for the training trees of its student."""

    teacher: str
    """The name by which it was loaded."""
    about: str
    """A short description for the model card."""
    trees: str
    """A checksum of the trees that it labelled."""
    probabilities: FloatArray
    """[nodes, labels]: the probability of each label it was trained with, for the nodes of all trees in pre-order."""


def give_lessons(
    name: str, student: ModelConfig, trees: Iterable[Tree], *, device: str = "auto", backend: str = "auto"
) -> Lessons:
    """Let a teacher label trees in the form in which its student will read them.

    Args:
        name: A saved model, a run, or a folder with runs of several seeds, whose probabilities are averaged; or the
            name of a teacher that another package adds.
        student: The configuration of the student.
        trees: The training trees.
        device: Where the teacher computes; `auto` is a GPU if there is one.
        backend: The implementation of the tree operations.
    """
    kind = encoder_class(student.model).tree_kind
    read = [as_read(tree, student.binarization, student.supervision, kind).tree for tree in trees]
    if name in TEACHERS:
        probabilities = _ask_other(name, read, student.label_set.trained_ids)
        return Lessons(name, f"{name} of {TEACHERS.source(name)}", trees_checksum(read), probabilities)
    folders = model_folders(name)
    total = np.zeros((sum(tree.num_nodes for tree in read), len(student.label_set.trained_ids)))
    about = ""
    for folder in folders:
        teacher = from_pretrained(folder, device=device, backend=backend)
        check_teacher(name, teacher.config, student)
        about = about or _describe(teacher, len(folders))
        total += _ask(teacher, read)
    return Lessons(name, about, trees_checksum(read), (total / len(folders)).astype(np.float32))


def check_teacher(name: str, teacher: ModelConfig, student: ModelConfig) -> None:
    """Raise a ConfigError if the teacher cannot label what the student has to learn."""
    taught, learned = teacher.label_set.trained_ids, student.label_set.trained_ids
    if taught != learned:
        raise ConfigError(
            f"the teacher {name} was trained with the labels {', '.join(taught)}, and its student"
            f" learns {', '.join(learned)}",
            remedy="Take a teacher that was trained on this corpus, or on one with the same labels.",
        )
    if encoder_class(teacher.model).tree_kind != encoder_class(student.model).tree_kind:
        raise ConfigError(
            f"the teacher {name} reads {encoder_class(teacher.model).tree_kind} trees, and its student does not",
            remedy="Take one that reads the same trees.",
        )
    if teacher.supervision == "root" and student.supervision == "all":
        raise ConfigError(
            f"the teacher {name} has learnt to label whole sentences, and its student learns all phrases",
            remedy="Let it learn whole sentences as well (--set model.supervision=root), or take another teacher.",
        )


def _ask(teacher: TreeClassifier, trees: Iterable[Tree]) -> FloatArray:
    """The probabilities of the labels that the teacher was trained with, not of the coarser ones it answers with."""
    examples = (example_to_label(unchanged(tree), teacher.lexicon) for tree in trees)
    answers = [output.probabilities for output in run_examples(teacher, examples, finer=True)]
    num_labels = len(teacher.config.label_set.trained_ids)
    return np.concatenate([np.zeros((0, num_labels), dtype=np.float32), *answers])


def _ask_other(name: str, trees: Sequence[Tree], labels: Sequence[str]) -> FloatArray:
    """The probabilities of a teacher of another package, checked."""
    answers = [np.asarray(each, dtype=np.float32) for each in TEACHERS[name](trees, labels)]
    shapes = [(tree.num_nodes, len(labels)) for tree in trees]
    if [each.shape for each in answers] != shapes:
        problem = "does not give each node of each tree a probability of each label"
    elif not all(np.isfinite(each).all() and (each >= 0).all() for each in answers):
        problem = "gives probabilities that are negative or not finite"
    elif not all(np.allclose(each.sum(1), 1, atol=1e-3) for each in answers):
        problem = "gives probabilities that do not add up to 1"
    else:
        return np.concatenate([np.zeros((0, len(labels)), dtype=np.float32), *answers])
    raise PluginError(f"the teacher {name!r} of {TEACHERS.source(name)} {problem}")


def _describe(teacher: TreeClassifier, num_models: int) -> str:
    record = teacher.training_record
    words = record.get("encoder") or record.get("vectors")
    parts = [
        encoder_class(teacher.config.model).title,
        f"over {words}" if words else "",
        f"on {record['corpus']}" if "corpus" in record else "",
        f"({num_models} models, the mean of their answers)" if num_models > 1 else "",
    ]
    return " ".join(filter(None, parts))


def save_lessons(lessons: Lessons, path: Path) -> None:
    """Write lessons to a file, completely or not at all."""
    texts = {name: getattr(lessons, name) for name in _TEXTS}
    with atomic_path(path, SafetensorError) as temporary:
        save_file({"probabilities": lessons.probabilities}, temporary, metadata=texts)


def read_lessons(path: Path, teacher: str) -> Lessons:
    """Read lessons from a file and check that they are from the given teacher."""
    try:
        opened: Any = safe_open(path, framework="numpy")
        with opened as file:
            texts: Mapping[str, str] = file.metadata() or {}
            lessons = Lessons(
                **{name: texts[name] for name in _TEXTS}, probabilities=file.get_tensor("probabilities")
            )
    except (SafetensorError, OSError, KeyError) as error:
        raise FileError(path, f"is damaged, or holds no lessons ({error})", remedy=_ANEW) from error
    if lessons.teacher != teacher:
        raise FileError(path, f"has the lessons of {lessons.teacher}, not of {teacher}", remedy=_ANEW)
    return lessons


_TEXTS = ("teacher", "about", "trees")
_ANEW = "Start the run anew in another directory, or give the settings it was started with."


def learn_from(
    lessons: Lessons, examples: Sequence[Example], weight: float, *, mixes_labels: bool = True
) -> list[Example]:
    """Add the teacher's probabilities to the examples as targets.

    The target of a labelled node mixes the teacher's probabilities, with the given weight, and the label. The target
    of a node without a label is the teacher's probabilities alone.

    Args:
        lessons: The probabilities.
        examples: The training trees.
        weight: The teacher's share at a labelled node.
        mixes_labels: Whether the label has the rest of the target; else it is learned besides; see `LabelGrains`.

    Raises:
        ConfigError: The teacher has read other trees.
    """
    if lessons.trees != trees_checksum(example.binary.tree for example in examples):
        raise ConfigError(
            f"the teacher {lessons.teacher} has read other trees than its student is to learn from",
            remedy=_ANEW,
        )
    sizes = [example.num_nodes for example in examples]
    labels = np.concatenate([np.zeros(0, dtype=np.int64), *(example.label_index for example in examples)])
    labelled = np.flatnonzero(labels != NO_INDEX)
    targets = lessons.probabilities.copy()
    targets[labelled] *= weight
    if mixes_labels:
        targets[labelled, labels[labelled]] += 1 - weight
    parts = np.split(targets, np.cumsum(sizes)[:-1]) if sizes else []
    return [dataclasses.replace(example, targets=part) for example, part in zip(examples, parts, strict=True)]


def trees_checksum(trees: Iterable[Tree]) -> str:
    """A checksum of the shapes and words of trees."""
    arrays = ((tree.arity, np.frombuffer("\n".join(tree.words).encode(), np.uint8)) for tree in trees)
    return f"{checksum_arrays(chain.from_iterable(arrays)):08x}"
