"""The TREC questions with their types, coarse or fine, and parses if there are any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from lexitree.corpora.assemble import hold_out, with_root_label
from lexitree.corpora.corpus import Corpus, with_answers
from lexitree.corpora.treebank import split_words
from lexitree.errors import ConfigError, CorpusNotFoundError, Place, SentenceError
from lexitree.files import read_lines
from lexitree.labels import LabelSet, order_labels
from lexitree.trees.brackets import read_bracket_lines, same_surface
from lexitree.trees.tree import Tree

QuestionTask = Literal["coarse", "fine", "subtypes"]

_DEV_SEED = 2002
"""TREC has no development split; everyone who holds one out with this seed gets the same questions."""

_NUM_DEV = 500
_LABEL_ENCODING = "latin-1"
"""The files contain one byte that is not ASCII, and it is not UTF-8."""

_TYPE_NAMES = {
    "ABBR": "abbreviation",
    "DESC": "description",
    "ENTY": "entity",
    "HUM": "human",
    "LOC": "location",
    "NUM": "number",
}
_FILES = {"train": ("train_5500.label", "train.parses"), "test": ("TREC_10.label", "test.parses")}

ABOUT = (
    "TREC question classification: questions with one of 6 coarse and 50 fine types. Source: "
    "https://cogcomp.seas.upenn.edu/Data/QA/QC/. Licence: none stated. Cite: Li and Roth 2002, Learning "
    "Question Classifiers, COLING. The parses are not part of the public files."
)


def find_trec(folder: str | Path) -> Path | None:
    """Return the folder with the two label files, at or below the one given; None if there is none."""
    for candidate in (Path(folder, "trec"), Path(folder)):
        if all((candidate / labels).is_file() for labels, _ in _FILES.values()):
            return candidate
    return None


def load_trec(folder: str | Path, task: QuestionTask = "coarse") -> Corpus:
    """Load the questions with their types as root labels.

    If train.parses and test.parses (one tree per line) are next to the label files, the questions have these trees;
    otherwise the trees are flat. The same 500 training questions are always held out as the development split.

    Args:
        folder: A folder at or below which the files are.
        task: "coarse" (HUM), "fine" (HUM:ind), or "subtypes": the coarse task, with fine types in the training split.

    Raises:
        CorpusNotFoundError: The files are not there.
        ConfigError: The task is unknown.
        SentenceError: A line is malformed, or a parse does not match its question.
    """
    if task not in get_args(QuestionTask):
        raise ConfigError(f"unknown task {task!r}: TREC has the tasks {', '.join(get_args(QuestionTask))}")
    found = find_trec(folder)
    if found is None:
        raise CorpusNotFoundError(
            f"the TREC questions (train_5500.label, TREC_10.label) are not at or below {folder}",
            remedy="Download them with `lexitree data fetch trec`.",
        )
    has_parses = all((found / parses).is_file() for _, parses in _FILES.values())
    full, test = (_read_split(found, split, has_parses) for split in ("train", "test"))
    train, dev = hold_out(full, min(_NUM_DEV, len(full) // 2), _DEV_SEED)
    notes = [f"{len(dev)} of {len(full):,} training questions held out for development (seed {_DEV_SEED})"]
    if not has_parses:
        notes.append(f"flat trees, as there are no train.parses and test.parses in {found}")
    corpus = question_types("trec", {"train": train, "dev": dev, "test": test}, ABOUT, task)
    return replace(corpus, inference="; ".join([corpus.inference, *notes]))


def question_types(name: str, splits: Mapping[str, Sequence[Tree]], about: str, task: QuestionTask) -> Corpus:
    """Make a task from questions whose roots have full types such as `HUM:ind`; see `load_trec`."""
    full_types = order_labels(tree.label for trees in splits.values() for tree in trees)
    answers = {full_type: full_type.partition(":")[0] for full_type in full_types}
    coarse = {split: with_answers(trees, answers, "root") for split, trees in splits.items()}
    labels = full_types if task == "fine" else order_labels(answers.values())
    taken = {"coarse": coarse, "fine": splits, "subtypes": {**coarse, "train": splits["train"]}}[task]
    names = _question_type_names(labels if task != "subtypes" else (*full_types, *labels))
    inference = f"labels on the roots only, {len(labels)} labels"
    if task == "subtypes":
        inference += f"; training: {len(full_types)} labels"
    return Corpus(
        name=name if task == "coarse" else f"{name}-{task}",
        splits={split: tuple(trees) for split, trees in taken.items()},
        label_set=LabelSet(labels, names, answers if task == "subtypes" else {}),
        supervision="root",
        about=about,
        inference=inference,
    )


def _question_type_names(labels: Iterable[str]) -> dict[str, str]:
    """Return readable names: `HUM` is "human", `HUM:ind` is "human: ind"."""
    names: dict[str, str] = {}
    for label in labels:
        coarse, colon, fine = label.partition(":")
        names[label] = _TYPE_NAMES.get(coarse, coarse) + (f": {fine}" if colon else "")
    return names


def _read_split(folder: Path, split: str, has_parses: bool) -> list[Tree]:
    label_file, parse_file = _FILES[split]
    questions = _read_questions(folder / label_file)
    if has_parses:
        trees = _read_parses(folder / parse_file, questions)
    else:
        trees = [Tree.flat(words) for _, words in questions]
    return [with_root_label(tree, full_type) for (full_type, _), tree in zip(questions, trees, strict=True)]


def _read_questions(path: Path) -> list[tuple[str, list[str]]]:
    """Read the type and the words of every line `HUM:ind Who was Galileo ?`."""
    questions: list[tuple[str, list[str]]] = []
    for number, line in read_lines(path, _LABEL_ENCODING):
        full_type, *words = split_words(line) or [""]
        coarse, _, fine = full_type.partition(":")
        if not (coarse and fine and words):
            raise SentenceError(Place(str(path), number, 1, line), "expected a line `TYPE:subtype question`")
        questions.append((full_type, words))
    return questions


def _read_parses(path: Path, questions: list[tuple[str, list[str]]]) -> list[Tree]:
    """Read the parses line by line; a mismatch with the questions would corrupt the training data."""
    trees: list[Tree] = []
    number = 0
    for number, line in read_lines(path):
        if number > len(questions):
            break
        words = questions[number - 1][1]
        # Line by line, so that an error in one tree does not shift the others.
        parsed = list(read_bracket_lines([(number, line)], str(path)))
        if len(parsed) != 1 or not same_surface(parsed[0].words, words):
            problem = f"this is not one parse of question {number}, which is: {' '.join(words)}"
            raise SentenceError(Place(str(path), number, 1, line), problem)
        trees.extend(parsed)
    if number != len(questions):
        problem = (
            f"{'more' if number > len(questions) else 'fewer'} parses than the {len(questions):,} questions"
        )
        raise SentenceError(Place(str(path), number), problem)
    return trees
