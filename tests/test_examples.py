"""The programs of examples/ run as they stand."""

from __future__ import annotations

import csv
import json
import re
import runpy
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]


SAYS = {
    "quickstart": "accuracy 0.",
    "ray_label": "very positive +0.",
    "own_loop": "accuracy 0.",
    "label_dataset": "very positive +0.",
    "spark_label": "very positive +0.",
    "read_text": "(head word: lovely)",
    "tree_lstm_in_your_model": "off by 0.",
}
"""What each prints when all is well."""


NEEDS = {"label_dataset": "datasets", "ray_label": "ray.data", "spark_label": "pyspark"}
"""Packages that an example needs besides lexitree."""

MADE_BY_THEM = {"labelled.csv"}
"""Tables that the commands of the pages write themselves."""


def test_there_are_examples() -> None:
    assert {path.stem for path in EXAMPLES} == set(SAYS)


def test_the_files_of_the_tour_are_there() -> None:
    """A newcomer who follows README and guide in examples/ has the files that the script had."""
    recorded = json.loads((ROOT / "results" / "tour.json").read_text(encoding="utf-8"))["files"]
    assert {"questions.txt", "orders.csv", "my-trees/train.txt"} <= set(recorded)
    for name, text in recorded.items():
        assert (ROOT / "examples" / name).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tables_that_a_page_reads_are_there(page: Path) -> None:
    commands = re.findall(
        r"\blexitree (?:predict|explain|evaluate|train) .*", page.read_text(encoding="utf-8")
    )
    inputs = {name for line in commands for name in re.findall(r"(?<!-o )\b[\w-]+\.(?:csv|tsv)\b", line)}
    assert {name for name in inputs if not (ROOT / "examples" / name).exists()} <= MADE_BY_THEM


def test_the_page_of_examples_names_what_there_is() -> None:
    described = re.findall(
        r"^\| (`.*?) \|", (ROOT / "examples" / "README.md").read_text(encoding="utf-8"), re.M
    )
    named = {name for cell in described for name in re.findall(r"`([^`]+)`", cell)}
    assert named >= {path.name for path in EXAMPLES}
    assert [name for name in named if not (ROOT / "examples" / name).is_file()] == []


def test_the_tables_hold_what_is_said_of_them() -> None:
    table = label_counts(ROOT / "examples" / "tickets.csv", "kind")
    assert table == dict.fromkeys(("billing", "defect", "delivery", "praise"), 15)
    with (ROOT / "examples" / "reviews.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    lines = (ROOT / "examples" / "reviews.jsonl").read_text(encoding="utf-8").splitlines()
    assert list(map(json.loads, lines)) == rows


def label_counts(path: Path, column: str) -> dict[str, int]:
    with path.open(encoding="utf-8", newline="") as stream:
        return dict(sorted(Counter(row[column] for row in csv.DictReader(stream)).items()))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_and_says_what_it_found(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem], reason=f"{NEEDS[path.stem]} is not installed")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path))
    assert SAYS[path.stem] in capsys.readouterr().out
