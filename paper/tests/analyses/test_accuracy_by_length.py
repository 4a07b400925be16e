"""The figures by length add up; where no plot can be drawn, that is said before anything is trained."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lexitree.errors import MissingExtraError
from lexitree_paper.analyses.accuracy_by_length import (
    analyse_lengths,
    report_lengths,
    share_with_deviation,
)
from lexitree_paper.analyses.job import Job, record_findings
from lexitree_paper.experiments import find_experiment
from lexitree_paper.runner import Settings, watch_nothing

pytestmark = pytest.mark.slow

EXPERIMENT = find_experiment("accuracy-by-length")


def test_bins_long_sentences_and_the_plot(smoke_runs: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    job = Job(EXPERIMENT, Settings(folder=smoke_runs, results=tmp_path, smoke=True), watch_nothing)
    record = record_findings(job, analyse_lengths(job))
    figures = record["figures"]
    total = sum(part["num_sentences"] for part in figures["bins"])
    assert total == sum(part["num_sentences"] for part in figures["long_sentences"]) == 300
    report = report_lengths(EXPERIMENT, record)
    assert report.tables[0].columns == ("words", "sentences", "ConTree", "ConTree+Lex", "BiConTree")
    assert [row[0] for row in report.tables[0].rows[-2:]] == ["over 30 words", "up to 30 words"]
    assert any("3.5 points" in note for note in report.tables[0].notes)
    plot = (tmp_path / "smoke" / report.pictures[0].file).read_text(encoding="utf-8")
    for name in ("ConTree+Lex", "BiConTree", "words in the sentence"):
        assert name in plot


def test_without_matplotlib_nothing_is_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    job = Job(EXPERIMENT, Settings(folder=tmp_path, results=tmp_path, smoke=True), watch_nothing)
    with pytest.raises(MissingExtraError, match="matplotlib"):
        analyse_lengths(job)
    assert list(tmp_path.iterdir()) == []


def test_deviations_stand_where_seeds_differ() -> None:
    part = {"accuracies": {"a": 0.5, "b": None, "c": 1.0}, "deviations": {"a": 0.012, "b": None, "c": 0.0}}
    assert [share_with_deviation(part, name) for name in "abc"] == ["50.0 ± 1.2", "–", "100.0"]
