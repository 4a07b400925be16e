"""Write the words of a file of vectors as trees of one word each, for a teacher to label.

    python scripts/write_word_trees.py glove.extended.npz runs/words.txt

A corpus of sentences shows a model only some of the words that have a vector. A teacher knows most others: from
its answers the student learns what they say when they stand alone. Names, numbers, signs and single letters are left
out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lexitree.lexicon.vector_files import read_vectors
from lexitree.trees.brackets import tree_to_brackets
from lexitree.trees.tree import Tree
from lexitree.writing import atomic_write


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vectors", type=Path)
    parser.add_argument("output", type=Path, help="the file to write")
    options = parser.parse_args()
    words = [word for word in read_vectors(options.vectors).words if is_plain(word)]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(options.output) as stream:
        stream.writelines(tree_to_brackets(Tree([0], ["X"], [word])) + "\n" for word in words)
    print(f"{options.output}: {len(words):,} trees")


def is_plain(word: str) -> bool:
    """Whether this is an ordinary word: neither a name nor a number, a sign or a letter."""
    return len(word) > 1 and word.isalpha() and word == word.lower()


if __name__ == "__main__":
    main()
