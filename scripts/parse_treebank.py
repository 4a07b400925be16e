"""Parse the sentences of a treebank again, to get the trees that a model meets in raw text.

python scripts/parse_treebank.py treebanks/mctb.review.txt runs/parses/mctb.review.txt

Files are looked for by their paths and below $LEXITREE_DATA. A teacher can label such trees for its student, see
paper/recipes/tuning/distillation.toml, and a parser can be replaced by them: brackets:FILE.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lexitree.parsers.adapters import open_parser
from lexitree.tasks.classify.parsed_corpus import read_unlabelled
from lexitree.trees.brackets import surface_form, tree_to_brackets
from lexitree.trees.tree import Tree
from lexitree.writing import atomic_write


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("treebank", help="a file of trees")
    parser.add_argument("output", type=Path, help="the file to write")
    parser.add_argument("--parser", default="builtin", help="default: that of the package")
    options = parser.parse_args()
    trees = read_unlabelled([options.treebank])
    sentences = ([surface_form(word) for word in tree.words] for tree in trees)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(options.output) as stream:
        for parse, tree in zip(open_parser(options.parser).parse_all(sentences), trees, strict=True):
            stream.write(tree_to_brackets(Tree(parse.arity, parse.labels, tree.words)) + "\n")
    print(f"{options.output}: {len(trees):,} trees")


if __name__ == "__main__":
    main()
