"""From a table of texts to a model that reads text: `train`, `evaluate` and `predict`, and what they refuse."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import lexitree
from tests.cli.conftest import Call, assert_users_error
from tests.cli.untrained_parser import save_untrained_parser
from tests.command import run_command, set_options
from tests.tiny import SIZES

SMALL = set_options({f"model.{name}": value for name, value in SIZES.items()})
HEADER = "id;comment;kind"
ROWS = [
    f"{number};The film is {'good' if number % 2 else 'bad'}! It's {word}.;{'pos' if number % 2 else 'neg'}"
    for number, word in enumerate(["long", "short", "new", "old", "odd"] * 6)
]


@pytest.fixture
def package(shipped_folder: Path) -> Path:
    save_untrained_parser(shipped_folder / "parser")
    return shipped_folder


def write(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_a_table_becomes_a_model_that_reads_text(call: Call, package: Path, tmp_path: Path) -> None:
    table, run = write(tmp_path / "tickets.csv", HEADER, *ROWS), tmp_path / "run"
    options = ["--text", "comment", "--label", "kind", "--epochs", 2, *SMALL]
    trained = call("train", table, "-o", run, *options, "--set", "table.test=0.2")
    assert trained.code == 0, trained.err
    assert "texts: 21 train, 3 dev, 6 test, drawn by label" in trained.err
    result = json.loads((run / "result.json").read_text())
    for split in ("dev", "test"):
        scored = json.loads(call("evaluate", run / "model", table, "--split", split, "--json").out)
        assert scored["root"]["accuracy"] == result[f"{split}_root"], "exactly as training reported"
    shown = call("evaluate", run, table).out
    assert shown.startswith("6 texts: accuracy ")
    assert call("evaluate", run / "model", table, "--split", "all").out.startswith("30 texts")
    answer = json.loads(call("predict", run / "model", "It's good!", "--format", "json").out)
    assert set(answer["probabilities"]) == {"neg", "pos"}
    assert [token["text"] for token in answer["sentences"][0]["tokens"]] == ["It", "'s", "good", "!"]
    assert "text, with the parser builtin" in call("info", run / "model").out
    page = tmp_path / "page.html"
    assert call("explain", run / "model", "It's good!", "-o", page).code == 0
    write(table, HEADER, *ROWS[1:])
    assert_users_error(call("evaluate", run / "model", table, "--split", "dev"), "has changed since")


def test_a_table_without_a_header_is_tokenized(call: Call, package: Path, tmp_path: Path) -> None:
    rows = [f"{row.split(';')[2]}\t{row.split(';')[1]}" for row in ROWS]
    trained = call("train", write(tmp_path / "t.tsv", *rows), "-o", tmp_path / "run", "--epochs", 1, *SMALL)
    assert trained.code == 0, trained.err
    words = json.loads((tmp_path / "run" / "model" / "vocabulary.json").read_text())
    assert {"!", "'s", "good"} <= set(words)
    assert "good!" not in words


def test_starting_from_a_model(call: Call, package: Path, saved_model: Path, tmp_path: Path) -> None:
    table, run = write(tmp_path / "t.csv", HEADER, *ROWS), tmp_path / "run"
    trained = call("train", table, "-o", run, "--from", saved_model, "--epochs", 1)
    assert trained.code == 0, trained.err
    assert json.loads((run / "result.json").read_text())["recipe"]["training"]["patience"] > 0
    assert_users_error(
        call("train", table, "-o", tmp_path / "b", "--from", saved_model, "--set", "model.hidden=9"),
        "model.hidden",
    )


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b'text,label\na,x\n"b,y\n', ("t.csv:3", "not CSV")),
        (b"text,label\na,x\nb\0c,y\n", ("t.csv:3", "NUL")),
        (b"id,words\n1,x\n", ("t.csv:1", "which column", "'id', 'words'")),
        (b"text,label,label\na,x,y\n", ("t.csv:1", "occurs twice")),
        (b"text,label\na,x\nb,\n", ("t.csv:3", "the label is empty")),
        (b"text,label\na,x\nb,x\n", ("t.csv:2", "all 2 texts have the label 'x'")),
        (b"text,label\na,x\nb,y\nc,x\n", ("3 rows with 2 labels are too few",)),
        (b"text,label\ncaf\xc3\xa9,x\ncaf\xe9,y\n", ("t.csv:3", "0xe9")),
    ],
)
def test_a_bad_table_is_one_message_and_nothing_is_written(
    call: Call, package: Path, tmp_path: Path, content: bytes, parts: tuple[str, ...]
) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    before = set(tmp_path.rglob("*"))
    assert_users_error(call("train", tmp_path / "t.csv", "-o", tmp_path / "run"), *parts)
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.slow
def test_questions_without_trees_are_learned_as_with_trees(tmp_path: Path) -> None:
    """The embedded questions as text: accuracy within noise of their trees, by a process of its own each time."""
    corpus = lexitree.load_corpus("mini-questions")
    with (tmp_path / "q.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["question", "kind"])
        for trees in corpus.splits.values():
            writer.writerows((lexitree.detokenize(tree.words), tree.label) for tree in trees)
    accuracies: dict[str, float] = {}
    for name, data in (("texts", tmp_path / "q.csv"), ("trees", "mini-questions")):
        run = tmp_path / name
        finished = run_command("train", data, "-o", run, "--epochs", 12, "--quiet", timeout=600)
        assert finished.returncode == 0, finished.stderr
        result = json.loads((run / "result.json").read_text())
        accuracies[name] = result["test_root"]
        for split in ("dev", "test"):
            scored = run_command("evaluate", run / "model", data, "--split", split, "--json")
            assert json.loads(scored.stdout)["root"]["accuracy"] == result[f"{split}_root"]
    assert accuracies["texts"] > accuracies["trees"] - 0.08, accuracies
    answered = run_command("predict", tmp_path / "texts" / "model", "Who wrote the book?")
    assert json.loads(answered.stdout)["label"] == "HUM"
