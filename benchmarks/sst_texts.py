"""The sentences of SST's trees, put together as people would write them."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

from lexitree.text import detokenize, split_sentences
from lexitree.trees.brackets import read_trees

SPLITS = ("train", "dev", "test")


def read_texts(folder: Path, number: int) -> list[str]:
    """One sentence each, shuffled, and repeated where more are asked for."""
    texts = [detokenize(tree.words) for split in SPLITS for tree in read_trees(folder / f"{split}.txt")]
    random.Random(1).shuffle(texts)
    return list(itertools.islice(itertools.cycle(texts), number))


def words_of(text: str) -> list[str]:
    return split_sentences(text, "one")[0].forms
