"""The embedded corpora, which need no download."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import BinaryIO, Literal, cast

from lexitree.corpora.assemble import with_root_label
from lexitree.corpora.corpus import SPLITS, Corpus
from lexitree.corpora.sst import SENTIMENT_TASKS, fine_sentiment
from lexitree.corpora.trec import QuestionTask, question_types
from lexitree.errors import ConfigError
from lexitree.files import decode_lines
from lexitree.trees.brackets import read_bracket_lines, tree_from_brackets
from lexitree.trees.dependencies import head_final, label_by_spans
from lexitree.trees.tree import Tree

MiniName = Literal["reviews", "questions"]
MiniTask = Literal["fine", "binary", "polarity", "coarse", "subtypes"]

_REVIEWS_ABOUT = (
    "Mini reviews: review-like sentences written for lexitree, a sentiment from 0 to 4 on every phrase that "
    "follows from how the phrase is composed. Part of lexitree, under its licence."
)
_QUESTIONS_ABOUT = (
    "Mini questions: questions of six types written for lexitree, with Penn-style trees. Part of lexitree, "
    "under its licence."
)


def load_mini(name: MiniName, task: MiniTask | None = None) -> Corpus:
    """Load an embedded corpus.

    Args:
        name: "reviews" or "questions".
        task: "fine" (default), "binary" or "polarity" for reviews; "coarse" (default), "fine" or "subtypes" for
            questions.

    Raises:
        ConfigError: There is no such corpus or task.
    """
    if name == "reviews" and task in (None, "fine", "binary", "polarity"):
        splits = {split: tuple(_read_reviews(split)) for split in SPLITS}
        title = "mini-reviews" if task in (None, "fine") else f"mini-reviews-{task}"
        return SENTIMENT_TASKS[task or "fine"](title, splits, _REVIEWS_ABOUT)
    if name == "questions" and task in (None, "coarse", "fine", "subtypes"):
        return _load_questions(task or "coarse")
    raise ConfigError(
        f"no embedded corpus {name!r} with the task {task!r}",
        remedy="Available: reviews (fine, binary, polarity) and questions (coarse, fine, subtypes).",
    )


def load_mini_dependencies() -> Corpus:
    """Load the embedded reviews as dependency trees, in which the last word of each phrase is its head."""
    splits: dict[str, tuple[Tree, ...]] = {
        split: tuple(label_by_spans(head_final(tree), tree) for tree in _read_reviews(split))
        for split in SPLITS
    }
    return fine_sentiment("mini-dependencies", splits, _REVIEWS_ABOUT)


def load_mini_parses() -> dict[str, tuple[Tree, ...]]:
    """Load the embedded questions by split, as Penn trees labelled as by a parser."""
    return {split: tuple(tree for _, tree in _read_parses(f"questions.{split}.txt")) for split in SPLITS}


def _load_questions(task: QuestionTask) -> Corpus:
    splits = {
        split: [
            with_root_label(tree, full_type) for full_type, tree in _read_parses(f"questions.{split}.txt")
        ]
        for split in SPLITS
    }
    return question_types("mini-questions", splits, _QUESTIONS_ABOUT, task)


def _read_reviews(split: str) -> Iterator[Tree]:
    name = f"reviews.{split}.txt"
    return read_bracket_lines(_read_embedded(name), name)


def _read_parses(name: str) -> Iterator[tuple[str, Tree]]:
    """Yield the type and the Penn tree of lines `HUM:ind<TAB>(SBARQ ...)`."""
    for number, line in _read_embedded(name):
        full_type, _, brackets = line.partition("\t")
        if brackets:
            yield full_type, tree_from_brackets(brackets, f"{name}:{number}")


def _read_embedded(name: str) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file inside the package, even if that is in a zip file."""
    with files("lexitree.corpora").joinpath("embedded", name).open("rb") as stream:
        yield from decode_lines(cast(BinaryIO, stream), "utf-8", name)
