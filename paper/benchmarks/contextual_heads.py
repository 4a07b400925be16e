"""Two models in, the words that each takes for heads out: how often Collins' rules take them, and pictures of both.

    python paper/benchmarks/contextual_heads.py runs/sst-bicontree-minilm-static/seed-3/model --output \
        results/contextual-heads.json --pictures docs/images

Beside the model, which has a transformer under its trees, stands the one that comes with the package (`sentiment`),
whose word vectors are static. Trees are those of SST with Penn labels, below $LEXITREE_DATA.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import root_path  # noqa: F401
from environment import describe_run
from lexitree.corpora.named import find_corpus
from lexitree.learning.provenance import checksum
from lexitree.models.label_model import LabelModel
from lexitree.pipeline.loading import load
from lexitree.pipeline.predictor import Predictor
from lexitree.results.labelled_tree import LabelledTree
from lexitree.saving.model_folder import WEIGHTS_FILE, ModelFolder
from lexitree.trees.brackets import tree_from_brackets
from lexitree.trees.tree import Tree, intermediate_nodes
from lexitree.views.svg import draw_svg
from lexitree_paper.analyze.head_overlap import binary_penn_tree, model_overlap, read_penn_trees

SPLITS = ("dev", "test")
TREES = (
    "(_ (_ Emerges) (_ (_ as) (_ (_ something) (_ rare))))",
    "(_ (_ is) (_ (_ a) (_ (_ good) (_ (_ place) (_ (_ to) (_ start))))))",
    "(_ (_ (_ (_ the) (_ road)) (_ (_ to) (_ hell))) (_ (_ is) (_ (_ paved) (_ (_ with) (_ (_ good)"
    " (_ intentions))))))",
    "(_ (_ (_ The) (_ film)) (_ (_ (_ is) (_ (_ n't) (_ (_ nearly) (_ (_ as) (_ (_ bad) (_ (_ as) (_ (_ people)"
    " (_ say)))))))) (_ .)))",
    "(_ (_ (_ (_ It) (_ (_ could) (_ (_ have) (_ (_ been) (_ (_ a) (_ masterpiece)))))) (_ ,)) (_ (_ but) (_ (_ it)"
    " (_ (_ is) (_ (_ not) (_ .))))))",
)
"""The paper's phrases, and two of ours that turn on a small word."""


def main() -> None:
    options = parse_options()
    names = {"static": "sentiment", "contextual": options.model}
    predictors = {kind: load(name, reads="trees") for kind, name in names.items()}
    folder = find_corpus("sst")
    banks = {
        split: read_penn_trees(folder / f"{split}.tags", same_as=folder / f"{split}.txt")[0]
        for split in SPLITS
    }
    rows = [row for split, trees in banks.items() for row in compare(split, trees, predictors)]
    record = {
        **describe_run({f"sst/{split}.tags": folder / f"{split}.tags" for split in SPLITS}),
        "what": "heads that two models have learned, beside Collins' rules and beside each other",
        "seeds": [],
        "models": {kind: weights_checksum(name) for kind, name in names.items()},
        "rows": rows,
        "sentences": draw_all(predictors, options.pictures),
    }
    print(json.dumps(record["rows"], indent=1))
    print(json.dumps(record["sentences"], indent=1))
    if options.output:
        options.output.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a model with a transformer under its trees")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    parser.add_argument("--pictures", type=Path, help="write the pictures to this folder")
    return parser.parse_args()


def weights_checksum(name: str) -> str:
    return checksum(ModelFolder.find(name).weights.path / WEIGHTS_FILE)


def compare(split: str, trees: Sequence[Tree], predictors: dict[str, Predictor]) -> list[dict[str, Any]]:
    """For each kind of phrases: how often each model takes Collins' head, and how often both take the same."""
    overlaps = {kind: model_overlap(predictor.model, trees).rows() for kind, predictor in predictors.items()}
    same = share_of_same_heads([predictor.model for predictor in predictors.values()], trees)
    return [
        {
            "trees": f"SST {split}",
            "phrases": rows[0].phrases,
            "count": rows[0].num_phrases,
            **{f"{kind}_is_collins": row.learned for kind, row in zip(overlaps, rows, strict=True)},
            "last_word_is_collins": rows[0].always_right,
            "both_the_same": same[place],
        }
        for place, rows in enumerate(zip(*overlaps.values(), strict=True))
    ]


def share_of_same_heads(models: Sequence[LabelModel], trees: Sequence[Tree]) -> list[float]:
    """Among all inner nodes, those that are phrases of the treebank, and whole sentences."""
    binary = [binary_penn_tree(tree, models[0].config.binarization) for tree in trees]
    by_model = [list(Predictor(model).predict_all(binary)) for model in models]
    same: list[list[float]] = [[], [], []]
    for tree, first, second in zip(binary, *by_model, strict=True):
        inner = np.flatnonzero(tree.arity)
        agree = heads_of(first)[inner] == heads_of(second)[inner]
        same[0] += agree.tolist()
        same[1] += agree[~intermediate_nodes(tree)[inner]].tolist()
        same[2] += agree[:1].tolist()
    return [float(np.mean(values)) for values in same]


def heads_of(prediction: LabelledTree) -> np.ndarray:
    assert prediction.head_index is not None
    return prediction.head_index


def draw_all(predictors: dict[str, Predictor], folder: Path | None) -> list[dict[str, Any]]:
    """The sentences as both models see them, one above the other."""
    found: list[dict[str, Any]] = []
    for number, text in enumerate(TREES, 1):
        tree = tree_from_brackets(text)
        predictions = {kind: predictor.predict(tree) for kind, predictor in predictors.items()}
        picture = f"contextual-heads-{number}.svg"
        if folder:
            svg = draw_svg(list(predictions.values()))
            (folder / picture).write_text(svg, encoding="utf-8")
        found.append(
            {
                "text": " ".join(tree.words),
                "picture": picture,
                **{
                    kind: {
                        "label": each.label,
                        "probability": round(each.probability, 4),
                        "head": each.head(),
                    }
                    for kind, each in predictions.items()
                },
            }
        )
    return found


if __name__ == "__main__":
    main()
