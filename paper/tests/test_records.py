"""The paper's pages show the figures of its records, and every record says how to repeat it."""

from __future__ import annotations

import gzip
import importlib
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.command import find_command

from lexitree.tasks.classify.recipe import Recipe
from lexitree_paper.run_records import public_recipe, read_record, save_record

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "paper" / "results"
ROWS = [
    (path.parent, json.loads(line))
    for path in sorted(RESULTS.rglob("*.jsonl"))
    if "smoke" not in path.parts
    for line in path.read_text(encoding="utf-8").splitlines()
]

sys.path += [str(ROOT / "scripts"), str(ROOT / "paper" / "scripts")]
records: Any = importlib.import_module("result_records")
rendering: Any = importlib.import_module("render_pages")


def test_the_pages_are_what_the_records_say(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["render_pages.py", "--check"])
    assert rendering.main() == 0, f"{capsys.readouterr().err}Run paper/scripts/render_pages.py."


def test_every_record_has_one_row_in_one_store() -> None:
    names = [(folder, row["name"]) for folder, row in ROWS]
    assert len(names) > 100
    assert len(set(names)) == len(names)
    in_product = {path.stem for path in (ROOT / "results").glob("*.json")}
    assert in_product.isdisjoint(name for _, name in names)


@pytest.mark.parametrize("row", [row for _, row in ROWS], ids=lambda row: row["name"])
def test_a_record_says_how_to_repeat_it(row: dict[str, Any]) -> None:
    assert records.faults(row) == []


def test_what_is_packed_belongs_to_a_row() -> None:
    rows = {(folder, row["name"]): row for folder, row in ROWS}
    for path in [path for folder in {folder for folder, _ in ROWS} for path in folder.glob("packed/*.gz")]:
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            packed = json.loads(line)
            row = rows[path.parents[1], packed["name"]]
            assert packed.get("runs", row.get("runs", {})).keys() == row.get("runs", {}).keys()


COMMANDS = sorted({row["command"] for _, row in ROWS if row["command"].startswith("lexitree train ")})


@pytest.mark.parametrize("command", COMMANDS)
def test_a_recorded_command_can_be_given_today(command: str) -> None:
    """Options that are settings now are shown as such."""
    program, name, *arguments = shlex.split(records.current_command(command))
    # Not every command says where its run went.
    given = find_command(name).make_context(program, ["-o", "runs/any", *arguments]).params
    assert Recipe().with_values(Recipe.parse_assignments(given["assignments"] or ()))


RUN = {"dev_root": 0.5, "epochs": [{"loss": 2.0}], "test_root_answers": "0120"}
RECORD = {"command": "lexitree", "test_root_gold": "0110", "runs": {"1": RUN}}


def test_a_record_is_a_row_and_its_long_lists_are_packed_apart(tmp_path: Path) -> None:
    save_record(tmp_path, "sst-b", RECORD)
    save_record(tmp_path, "sst-a", {"command": "lexitree", "rows": []})
    rows = [json.loads(line) for line in (tmp_path / "sst.jsonl").read_text().splitlines()]
    assert [row["name"] for row in rows] == ["sst-a", "sst-b"]
    assert rows[1]["runs"] == {"1": {"dev_root": 0.5}}
    assert "test_root_gold" not in rows[1]
    assert read_record(tmp_path, "sst-b") == RECORD
    assert read_record(tmp_path, "sst-a") == {"command": "lexitree", "rows": []}
    assert read_record(tmp_path, "sst") is None
    assert read_record(tmp_path, "trec-a") is None


def test_a_record_replaces_that_of_its_name(tmp_path: Path) -> None:
    save_record(tmp_path, "sst-b", RECORD)
    save_record(tmp_path, "sst-b", {"command": "another", "runs": {"2": {"dev_root": 0.25}}})
    assert read_record(tmp_path, "sst-b") == {"command": "another", "runs": {"2": {"dev_root": 0.25}}}


def test_equal_records_are_equal_files(tmp_path: Path) -> None:
    for folder, names in ((tmp_path / "one", "ab"), (tmp_path / "other", "ba")):
        for name in names:
            save_record(folder, f"sst-{name}", RECORD)
    for path in ("sst.jsonl", "packed/sst.jsonl.gz"):
        assert (tmp_path / "one" / path).read_bytes() == (tmp_path / "other" / path).read_bytes()


def test_a_program_writes_a_record_where_its_name_belongs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = records.read_record("significance")
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(records, "PAPER_RESULTS", tmp_path / "paper" / "results")
    assert records.write_record("speed-of-all", record) == tmp_path / "results" / "speed-of-all.json"
    save_record(tmp_path / "paper" / "results", "tuning-a", record)
    assert records.write_record("tuning-b", record) == tmp_path / "paper" / "results" / "tuning.jsonl"
    assert records.read_record("tuning-b")["command"] == record["command"]
    with pytest.raises(ValueError, match="no seeds"):
        records.write_record("tuning-c", {"command": "lexitree"})


def test_the_recipe_of_a_taught_model_names_no_machine(treebank: Path, saved_model: Path) -> None:
    recipe = Recipe(
        corpus=str(treebank),
        teacher=str(saved_model),
        teacher_trees=("runs/a.txt", str(treebank / "train.txt")),
    )
    public = public_recipe(recipe.as_dict())
    assert public["teacher"] == saved_model.name
    assert public["teacher_trees"] == ["runs/a.txt", "train.txt"]
