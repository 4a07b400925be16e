"""A parser, a reranker of its trees and the recipe of the parser in; what the reranker adds, and what it costs, out.

    python benchmarks/reranked_parser.py src/lexitree/shipped/parser runs/reranker/model \
        --recipe recipes/parsing/parser-shipped.toml --output results/reranked-parser.json

The treebanks are those of the recipe, below $LEXITREE_DATA: its development treebanks, by which it is to be decided
whether reranking pays, and with --tests those of the test. Speed is measured on one CPU thread, from words to trees.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

from environment import describe_run
from lexitree.evaluation.bracket_oracle import oracle_score
from lexitree.evaluation.bracket_score import bracket_bootstrap, score_brackets
from lexitree.parsing.config import GENERIC_STYLE
from lexitree.parsing.neural import NeuralParser
from lexitree.parsing.parser import KBestParser
from lexitree.parsing.recipe import read_parser_recipe
from lexitree.parsing.saved import load_parser
from lexitree.parsing.treebanks import Treebank, find_data_file, load_parser_data
from lexitree.reranking.lists import CandidateList, ScoredTree
from lexitree.reranking.reranked_parser import NUM_CANDIDATES, RerankedParser
from lexitree.reranking.reranker import Reranker
from lexitree.reranking.saved import load_reranker


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parser", type=Path, help="the directory of a saved parser")
    parser.add_argument("rerankers", type=Path, nargs="+", help="directories of saved rerankers")
    parser.add_argument("--recipe", type=Path, required=True, help="of the parser: it names the treebanks")
    parser.add_argument("--tests", action="store_true", help="the test treebanks as well")
    parser.add_argument(
        "--number", type=int, default=500, help="how many sentences are parsed to measure speed"
    )
    parser.add_argument(
        "--rounds", type=int, default=2, help="of which the fastest counts: the machine is shared"
    )
    parser.add_argument("--device", default="cpu", help="where treebanks are parsed to be scored")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    recipe = read_parser_recipe(options.recipe)
    banks = load_parser_data(recipe)
    chosen = [*banks.dev, *(banks.test if options.tests else ())]
    rerankers = {str(folder): load_reranker(folder, device=options.device) for folder in options.rerankers}
    rows = [row for bank in chosen for row in score(rerankers, options.parser, bank, options.device)]
    speed = [
        measure(folder, options.parser, banks.dev[-1], options.number, options.rounds)
        for folder in options.rerankers
    ]
    if options.output:
        files: dict[str, Path | None] = {bank.path: find_data_file(bank.path) for bank in recipe.treebanks}
        record = {
            **describe_run(files),
            "what": f"the parser's own trees and those chosen among {NUM_CANDIDATES} by a reranker",
            "rows": rows,
            "speed": speed,
        }
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def in_style_of(bank: Treebank, folder: Path, device: str) -> NeuralParser:
    """The parser in the style of a treebank, if it knows it."""
    parser = load_parser(folder, device=device)
    is_known = bank.style in parser.model.config.styles
    return NeuralParser(parser.model, style=bank.style if is_known else GENERIC_STYLE)


def score(rerankers: dict[str, Reranker], parser: Path, bank: Treebank, device: str) -> list[dict[str, Any]]:
    """F1 of the parser alone, with each of the rerankers, and of the best of its candidates."""
    own = in_style_of(bank, parser, device)
    found = list(own.parse_all_k_best([tree.words for tree in bank.trees], NUM_CANDIDATES))
    bounds = oracle_score(bank.trees, ([each.tree for each in each_list] for each_list in found), tags="gold")
    lists = [CandidateList(tuple(ScoredTree(*each) for each in each_list)) for each_list in found]
    rows: list[dict[str, Any]] = []
    for folder, reranker in rerankers.items():
        chosen = (ranked.best for ranked in reranker.rerank_all(lists))
        reranked = score_brackets(bank.trees, chosen, tags="gold")
        test = bracket_bootstrap(reranked, bounds.first)
        rows.append(
            {
                "reranker": Path(folder).parent.name,
                "model": reranker.model.config.model,
                "base_weight": reranker.base_weight,
                "treebank": bank.name,
                "sentences": len(bank.trees),
                "f1": bounds.first.f1,
                "reranked_f1": reranked.f1,
                "oracle_f1": bounds.best.f1,
                "low": test.low,
                "high": test.high,
                "p": test.p_two_sided,
            }
        )
        print(rows[-1], flush=True)
    return rows


def measure(reranker: Path, parser: Path, bank: Treebank, number: int, rounds: int) -> dict[str, Any]:
    """Sentences a second on one CPU thread: the best tree, the k best, and those reranked."""
    own = in_style_of(bank, parser, "cpu")
    loaded: Reranker = load_reranker(reranker, device="cpu")
    sentences = [tree.words for tree in bank.trees[:number]]

    def fastest(parse: KBestParser, k: int) -> float:
        times: list[float] = []
        for _ in range(rounds):
            start = time.perf_counter()
            found = parse.parse_all(sentences) if k == 1 else parse.parse_all_k_best(sentences, k)
            assert sum(1 for _ in found) == len(sentences)
            times.append(time.perf_counter() - start)
        return len(sentences) / min(times)

    row = {
        "reranker": reranker.parent.name,
        "model": loaded.model.config.model,
        "treebank": bank.name,
        "sentences": len(sentences),
        "sentences_per_second": fastest(own, 1),
        "k_best_per_second": fastest(own, NUM_CANDIDATES),
        "reranked_per_second": fastest(RerankedParser(own, loaded), 1),
    }
    print(row, flush=True)
    return row


if __name__ == "__main__":
    main()
