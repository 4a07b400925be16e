"""SST's development sentences and parsers in, how far each way to split a parse agrees with SST's own trees out.

    python paper/benchmarks/binarization.py --parser runs/parser-shipped/model runs/parser-all/model \
        --stanford stanford-parser-full-2014-01-04 --model runs/sst/seed-1/model --output results/binarization.json

SST comes through LEXITREE_DATA, with the files .tags beside it: the same trees with Penn labels. Of the tables of the
record, `scheme` is about those trees, their wide phrases restored and split again in each way; `parsers` about trees
of parsers in each of their styles, over the tokens that text is cut into and over SST's own, and about the share of
sentences that models label rightly in them; `tweaks` about the trees of the first parser, split around their heads
but for one kind of phrase; `causes` says where they differ from SST's.

A phrase is an inner node below the root. Phrases agree where they cover the same characters; with other tokens there
may be more in one tree than in the other, so figures are F1 scores.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import root_path  # noqa: F401
from environment import checksum, describe_run, shorten
from lexitree.parsers.adapters import StanfordParser
from lexitree.parsers.protocol import Parser
from lexitree.parsers.saved_parser import load_parser
from lexitree.pipeline.loading import load
from lexitree.pipeline.predictor import Predictor
from lexitree.text import detokenize, tokenize
from lexitree.trees.binarize import Direction, collapse_unary, to_binary, unbinarize
from lexitree.trees.binarize import binarize as split_wide
from lexitree.trees.brackets import read_trees, surface_form
from lexitree.trees.tree import Tree, intermediate_nodes
from lexitree_paper.analyze.head_overlap import same_brackets

WAYS: tuple[Direction, ...] = ("left", "right", "head")
TWEAKED_LABELS = ("NP", "S", "VP", "ADJP", "PP", "SBAR")
GENERIC, NO_STYLE = "generic", "–"
STANFORD = "Stanford"
TEXT, SST = "from text", "SST's"
"""The tokens that a parser reads."""

Span = tuple[int, int]


class Parses(NamedTuple):
    """What one parser made of all sentences."""

    parser: str
    style: str
    tokens: str
    trees: list[Tree]


def main() -> None:
    options = read_options()
    folder = Path(os.environ["LEXITREE_DATA"]) / "sst"
    files = {f"sst/{name}": folder / name for name in ("dev.txt", "dev.tags", "test.txt", "test.tags")}
    gold = list(read_trees(files["sst/dev.txt"]))
    models = [load(path) for path in options.model]
    parses = [Parses("SST's own", NO_STYLE, SST, gold), *parse_all(gold, options.parser, options.stanford)]
    first = next(found.trees for found in parses if found.tokens == SST and found.style == GENERIC)
    tables = {
        "scheme": [row for split in ("dev", "test") for row in measure_scheme(folder, split)],
        "parsers": [row for found in parses for row in measure_parses(found, gold, models)],
        "tweaks": list(measure_tweaks(first, gold)),
        "causes": find_causes(folder, first),
    }
    for rows in tables.values():
        print(*map(json.dumps, rows), sep="\n")
    if options.output:
        record = {
            **describe_run(files),
            "what": "agreement of binary trees with those of SST",
            "seeds": [],
            "weights": {
                shorten(str(path)): checksum(path / "model.safetensors")
                for path in [*options.parser, *options.model]
            },
            **tables,
        }
        options.output.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parser", type=Path, nargs="+", required=True, help="folders of saved parsers")
    parser.add_argument("--stanford", type=Path, help="the folder of the Stanford parser's jar files")
    parser.add_argument("--model", type=Path, nargs="*", default=[], help="folders of saved models of SST")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    return parser.parse_args()


def parse_all(gold: Sequence[Tree], folders: Iterable[Path], stanford: Path | None) -> Iterator[Parses]:
    """The trees of all parsers, of our own in every style."""
    own = [tree.words for tree in gold]
    cut = [tuple(token.form for token in tokenize(detokenize(words), "one")) for words in own]
    for folder in folders:
        parser = load_parser(folder)
        name = folder.parent.name if folder.name == "model" else folder.name
        for style in ("", *parser.model.config.styles):
            parser.style = style
            yield Parses(name, style or GENERIC, TEXT, parse(parser, cut))
        parser.style = ""
        yield Parses(name, GENERIC, SST, parse(parser, own))
    if stanford:
        with StanfordParser(stanford, on_refused="flat") as parser:
            yield Parses(STANFORD, NO_STYLE, SST, parse(parser, own))


def parse(parser: Parser, sentences: Sequence[tuple[str, ...]]) -> list[Tree]:
    return list(parser.parse_all(sentences))


def measure_scheme(folder: Path, split: str) -> Iterator[dict[str, Any]]:
    """SST's own parses, split again: those of its Penn trees that have the brackets of its sentiment trees."""
    same = same_brackets(read_trees(folder / f"{split}.tags"), read_trees(folder / f"{split}.txt"))
    gold = [tree for tree in same if tree is not None]
    for way in WAYS:
        found = [to_binary(unbinarize(tree), way).tree for tree in gold]
        yield {"trees": split, "split": way, **agreement(gold, found)}


def measure_parses(
    parses: Parses, gold: Sequence[Tree], models: Sequence[Predictor]
) -> Iterator[dict[str, Any]]:
    """One row for each way; what other styles change is shown in the best."""
    for way in WAYS if parses.style == GENERIC or parses.parser == STANFORD else ("head",):
        found = [to_binary(tree, way).tree for tree in parses.trees]
        row = {"parser": parses.parser, "style": parses.style, "tokens": parses.tokens, "split": way}
        accuracies = [root_accuracy(model, found, gold) for model in models]
        mean = {"dev_root": sum(accuracies) / len(accuracies)} if accuracies else {}
        yield {**row, **agreement(gold, found), **mean}


def measure_tweaks(parses: Sequence[Tree], gold: Sequence[Tree]) -> Iterator[dict[str, Any]]:
    """What becomes of the agreement if phrases of one label, or the final period, are treated otherwise."""
    tweaks: dict[str, Callable[[Tree], Tree]] = {"none": collapse_unary, "final period on top": period_on_top}
    for label in TWEAKED_LABELS:
        for way in ("left", "right"):
            tweaks[f"{label} to the {way}"] = partial(split_otherwise, label=label, way=way)
    for name, tweak in tweaks.items():
        found = [to_binary(tweak(tree), "head").tree for tree in parses]
        yield {"tweak": name, **agreement(gold, found)}


def period_on_top(tree: Tree) -> Tree:
    """The tree with all that stands before its final period in one phrase."""
    flat = collapse_unary(tree)
    if flat.arity[0] < 3 or flat.labels[-1] != "." or flat.parents[-1] != 0:
        return flat
    # The period is the last node, the new phrase the second.
    arity = [2, int(flat.arity[0]) - 1, *flat.arity[1:].tolist()]
    return Tree(arity, [flat.label, *flat.labels], flat.words)


def split_otherwise(tree: Tree, label: str, way: Direction) -> Tree:
    """The tree with its phrases of one label split in a direction of their own, the others still wide."""
    split = split_wide(collapse_unary(tree), way)
    # What is no longer marked stays. The label of a chain is that of its lowest phrase.
    kept = (
        name.removeprefix("@") if name.removeprefix("@").rpartition("+")[2] == label else name
        for name in split.labels
    )
    return unbinarize(split.with_labels(kept))


def root_accuracy(model: Predictor, trees: Iterable[Tree], gold: Sequence[Tree]) -> float:
    """How many of the sentences a model labels rightly when it reads these trees."""
    answers = [prediction.label_id for prediction in model.predict_all(trees, nodes="root")]
    return sum(answer == tree.label for answer, tree in zip(answers, gold, strict=True)) / len(gold)


def agreement(gold: Iterable[Tree], found: Iterable[Tree]) -> dict[str, float]:
    """The shares of phrases, of all nodes and of whole trees that are the same."""
    pairs = [(character_spans(one), character_spans(other)) for one, other in zip(gold, found, strict=True)]
    return {
        "phrase_agreement": f1([(phrases(one), phrases(other)) for one, other in pairs]),
        "node_agreement": f1([(set(one), set(other)) for one, other in pairs]),
        "sentence_agreement": sum(set(one) == set(other) for one, other in pairs) / len(pairs),
    }


def f1(pairs: Sequence[tuple[set[Span], set[Span]]]) -> float:
    num_same = sum(len(one & other) for one, other in pairs)
    return 2 * num_same / sum(len(one) + len(other) for one, other in pairs)


def character_spans(tree: Tree) -> list[Span]:
    """Where each node begins and ends, white space not counted."""
    lengths = (len(surface_form(word).replace("\N{NO-BREAK SPACE}", "")) for word in tree.words)
    places = list(accumulate(lengths, initial=0))
    return [(places[start], places[end]) for start, end in tree.spans]


def phrases(spans: list[Span]) -> set[Span]:
    """The spans of inner nodes below the root: those that hold others and are held."""
    # In pre-order a node that has parts is followed by the first of them, which starts where it does.
    inner = {span for span, part in pairwise(spans) if part[0] == span[0]}
    return inner - {spans[0]}


def find_causes(folder: Path, parses: Sequence[Tree]) -> list[dict[str, Any]]:
    """What the phrases that SST does not have cross there: a phrase of its parse, or a place where one was split."""
    same = same_brackets(read_trees(folder / "dev.tags"), read_trees(folder / "dev.txt"))
    num_phrases = 0
    kinds: dict[tuple[str, str], Counter[str]] = {}
    for penn, parse in zip(same, parses, strict=True):
        if penn is None:
            continue
        num_phrases += max(penn.num_words - 2, 0)
        for mine, theirs, labels in differences(split_wide(collapse_unary(parse), "head"), penn):
            kinds.setdefault((mine, theirs), Counter())[labels] += 1
    return [
        {
            "in_the_parser's_tree": mine,
            "crosses_in_SST's": theirs,
            "phrase_share": counts.total() / num_phrases,
            "commonest": ", ".join(f"{labels} {number}" for labels, number in counts.most_common(6)),
        }
        for (mine, theirs), counts in sorted(kinds.items(), key=lambda item: -item[1].total())
    ]


def differences(ours: Tree, penn: Tree) -> Iterator[tuple[str, str, str]]:
    """For each phrase of ours that SST does not have: what it is, what it crosses, and the labels of both."""
    known = set(penn.spans)
    restored = unbinarize(penn)
    labelled = dict(zip(reversed(restored.spans), reversed(restored.labels), strict=True))
    is_split = intermediate_nodes(ours).tolist()
    for node, span in enumerate(ours.spans):
        if span in known:
            continue
        crossed = [other for other in labelled if crosses(span, other)]
        label = ours.labels[node].removeprefix("@").partition("+")[0]
        mine, theirs = "part of a split phrase" if is_split[node] else "phrase", "phrase"
        if crossed:
            smallest = min(crossed, key=lambda other: other[1] - other[0])
        else:
            theirs = "part of a split phrase"
            around = [other for other in labelled if other[0] <= span[0] and span[1] <= other[1]]
            smallest = min(around, key=lambda other: other[1] - other[0])
        yield mine, theirs, f"{label} × {labelled[smallest]}"


def crosses(one: Span, other: Span) -> bool:
    return one[0] < other[0] < one[1] < other[1] or other[0] < one[0] < other[1] < one[1]


if __name__ == "__main__":
    main()
