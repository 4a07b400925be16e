"""Distillation: a trained teacher labels the training trees, and its student learns from that beside the labels.

The teacher is asked once, before the first epoch. Its lessons are a file: several seeds learn from one, and a run
that is resumed finds what it began with, also where a GPU would not say the same twice.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file  # pyright: ignore[reportUnknownVariableType]

from lexitree.arrays import NO_INDEX, FloatArray
from lexitree.batch.tree_examples import Example, as_read, example_to_label
from lexitree.errors import ConfigError, FileError
from lexitree.files import atomic_path
from lexitree.learning.run_folder import model_folders
from lexitree.models.catalog import encoder_class
from lexitree.models.classifier import TreeClassifier
from lexitree.models.inference import run_examples
from lexitree.models.model_config import ModelConfig
from lexitree.saving.pretrained import from_pretrained
from lexitree.trees.binarize import unchanged
from lexitree.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class Lessons:
    """What a teacher says of the training trees of one student."""

    teacher: str
    """What it was called."""
    about: str
    """What it is, for people."""
    trees: str
    """A checksum of the trees that it has read."""
    probabilities: FloatArray
    """[nodes, scores]: of each label it was trained with, nodes in pre-order, trees one after the other."""


def give_lessons(
    name: str, student: ModelConfig, trees: Iterable[Tree], *, device: str = "cpu", backend: str = "auto"
) -> Lessons:
    """Let a teacher label trees as its student will read them.

    The teacher is a saved model by whatever it can be loaded by, or a run; of the runs of several seeds all teach, by
    the mean of their probabilities.
    """
    kind = encoder_class(student.model).tree_kind
    read = [as_read(tree, student.binarization, student.supervision, kind).tree for tree in trees]
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
    """Refuse a teacher that cannot speak of what its student has to learn."""
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
    """The probabilities of the labels that the teacher was trained with, whatever it makes answers of."""
    config = dataclasses.replace(teacher.config, labels=teacher.config.label_set.trained_ids, finer_labels={})
    teacher.config = config
    examples = (example_to_label(unchanged(tree), teacher.lexicon) for tree in trees)
    answers = [output.probabilities for output in run_examples(teacher, examples)]
    return np.concatenate([np.zeros((0, len(config.labels)), dtype=np.float32), *answers])


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
    """Write lessons to a file, whole or not at all."""
    texts = {name: getattr(lessons, name) for name in _TEXTS}
    with atomic_path(path) as temporary:
        try:
            save_file({"probabilities": lessons.probabilities}, temporary, metadata=texts)
        except SafetensorError as error:
            raise OSError(str(error)) from error


def read_lessons(path: Path, teacher: str) -> Lessons:
    """The lessons of a file, which must be those of the given teacher."""
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


def learn_from(lessons: Lessons, examples: Sequence[Example], weight: float) -> list[Example]:
    """The examples with targets.

    Where a node has a label, the teacher's probabilities count `weight` and the label the rest; where it has none,
    its target is what the teacher says.
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
    targets[labelled, labels[labelled]] += 1 - weight
    parts = np.split(targets, np.cumsum(sizes)[:-1]) if sizes else []
    return [dataclasses.replace(example, targets=part) for example, part in zip(examples, parts, strict=True)]


def trees_checksum(trees: Iterable[Tree]) -> str:
    """What stands for the shapes and words of trees."""
    checksum = 0
    for tree in trees:
        checksum = zlib.crc32(np.ascontiguousarray(tree.arity).data, checksum)
        checksum = zlib.crc32("\n".join(tree.words).encode(), checksum)
    return f"{checksum:08x}"
