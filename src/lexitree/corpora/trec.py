"""The TREC question files and their parses go in; the task of telling their types, coarse or fine, comes out."""

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
from lexitree.trees.brackets import read_bracket_lines, surface_form
from lexitree.trees.tree import Tree

QuestionTask = Literal["coarse", "fine", "subtypes"]

DEV_SEED = 2002
"""TREC brings no development split; everybody who holds one out with this seed gets the same questions."""

NUM_DEV = 500
LABEL_ENCODING = "latin-1"
"""The files hold one byte that is not ASCII, and it is not UTF-8."""

TYPE_NAMES = {
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
    """The folder with the two label files, at or below the one given."""
    for candidate in (Path(folder, "trec"), Path(folder)):
        if all((candidate / labels).is_file() for labels, _ in _FILES.values()):
            return candidate
    return None


def load_trec(folder: str | Path, task: QuestionTask = "coarse") -> Corpus:
    """Read the questions with their type at the root: `coarse` is HUM, `fine` is HUM:ind.

    `subtypes` has the development and test splits of `coarse`, but the types of `fine` in the training split.

    Where train.parses and test.parses (one tree a line) stand beside the label files, the questions have
    these trees; their phrase labels are dropped. Else the trees are flat. 500 training questions are held out
    as the development split, always the same ones.
    """
    if task not in get_args(QuestionTask):
        raise ConfigError(f"TREC has the tasks {', '.join(get_args(QuestionTask))}, not {task!r}")
    found = find_trec(folder)
    if found is None:
        raise CorpusNotFoundError(
            f"no train_5500.label and TREC_10.label at or below {folder}",
            remedy="Get them with `lexitree data fetch trec`.",
        )
    has_parses = all((found / parses).is_file() for _, parses in _FILES.values())
    full, test = (_read_split(found, split, has_parses) for split in ("train", "test"))
    train, dev = hold_out(full, min(NUM_DEV, len(full) // 2), DEV_SEED)
    notes = [f"{len(dev)} of {len(full):,} training questions held out for development (seed {DEV_SEED})"]
    if not has_parses:
        notes.append(f"flat trees, since there are no train.parses and test.parses in {found}")
    corpus = question_types("trec", {"train": train, "dev": dev, "test": test}, ABOUT, task)
    return replace(corpus, inference="; ".join([corpus.inference, *notes]))


def question_types(name: str, splits: Mapping[str, Sequence[Tree]], about: str, task: QuestionTask) -> Corpus:
    """A task on questions whose roots are labelled with full types, as `HUM:ind`; see `load_trec`."""
    full_types = order_labels(tree.label for trees in splits.values() for tree in trees)
    answers = {full_type: full_type.partition(":")[0] for full_type in full_types}
    coarse = {split: with_answers(trees, answers, "root") for split, trees in splits.items()}
    labels = full_types if task == "fine" else order_labels(answers.values())
    taken = {"coarse": coarse, "fine": splits, "subtypes": {**coarse, "train": splits["train"]}}[task]
    names = question_type_names(labels if task != "subtypes" else (*full_types, *labels))
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


def question_type_names(labels: Iterable[str]) -> dict[str, str]:
    """`HUM` is "human", `HUM:ind` is "human: ind"."""
    names: dict[str, str] = {}
    for label in labels:
        coarse, colon, fine = label.partition(":")
        names[label] = TYPE_NAMES.get(coarse, coarse) + (f": {fine}" if colon else "")
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
    """(type, words) of every line `HUM:ind Who was Galileo ?`."""
    questions: list[tuple[str, list[str]]] = []
    for number, line in read_lines(path, LABEL_ENCODING):
        full_type, *words = split_words(line) or [""]
        coarse, _, fine = full_type.partition(":")
        if not (coarse and fine and words):
            raise SentenceError(Place(str(path), number, 1, line), "not a line `TYPE:subtype question`")
        questions.append((full_type, words))
    return questions


def _read_parses(path: Path, questions: list[tuple[str, list[str]]]) -> list[Tree]:
    """The parses of the questions, line by line; one of another sentence would poison what is learnt."""
    trees: list[Tree] = []
    number = 0
    for number, line in read_lines(path):
        if number > len(questions):
            break
        words = questions[number - 1][1]
        # Line by line, so that a tree stays with its line whatever is wrong with another.
        parsed = list(read_bracket_lines([(number, line)], str(path)))
        if len(parsed) != 1 or not _same_words(parsed[0], words):
            problem = f"this is not one parse of question {number}, which is: {' '.join(words)}"
            raise SentenceError(Place(str(path), number, 1, line), problem)
        trees.extend(parsed)
    if number != len(questions):
        problem = (
            f"{'more' if number > len(questions) else 'fewer'} parses than the {len(questions):,} questions"
        )
        raise SentenceError(Place(str(path), number), problem)
    return trees


def _same_words(tree: Tree, words: list[str]) -> bool:
    return [surface_form(word) for word in tree.words] == [surface_form(word) for word in words]
