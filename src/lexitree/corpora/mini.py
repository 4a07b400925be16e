"""The name of an embedded corpus goes in; the corpus comes out, with no download and no network."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import BinaryIO, Literal, cast

from lexitree.corpora.assemble import with_root_label
from lexitree.corpora.corpus import SPLITS, Corpus
from lexitree.corpora.sst import binary_sentiment, fine_sentiment, polarity_sentiment
from lexitree.corpora.trec import QuestionTask, question_types
from lexitree.errors import ConfigError
from lexitree.files import decode_lines
from lexitree.trees.brackets import read_bracket_lines, tree_from_brackets
from lexitree.trees.dependencies import head_final, label_by_spans
from lexitree.trees.tree import Tree

MiniName = Literal["reviews", "questions"]
MiniTask = Literal["fine", "binary", "polarity", "coarse", "subtypes"]

REVIEWS_ABOUT = (
    "Mini reviews: review-like sentences written for lexitree, a sentiment from 0 to 4 on every phrase that "
    "follows from how the phrase is composed. Part of lexitree, under its licence."
)
QUESTIONS_ABOUT = (
    "Mini questions: questions of six types written for lexitree, with Penn-style trees. Part of lexitree, "
    "under its licence."
)


def load_mini(name: MiniName, task: MiniTask | None = None) -> Corpus:
    """The embedded `reviews` (`fine`, `binary` or `polarity`) or `questions` (`coarse`, `fine` or `subtypes`)."""
    if name == "reviews" and task in (None, "fine", "binary", "polarity"):
        splits = {split: tuple(_read_reviews(split)) for split in SPLITS}
        if task == "binary":
            return binary_sentiment("mini-reviews-binary", splits, REVIEWS_ABOUT)
        if task == "polarity":
            return polarity_sentiment("mini-reviews-polarity", splits, REVIEWS_ABOUT)
        return fine_sentiment("mini-reviews", splits, REVIEWS_ABOUT)
    if name == "questions" and task in (None, "coarse", "fine", "subtypes"):
        return _load_questions(task or "coarse")
    raise ConfigError(
        f"no embedded corpus {name!r} with the task {task!r}",
        remedy="There are reviews (fine, binary, polarity) and questions (coarse, fine, subtypes).",
    )


def load_mini_dependencies() -> Corpus:
    """The embedded reviews as dependency trees, the last word of each phrase being its head."""
    splits: dict[str, tuple[Tree, ...]] = {
        split: tuple(label_by_spans(head_final(tree), tree) for tree in _read_reviews(split))
        for split in SPLITS
    }
    return fine_sentiment("mini-dependencies", splits, REVIEWS_ABOUT)


def load_mini_parses() -> dict[str, tuple[Tree, ...]]:
    """The embedded questions by split as Penn trees, labelled as a parser would."""
    return {split: tuple(tree for _, tree in _read_parses(f"questions.{split}.txt")) for split in SPLITS}


def _load_questions(task: QuestionTask) -> Corpus:
    splits = {
        split: [
            with_root_label(tree, full_type) for full_type, tree in _read_parses(f"questions.{split}.txt")
        ]
        for split in SPLITS
    }
    return question_types("mini-questions", splits, QUESTIONS_ABOUT, task)


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
    """Yield the numbered lines of a file that is shipped inside the package, even if that is a zip file."""
    with files("lexitree.corpora").joinpath("embedded", name).open("rb") as stream:
        yield from decode_lines(cast(BinaryIO, stream), "utf-8", name)
