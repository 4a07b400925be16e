"""Treebanks are found below the data folder, and their rows add up."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lexitree.errors import CorpusNotFoundError
from lexitree_paper.analyses.collins_overlap import (
    analyse_overlap,
    find_treebanks,
    read_wsj,
    report_overlap,
)
from lexitree_paper.analyses.job import Job, record_findings
from lexitree_paper.analyze.head_overlap import binary_penn_tree, head_overlap
from lexitree_paper.experiments import find_experiment
from lexitree_paper.runner import Settings, watch_nothing

DATA = Path(os.environ.get("LEXITREE_DATA") or "nowhere")
EXPERIMENT = find_experiment("collins-overlap")
TREE = "(S (NP (DT the) (NN film)) (VP (VBZ works)))"
WSJ = "wsj_0001\t( (S (NP-SBJ (-NONE- *)) (NP (DT the) (NN film)) (VP (VBZ works) (ADVP (RB well)))) )\n"


def job(folder: Path, **changes: Any) -> Job:
    return Job(EXPERIMENT, Settings(folder=folder, results=folder, **changes), watch_nothing)


def write_sst(folder: Path) -> None:
    (folder / "sst").mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (folder / "sst" / f"{split}.txt").write_text("(3 (2 (2 the) (2 film)) (3 works))\n(2 (2 a) (2 b))\n")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with SST alone, and nowhere else to look."""
    monkeypatch.delenv("LEXITREE_DATA", raising=False)
    monkeypatch.setenv("LEXITREE_CACHE", str(tmp_path / "cache"))
    write_sst(tmp_path / "data")
    return tmp_path / "data"


def test_treebanks_below_the_data_folder(data: Path, tmp_path: Path) -> None:
    with pytest.raises(CorpusNotFoundError, match=r"sst/dev.tags, sst/test.tags, treebanks/wsj.sample.txt"):
        find_treebanks(job(tmp_path, data=str(data)))
    (data / "sst" / "dev.tags").write_text(
        "(S (NP (DT the) (NN film)) (VP works))\n(NP (DT a) (NN b) (NN c))\n"
    )
    (data / "treebanks").mkdir()
    (data / "treebanks" / "wsj.sample.txt").write_text(WSJ)
    treebanks, missing = find_treebanks(job(tmp_path, data=str(data)))
    assert missing == ["sst/test.tags"]
    assert [(found.name, len(found.trees), found.num_left_out) for found in treebanks] == [
        ("SST dev", 1, 1),
        ("WSJ sample", 1, 0),
    ]
    assert [path.name for path in treebanks[0].files] == ["dev.tags", "dev.txt"]


def test_the_sample_loses_names_and_traces(tmp_path: Path) -> None:
    (tmp_path / "wsj.txt").write_text(WSJ * 2)
    trees = list(read_wsj(tmp_path / "wsj.txt"))
    assert [tree.words for tree in trees] == [("the", "film", "works", "well")] * 2
    binary = binary_penn_tree(trees[0], "right")
    assert head_overlap([binary], [np.full(binary.num_nodes, 2)]).sentences.learned == 1


def test_rows_and_the_papers_figures(smoke_runs: Path, tmp_path: Path) -> None:
    small = job(smoke_runs, smoke=True)
    found = analyse_overlap(small)
    treebanks: list[dict[str, Any]] = found.figures["treebanks"]
    assert [treebank["name"] for treebank in treebanks] == ["mini-questions dev", "mini-questions test"]
    for treebank in treebanks:
        everything, whole, sentences = treebank["rows"]
        assert everything["num_phrases"] > whole["num_phrases"] > sentences["num_phrases"]
        assert sentences["num_phrases"] == treebank["num_trees"]
        for row in treebank["rows"]:
            assert 0 < row["random_child"] < 0.5
            assert all(0 <= share <= 1 for shares in row["learned"].values() for share in shares)
    # As if they were the treebanks that the paper has figures for.
    named = [
        {**treebank, "name": name} for treebank, name in zip(treebanks, ("SST dev", "SST test"), strict=True)
    ]
    record = record_findings(
        small, dataclasses.replace(found, figures={"treebanks": named, "missing": ["x.tags"]})
    )
    (table,) = report_overlap(EXPERIMENT, record).tables
    assert [row[-1] for row in table.rows] == ["30.7", "–", "–", "25.7", "–", "–"]
    assert "not found: x.tags" in table.notes


@pytest.mark.skipif(
    not (DATA / "treebanks" / "wsj.sample.txt").is_file(),
    reason="LEXITREE_DATA does not lead to the treebanks",
)
def test_the_real_treebanks(tmp_path: Path) -> None:
    treebanks, missing = find_treebanks(job(tmp_path))
    assert missing == []
    assert [(found.name, len(found.trees), found.num_left_out) for found in treebanks] == [
        ("SST dev", 1053, 48),
        ("SST test", 2130, 80),
        ("WSJ sample", 3914, 0),
    ]
