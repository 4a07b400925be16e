"""A parser, a reranker of its trees and the recipe of the parser in; what the reranker adds, and what it costs, out.

    python paper/benchmarks/reranked_parser.py src/lexitree/shipped/parser runs/reranker/model \
        --recipe recipes/parsing/parser-shipped.toml --output results/reranked-parser.json

The treebanks are those of the recipe, below $LEXITREE_DATA: its development treebanks, by which it is to be decided
whether reranking pays, and with --tests those of the test. Speed is measured on one CPU thread, from words to trees.
A reranker that has learned from the lists of another parser takes --weigh NAME: how much our parser's scores count is
then chosen on our parser's own lists for that treebank.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import torch

import root_path  # noqa: F401
from environment import describe_run
from lexitree.evaluation.bracket_oracle import oracle_score
from lexitree.evaluation.bracket_score import bracket_bootstrap, score_brackets
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.parser_config import GENERIC_STYLE
from lexitree.parsers.protocol import KBestParser
from lexitree.parsers.saved_parser import load_parser
from lexitree.tasks.parse.data import Treebank, find_data_file, load_parser_data
from lexitree.tasks.parse.recipe import ParserRecipe
from lexitree_paper.rerank.lists import CandidateList, ScoredTree
from lexitree_paper.rerank.reranker import NUM_CANDIDATES, RerankedParser, Reranker, load_reranker
from lexitree_paper.rerank.scoring import choose_weight, score_lists


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parser", type=Path, help="the directory of a saved parser")
    parser.add_argument("rerankers", type=Path, nargs="+", help="directories of saved rerankers")
    parser.add_argument("--recipe", type=Path, required=True, help="of the parser: it names the treebanks")
    parser.add_argument("--tests", action="store_true", help="the test treebanks as well")
    parser.add_argument("--only", nargs="*", default=[], help="only treebanks of these names")
    parser.add_argument("--weigh", help="choose the weight of the parser's scores anew, on this treebank")
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
    recipe = ParserRecipe.from_toml(options.recipe)
    banks = load_parser_data(recipe)
    chosen = [
        bank
        for bank in (*banks.dev, *(banks.test if options.tests else ()))
        if not options.only or bank.name in options.only
    ]
    rerankers = {str(folder): load_reranker(folder, device=options.device) for folder in options.rerankers}
    if options.weigh:
        (bank,) = [bank for bank in banks.dev if bank.name == options.weigh]
        lists = read_lists(options.parser, bank, options.device)
        for reranker in rerankers.values():
            weigh_anew(reranker, lists)
    rows = [row for bank in chosen for row in score(rerankers, options.parser, bank, options.device)]
    speed = [
        measure(folder, options.parser, banks.dev[-1], options.number, options.rounds)
        for folder in options.rerankers
    ]
    if options.output:
        files: dict[str, Path | None] = {bank.path: find_data_file(bank.path) for bank in recipe.treebanks}
        record = {
            **describe_run(files),
            "seeds": [1],
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


def read_lists(parser: Path, bank: Treebank, device: str) -> list[CandidateList]:
    """What the parser proposes for the sentences of a treebank."""
    own = in_style_of(bank, parser, device)
    found = own.parse_all_k_best([tree.words for tree in bank.trees], NUM_CANDIDATES)
    return [
        CandidateList(tuple(ScoredTree(*each) for each in candidates), gold)
        for candidates, gold in zip(found, bank.trees, strict=True)
    ]


def weigh_anew(reranker: Reranker, lists: list[CandidateList]) -> None:
    """Let the scores of this parser count as much as these lists like best."""
    examples = (reranker.prepare(each, with_gold=True) for each in lists)
    weight = choose_weight(list(score_lists(reranker.model, examples))).weight
    reranker.model.config = dataclasses.replace(reranker.model.config, base_weight=weight)


def score(rerankers: dict[str, Reranker], parser: Path, bank: Treebank, device: str) -> list[dict[str, Any]]:
    """F1 in percent: of the parser alone, with each of the rerankers, and of the best of its candidates."""
    lists = read_lists(parser, bank, device)
    trees = ([each.tree for each in candidates.candidates] for candidates in lists)
    bounds = oracle_score(bank.trees, trees, tags="gold")
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
                "f1": 100 * bounds.first.f1,
                "reranked_f1": 100 * reranked.f1,
                "oracle_f1": 100 * bounds.best.f1,
                "low": 100 * test.low,
                "high": 100 * test.high,
                "p": float(test.p_two_sided),
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
