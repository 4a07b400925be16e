"""Our own parser: honest lists of its training sentences, and a reranker behind it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lexitree.errors import ConfigError
from lexitree.parsers.saved_parser import load_parser
from lexitree.tasks.parse.data import load_parser_data, sentence_key
from lexitree.tasks.parse.recipe import ParserRecipe
from lexitree.tasks.parse.task import score_parser
from lexitree_paper.rerank.jackknife import cut_jackknife, write_jackknife_lists
from lexitree_paper.rerank.lists import read_lists
from lexitree_paper.rerank.reranker import RerankedParser, load_reranker
from lexitree_paper.rerank.run import train_reranker
from tiny_lists import tiny_data, tiny_recipe

RECIPE = ParserRecipe.from_dict(
    {
        "min_count": 1,
        "model": {
            "word_size": 16,
            "affix_size": 16,
            "affix_rows": 256,
            "hidden": 24,
            "layers": 1,
            "span_size": 24,
        },
        "training": {"epochs": 2, "batch_words": 100, "learning_rate": 0.01, "warm_up": 0.05},
        "treebanks": [
            {"name": "questions", "path": "mini-questions/train", "style": "mini", "last": 30},
            {"name": "dev", "path": "mini-questions/dev", "part": "dev", "last": 5},
            {"name": "test", "path": "mini-questions/test", "part": "test", "last": 5},
        ],
    }
)


def test_no_parser_sees_what_it_is_to_parse() -> None:
    banks = load_parser_data(RECIPE)
    folds = cut_jackknife(banks, 3)
    parsed = [tree for fold in folds for bank in fold.held_out for tree in bank.trees]
    assert sorted(map(sentence_key, parsed)) == sorted(
        sentence_key(tree) for bank in banks.train for tree in bank.trees
    )
    for fold in folds:
        seen = {sentence_key(tree) for bank in fold.train.train for tree in bank.trees}
        held_out = {sentence_key(tree) for bank in fold.held_out for tree in bank.trees}
        assert not seen & held_out
        assert fold.train.dev == banks.dev
        assert fold.train.test == ()
    with pytest.raises(ConfigError, match="cannot be cut"):
        cut_jackknife(banks, 1000)


def test_lists_are_written_and_a_cut_run_goes_on(tmp_path: Path) -> None:
    output, done = tmp_path / "lists.jsonl", list[int]()
    number = write_jackknife_lists(RECIPE, tmp_path / "runs", output, num_folds=2, k=3, on_fold=done.append)
    assert (number, done) == (30, [1, 2])
    lists = list(read_lists(output, needs_gold=True))
    assert len(lists) == 30
    assert all(1 <= len(each.candidates) <= 3 for each in lists)
    assert {json.loads(line)["treebank"] for line in output.read_text().splitlines()} == {"questions"}
    # The lists of the first fold are there, those of the second are lost: only these are made again.
    first = output.read_bytes()
    (tmp_path / "runs" / "fold-2-of-2" / "lists.jsonl").unlink()
    done.clear()
    write_jackknife_lists(RECIPE, tmp_path / "runs", output, num_folds=2, k=3, on_fold=done.append)
    assert done == [2]
    assert output.read_bytes() == first


@pytest.mark.slow
def test_folds_made_side_by_side_are_the_same(tmp_path: Path) -> None:
    outputs = [tmp_path / f"{jobs}.jsonl" for jobs in (1, 2)]
    for jobs, output in enumerate(outputs, 1):
        write_jackknife_lists(RECIPE, tmp_path / f"{jobs}", output, num_folds=2, k=3, jobs=jobs)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_a_parser_with_a_reranker_behind_it(tmp_path: Path) -> None:
    write_jackknife_lists(RECIPE, tmp_path / "runs", tmp_path / "lists.jsonl", num_folds=2, k=2)
    parser = load_parser(tmp_path / "runs" / "fold-1-of-2" / "model")
    run = train_reranker(tiny_recipe(epochs=1), tmp_path / "run", lists=tiny_data(16, 8, 0))
    reranked = RerankedParser(parser, load_reranker(run.folder / "model"), num_candidates=4)
    sentences = [["Who", "is", "she", "?"], ["It", "works", "."]]
    trees = list(reranked.parse_all(sentences))
    assert [list(tree.words) for tree in trees] == sentences
    for tree, found, own in zip(
        trees, reranked.parse_all_k_best(sentences, 2), parser.parse_all_k_best(sentences, 4), strict=True
    ):
        assert found[0].tree == tree
        assert len(found) == 2
        assert {candidate.tree for candidate in found} <= {candidate.tree for candidate in own}
    assert [len(found) for found in reranked.parse_all_k_best(sentences, 5)] == [5, 5]
    gold = [tree for bank in load_parser_data(RECIPE).test for tree in bank.trees]
    assert (
        0
        <= score_parser(reranked, gold).as_dict()["f1"]
        <= score_parser(reranked, gold, k=4).as_dict()["oracle_f1"]
    )
