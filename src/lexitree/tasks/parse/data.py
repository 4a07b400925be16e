"""Reading the treebanks of a parser's recipe: clean trees for training, development and test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from lexitree.corpora.locations import DATA_VARIABLE, data_folders
from lexitree.corpora.mini import load_mini_parses
from lexitree.errors import CorpusNotFoundError, FileError
from lexitree.files import read_lines
from lexitree.learning.provenance import checksum
from lexitree.parsers.penn_spans import clean_trees, without_root
from lexitree.tasks.parse.recipe import ParserRecipe, TreebankPlan
from lexitree.trees.brackets import read_bracket_lines
from lexitree.trees.tree import Tree

HYPHEN = "-"
HYPHEN_TAGS = ("HYPH", ":")
COLLAPSED_PHRASES = ("ADJP", "NML", "UCP")
"""A phrase that is one hyphenated word before its noun is no phrase any more."""
NOUN_TAGS = ("NN", "NNS", "NNP", "NNPS")

EMBEDDED = "mini-questions/"

Item = TypeVar("Item")

COMMONPLACE_WORDS = 3
"""A sentence of so many words or fewer belongs to no text in particular."""


@dataclass(frozen=True, slots=True)
class Treebank:
    """Trees that serve for one purpose."""

    name: str
    style: str
    trees: tuple[Tree, ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class ParserData:
    """All trees of a recipe."""

    train: tuple[Treebank, ...]
    dev: tuple[Treebank, ...]
    test: tuple[Treebank, ...]
    checksums: Mapping[str, str]
    """The SHA-256 of every file that was read."""
    left_out: Mapping[str, int]
    """How many sentences of each treebank are not used because a test treebank has them."""

    @property
    def parts(self) -> dict[str, tuple[Treebank, ...]]:
        return {"train": self.train, "dev": self.dev, "test": self.test}

    def sizes(self) -> dict[str, dict[str, int]]:
        return {part: {bank.name: len(bank.trees) for bank in banks} for part, banks in self.parts.items()}


def load_parser_data(recipe: ParserRecipe, data: str | Path | None = None) -> ParserData:
    """Read every treebank of a recipe; what is held out of a training part goes to development.

    A sentence that stands in a test treebank is removed from all others: treebanks overlap.
    Those of up to 3 words stay (`Yes .`): anybody says them, and a parser that never saw one would be odd.
    """
    trees = {plan.name: _read_plan(plan, data) for plan in recipe.treebanks}
    tested = {
        sentence_key(tree)
        for plan in recipe.treebanks
        if plan.part == "test"
        for tree in trees[plan.name]
        if tree.num_words > COMMONPLACE_WORDS
    }
    parts: dict[str, list[Treebank]] = {"train": [], "dev": [], "test": []}
    left_out: dict[str, int] = {}
    for number, plan in enumerate(recipe.treebanks):
        chosen = trees[plan.name]
        if plan.part != "test":
            chosen = tuple(tree for tree in chosen if sentence_key(tree) not in tested)
            left_out[plan.name] = len(trees[plan.name]) - len(chosen)
        kept, held_out = hold_out(chosen, plan.held_out, [recipe.training.seed, number])
        kept += _with_whole_words(kept) if plan.hyphens == "both" else ()
        parts[plan.part].append(Treebank(plan.name, plan.style, kept, plan.weight))
        if held_out:
            parts["dev"].append(Treebank(f"{plan.name} (held out)", plan.style, held_out))
    paths = {plan.path for plan in recipe.treebanks if not plan.path.startswith(EMBEDDED)}
    checksums = {path: checksum(find_data_file(path, data)) for path in sorted(paths)}
    return ParserData(tuple(parts["train"]), tuple(parts["dev"]), tuple(parts["test"]), checksums, left_out)


def _with_whole_words(trees: Iterable[Tree]) -> tuple[Tree, ...]:
    """The trees that have hyphenated words, with these in one piece."""
    pairs = ((tree, join_hyphens(tree)) for tree in trees)
    return tuple(joined for tree, joined in pairs if joined is not tree)


def sentence_key(tree: Tree) -> str:
    """What two sentences have in common that are the same but for case, spaces and punctuation."""
    text = " ".join(tree.words).casefold()
    return "".join(filter(str.isalnum, text)) or text


def hold_out(
    items: Sequence[Item], share: float, seed: list[int]
) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """The trees, or whatever, that stay and those that are held out, by chance and the same each time."""
    rng = np.random.Generator(np.random.PCG64(seed))
    is_out = np.zeros(len(items), dtype=np.bool_)
    is_out[rng.permutation(len(items))[: round(share * len(items))]] = True
    kept = tuple(item for item, out in zip(items, is_out.tolist(), strict=True) if not out)
    return kept, tuple(item for item, out in zip(items, is_out.tolist(), strict=True) if out)


def _read_plan(plan: TreebankPlan, data: str | Path | None) -> tuple[Tree, ...]:
    """The clean trees of a plan."""
    if plan.path.startswith(EMBEDDED):
        splits = load_mini_parses()
        split = plan.path.removeprefix(EMBEDDED)
        if split not in splits:
            raise CorpusNotFoundError(f"the embedded questions have no part {split!r}")
        trees = tuple(without_root(tree) for tree in splits[split])
    else:
        path = find_data_file(plan.path, data)
        trees = tuple(clean_trees(read_named_trees(path, plan.files)))
    chosen = trees[plan.first : plan.last or len(trees)]
    if plan.recurring_in:
        first, last = plan.recurring_in
        others = {sentence_key(tree) for tree in trees[first:last]}
        chosen = tuple(tree for tree in chosen if sentence_key(tree) not in others)
    if not chosen:
        raise FileError(plan.path, f"has no trees for {plan.name}")
    return chosen


def read_named_trees(path: Path, prefix: str = "") -> Iterator[Tree]:
    """The trees of a bracket file; in lines `name<TAB>tree`, of those whose name begins as given."""
    return read_bracket_lines(_strip_names(read_lines(path), prefix), str(path))


def _strip_names(lines: Iterable[tuple[int, str]], prefix: str) -> Iterator[tuple[int, str]]:
    for number, line in lines:
        name, tab, tree = line.partition("\t")
        if not prefix:
            yield number, tree if tab and not name.lstrip().startswith("(") else line
        elif tab and name.startswith(prefix):
            yield number, tree


def find_data_file(path: str, data: str | Path | None = None) -> Path:
    """A file by its path, else below the first data folder that has it."""
    found = find_data_path(path, data)
    if not found.is_file():
        raise FileError(found, "is a folder, and a file is needed")
    return found


def find_data_path(path: str, data: str | Path | None = None) -> Path:
    """A file or folder by its path, else below the first data folder that has it."""
    candidates = [Path(path), *(folder.path / path for folder in data_folders(data))]
    for candidate in candidates:
        if candidate.exists():
            return candidate
    raise CorpusNotFoundError(
        f"{path} is not there, nor below {', '.join(str(folder.path) for folder in data_folders(data))}",
        remedy=f"Name the folder that holds it with --data or ${DATA_VARIABLE}.",
    )


def join_hyphens(tree: Tree) -> Tree:
    """The tree with every `a - b` of three or more words that are children of one phrase joined to `a-b`.

    Newer treebanks split words at hyphens; the Penn Treebank and our tokenizer do not. A parser that is trained on
    split words alone takes every hyphenated word for an unknown noun.

    A dash between phrases stays, since its neighbours are not single words; so does one that begins or ends a phrase.
    """
    joined = list(_hyphenated(tree))
    if not joined:
        return tree
    labels = list(tree.labels)
    words = list(tree.words)
    kept = np.ones(tree.num_nodes, dtype=np.bool_)
    arity = tree.arity.copy()
    for run in joined:
        first, parent = run[0], int(tree.parents[run[0]])
        words[int(tree.starts[first])] = "".join(tree.words[int(tree.starts[leaf])] for leaf in run)
        labels[first] = _joined_tag(tree, run)
        kept[run[1:]] = False
        arity[parent] -= len(run) - 1
        if arity[parent] == 1 and labels[parent] in COLLAPSED_PHRASES and _noun_follows(tree, parent):
            kept[parent] = False
    return Tree(
        arity[kept],
        [label for label, stays in zip(labels, kept.tolist(), strict=True) if stays],
        [words[place] for place in np.flatnonzero(kept[tree.leaves]).tolist()],
    )


def _hyphenated(tree: Tree) -> Iterator[list[int]]:
    """The leaves of each hyphenated word, from left to right."""
    for children in tree.children:
        run: list[int] = []
        for child in children:
            if tree.arity[child]:
                yield from _complete(run)
                run = []
            elif _is_hyphen(tree, child):
                run = [*run, child] if len(run) % 2 else []
            elif len(run) % 2 or not _is_word(tree, child):
                yield from _complete(run)
                run = [child] if _is_word(tree, child) else []
            else:
                run = [*run, child]
        yield from _complete(run)


def _complete(run: list[int]) -> Iterator[list[int]]:
    if len(run) >= 3:
        yield run if len(run) % 2 else run[:-1]


def _is_hyphen(tree: Tree, leaf: int) -> bool:
    return tree.words[int(tree.starts[leaf])] == HYPHEN and tree.labels[leaf] in HYPHEN_TAGS


def _is_word(tree: Tree, leaf: int) -> bool:
    return tree.words[int(tree.starts[leaf])].isalnum()


def _joined_tag(tree: Tree, run: list[int]) -> str:
    """That of the last part, but an adjective where the word stands before a noun, as `purpose-built` does."""
    last = tree.labels[run[-1]]
    parent = int(tree.parents[run[0]])
    if tree.labels[parent] == "ADJP" or last in ("VBN", "VBD"):
        return "JJ"
    if _noun_follows(tree, run[-1]) and not last.startswith("NNP"):
        return "JJ"
    return "NN" if last == "VBG" else last


def _noun_follows(tree: Tree, node: int) -> bool:
    siblings = tree.children[int(tree.parents[node])] if node else ()
    return any(tree.labels[sibling] in NOUN_TAGS for sibling in siblings if sibling > node)
