"""The figures of README and docs are those of the records, and every record says how to get its figures again."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from lexitree.tasks.classify.recipe import Recipe
from tests.command import find_command

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / "scripts"
RECORDS = sorted((ROOT / "results").glob("*.json"))

each_record = pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)


def load_script(name: str) -> ModuleType:
    """A script of scripts/ as a module; they import each other by their bare names."""
    if str(SCRIPTS) not in sys.path:
        sys.path.append(str(SCRIPTS))
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_rendering(rendering: ModuleType, *options: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["render_results.py", *options])
        return rendering.main()


def test_the_pages_are_what_the_records_say(capsys: pytest.CaptureFixture[str]) -> None:
    status = run_rendering(load_script("render_results"), "--check")
    assert status == 0, f"{capsys.readouterr().err}Run scripts/render_results.py."


def test_there_are_records() -> None:
    assert {path.stem for path in RECORDS} >= {"mini-questions", "mini-reviews", "tour"}


@each_record
def test_a_record_says_how_to_repeat_it(path: Path) -> None:
    assert load_script("result_records").faults(json.loads(path.read_text(encoding="utf-8"))) == []


TRAINED = [
    record for path in RECORDS if "command" in (record := json.loads(path.read_text(encoding="utf-8")))
]
TRAINING_COMMANDS = sorted(
    {record["command"] for record in TRAINED if record["command"].startswith("lexitree train ")}
)


@pytest.mark.parametrize("command", TRAINING_COMMANDS)
def test_a_recorded_command_can_be_given_today(command: str) -> None:
    """Options that are settings now are shown as such."""
    program, name, *arguments = shlex.split(load_script("result_records").current_command(command))
    # Not every command says where its run went.
    given = find_command(name).make_context(program, ["-o", "runs/any", *arguments]).params
    assert Recipe().with_values(Recipe.parse_assignments(given["assignments"] or ()))


PROGRAMS = sorted(
    {record["command"].split()[1] for record in TRAINED if record["command"].startswith("python ")}
    - {
        "-m",
        "scripts/tune.py",
        "scripts/record_tests.py",
    }  # of records that no page shows, and of older sweeps
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_recorded_program_is_there_today(program: str) -> None:
    """Where it has moved, pages name its path of today."""
    _, *words = load_script("result_records").current_command(f"python {program}").split()
    if words[0] == "-m":
        assert importlib.util.find_spec(words[1]) is not None
    else:
        assert (ROOT / words[0]).is_file()


def test_faults_are_found() -> None:
    record = {
        "command": "lexitree train sst --vectors /somebody/elses/vectors.npz",
        "commit": "unknown",
        "data": {"sst/train.txt": "no checksum"},
        "machine": {"cpu": "one"},
        "date": "yesterday",
    }
    found = " ".join(load_script("result_records").faults(record))
    for fault in ("no seeds", "no machine.torch", "no checksum", "the date", "the commit", "elses"):
        assert fault in found


def test_sources_that_are_not_those_of_the_commit_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    records = load_script("result_records")
    monkeypatch.setattr(records, "committed_digest", lambda _: "a" * 64)
    assert records.hidden_changes("0" * 12, "a" * 64) == []
    assert "not those of commit" in records.hidden_changes("0" * 12, "b" * 64)[0]
    assert records.hidden_changes("0" * 12 + "+changes", "b" * 64) == []
    assert records.hidden_changes("0" * 12, None) == [], "older records have no digest"


def test_a_run_of_another_machine_is_not_recorded_here() -> None:
    records = load_script("result_records")
    versions = {"torch": "2.6.0", "python": "3.11.0"}
    assert records.machine_of_run(versions)["torch"] == "2.6.0"
    with pytest.raises(ValueError, match="record it there"):
        records.machine_of_run({**versions, "device": "a GPU of elsewhere"})


def test_a_block_without_a_record_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rendering = load_script("render_results")
    monkeypatch.setattr("result_records.RESULTS", tmp_path)
    page = "before\n<!-- results: nothing -->\nold\n<!-- /results -->\nafter\n"
    filled = rendering.render_page(page, rendering.render_block)
    assert "old" not in filled
    assert rendering.NOT_MEASURED in filled
    assert rendering.render_page(filled, rendering.render_block) == filled


def test_a_block_of_the_paper_is_left_to_it() -> None:
    rendering = load_script("render_results")
    page = "<!-- results: paper/headline -->\nold\n<!-- /results -->\n"
    assert rendering.render_page(page, rendering.render_block) == page


def test_the_products_pages_do_not_need_the_paper() -> None:
    block = "import sys; sys.modules['lexitree_paper'] = None; import render_results; sys.exit(render_results.main())"
    command = [sys.executable, "-c", block, "--check"]
    path = os.pathsep.join([*sys.path, str(SCRIPTS)])
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_stale_page_fails_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "README.md"
    page.write_text("<!-- results: mini-reviews -->\n100.0\n<!-- /results -->\n", encoding="utf-8")
    rendering = load_script("render_results")
    monkeypatch.setattr(rendering, "ROOT", tmp_path)
    assert run_rendering(rendering, "--check") == 1
    assert "README.md" in capsys.readouterr().err
    assert "| mean |" not in page.read_text(encoding="utf-8")
    assert run_rendering(rendering) == 0
    assert "| mean |" in page.read_text(encoding="utf-8")
    assert run_rendering(rendering, "--check") == 0


def test_rows_of_a_benchmark_become_a_table() -> None:
    rows = [
        {"model": "words", "test_root": 0.5},
        {
            "model": "trees",
            "test_root": 0.75,
            "test_root_deviation": 0.01,
            "step_ms": 12.34,
            "per_seed": [1.0],
        },
    ]
    assert load_script("record_tables").rows_table(rows).splitlines() == [
        "| model | test root | step (ms) |",
        "| --- | ---: | ---: |",
        "| words | 50.0 | – |",
        "| trees | 75.0 ± 1.0 | 12.3 |",
    ]
