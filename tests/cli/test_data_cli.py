from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lexitree.cli.console import output
from lexitree.cli.data_command import app
from lexitree.corpora import download
from lexitree.errors import BracketError, CorpusNotFoundError

TREES = "(1 (0 a) (1 b))\n(0 (0 c) (1 d))\n"


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("LEXITREE_DATA", raising=False)
    monkeypatch.setenv("LEXITREE_CACHE", str(tmp_path / "cache"))
    # The console has asked for its width before a test can set COLUMNS.
    monkeypatch.setattr(output, "width", 200)
    return tmp_path / "cache"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_list_says_what_there_is_and_how_to_get_the_rest() -> None:
    text = run("list")
    assert "part of lexitree" in text
    assert "lexitree data fetch sst" in text
    rows = {row["name"]: row for row in json.loads(run("list", "--json"))}
    assert rows["mini-reviews"]["found"] == "part of lexitree"
    assert rows["sst-binary"] == {**rows["sst-binary"], "found": "", "fetch": "sst"}
    assert rows["glove-840b"]["licence"].startswith("PDDL")


def test_list_finds_what_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    (folder / "trec").mkdir(parents=True)
    for name in ("train_5500.label", "TREC_10.label"):
        (folder / "trec" / name).write_text("HUM:ind Who ?\n")
    (folder / "vectors").mkdir()
    (folder / "vectors" / "glove.6B.zip").write_bytes(b"")
    rows = {row["name"]: row for row in json.loads(run("list", "--json", "--data", str(folder)))}
    assert rows["trec-fine"]["found"] == str(folder / "trec")
    assert rows["glove-6b"]["found"] == str(folder / "vectors" / "glove.6B.zip")
    assert rows["sst-fine"]["found"] == ""


def test_show_counts_an_embedded_corpus() -> None:
    shown = json.loads(run("show", "mini-reviews", "--json"))
    assert shown["labels"] == ["0", "1", "2", "3", "4"]
    assert shown["splits"]["train"]["num_trees"] > 400
    assert sum(shown["splits"]["dev"]["node_labels"].values()) == shown["splits"]["dev"]["num_labelled"]
    text = run("show", "mini-reviews")
    assert "0 (very negative)" in text
    assert f"{shown['splits']['train']['num_nodes']:,}" in text


def test_show_counts_each_split_by_its_own_labels() -> None:
    shown = json.loads(run("show", "mini-reviews-polarity", "--json"))
    assert shown["labels"] == ["negative", "positive"]
    assert list(shown["finer_labels"].items())[1:3] == [("1", "negative"), ("2", "")]
    train, dev = (shown["splits"][split] for split in ("train", "dev"))
    fine = json.loads(run("show", "mini-reviews", "--json"))["splits"]["train"]
    assert (train["root_labels"], train["node_labels"]) == (fine["root_labels"], fine["node_labels"])
    assert list(dev["node_labels"]) == ["negative", "positive"]
    assert sum(dev["node_labels"].values()) == dev["num_labelled"]
    lines = run("show", "mini-reviews-polarity").splitlines()
    said = (
        "0 (very negative), 1 (negative) for negative; 2 (neutral) for none; 3 (positive), 4 (very positive)"
    )
    assert f"Training labels count {said} for positive." in lines
    # Nothing where a split does not have the label, rather than a nought.
    for row, counts, label in (("2 (neutral)", train, "2"), ("negative", dev, "negative")):
        (line,) = (line for line in lines if line.startswith(f"{row} "))
        first_figures = line.removeprefix(row).split()[:2]
        assert first_figures == [f"{counts[kind][label]:,}" for kind in ("root_labels", "node_labels")]
        assert len(line.removeprefix(row).split()) == (2 if row == "2 (neutral)" else 4)
    assert "Training labels count" not in run("show", "mini-reviews")


def test_show_reads_a_treebank_and_tells_what_was_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TREES * 5 + "(1 (0\n", encoding="utf-8")
    shown = CliRunner().invoke(app, ["show", str(path), "--on-error", "skip"])
    assert "labels on all nodes" in shown.stdout
    assert "1 of 10 training sentences held out" in shown.stdout
    assert shown.stderr.startswith(f"skipped 1 malformed trees\n  {path}:11:")
    assert json.loads(run("show", str(path), "--on-error", "skip", "--json"))["num_skipped"] == 1
    with pytest.raises(BracketError):
        run("show", str(path))


def test_show_strips_penn_trees(tmp_path: Path) -> None:
    path = tmp_path / "penn.txt"
    path.write_text("(S-TPC (NP-SBJ (NN film)) (VP (VBZ works) (NP (-NONE- *))))\n" * 10, encoding="utf-8")
    assert "NP-SBJ" in json.loads(run("show", str(path), "--json"))["labels"]
    options = ["--strip-traces", "--strip-function-tags"]
    assert json.loads(run("show", str(path), *options, "--json"))["labels"] == ["NN", "NP", "S", "VBZ", "VP"]


def test_wrong_usage_exits_with_2(tmp_path: Path) -> None:
    for arguments in (
        ["show"],
        ["show", "mini-reviews", "--on-error", "guess"],
        ["show", "x", "--strip-all"],
        ["fetch"],
    ):
        assert CliRunner().invoke(app, arguments).exit_code == 2


def test_a_missing_corpus_is_a_users_error() -> None:
    with pytest.raises(CorpusNotFoundError):
        run("show", "sst")
    with pytest.raises(CorpusNotFoundError, match="unknown download"):
        run("fetch", "nothing")


def test_fetch_reports_what_it_did(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fetch(name: str, into: Path | None, *, progress: download.Progress) -> download.Fetched:
        progress("file.bin", 5, 10)
        return download.Fetched(
            name, into or tmp_path, (tmp_path / "file.bin",), already_there=into is not None
        )

    monkeypatch.setattr(download, "fetch", fetch)
    assert f"sst: downloaded and verified\n  {tmp_path / 'file.bin'}\n" in run("fetch", "sst")
    assert "already downloaded" in run("fetch", "sst", "--into", str(tmp_path))


def test_help_needs_neither_torch_nor_numpy() -> None:
    code = "import sys, lexitree.cli.data_command; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_parse_writes_trees_with_labels_and_spans(tmp_path: Path) -> None:
    """The parser is a file of trees, one for each sentence."""
    folder = tmp_path / "hotels"
    folder.mkdir()
    (folder / "train.tsv").write_text("bad\tNo room\n", encoding="utf-8")
    span = {"start": 3, "end": 7, "label": "bad", "kind": "aspect"}
    (folder / "train.spans.jsonl").write_text(
        json.dumps({"text": "No room", "spans": [span]}), encoding="utf-8"
    )
    (tmp_path / "trees.txt").write_text("(NP (DT No) (NN room))\n", encoding="utf-8")
    text = run(
        "parse", str(folder), "-o", str(tmp_path / "out"), "--parser", f"brackets:{tmp_path / 'trees.txt'}"
    )
    written = tmp_path / "out" / "hotels" / "train.parsed.jsonl.gz"
    assert text == f"{written}: 1 texts, 1 trees\n"
    assert json.loads(gzip.decompress(written.read_bytes())) == {
        "trees": ["(NP (DT No) (NN room))"],
        "label": "bad",
        "spans": [[0, 1, 2, "bad", "aspect"]],
    }
