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
from typer.testing import CliRunner

from lexitree.cli.main import make_app
from lexitree.sweeps.search_space import SweepSettings
from lexitree.sweeps.trial import TrialJob, run_trial
from lexitree.tasks.classify.recipe import Recipe, TrainingConfig
from tests.command import find_command
from tests.tiny import tiny_recipe

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


def finished_run(folder: Path, **recipe: object) -> Path:
    """What `lexitree train` leaves of a run with one seed."""
    scores = {"best_epoch": 1, "dev_root": 0.5, "dev_phrase": None, "test_root": 0.25, "test_phrase": None}
    result = {
        "recipe": {**Recipe().as_dict(), **recipe},
        "num_parameters": 1,
        "corpus": {"train": 1},
        "environment": {"torch": "2.6.0", "python": "3.11.0"},
        **scores,
        "seconds": 1.0,
        "epochs": [],
    }
    folder.mkdir()
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
    return folder


def test_a_run_becomes_a_record_without_the_paths_of_its_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = load_script("record_run")
    monkeypatch.setattr("result_records.RESULTS", tmp_path / "results")
    monkeypatch.setattr("result_records.PAPER_RESULTS", tmp_path / "paper" / "results")
    monkeypatch.setattr(recording, "describe_code", lambda: {"commit": "0" * 40})
    monkeypatch.setenv("LEXITREE_DATA", str(tmp_path))
    vectors = tmp_path / "some.npz"
    vectors.write_bytes(b"vectors")
    folder = finished_run(
        tmp_path / "run", vectors=str(vectors), data=str(tmp_path), model={"model": "contree"}
    )
    path = recording.record_run(folder, "mine", [vectors])
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["command"] == (
        "lexitree train mini-reviews -o runs/mine --vectors $LEXITREE_DATA/some.npz --model contree"
    )
    assert set(record["data"]) == {"mini-reviews", "some.npz"}
    assert str(tmp_path) not in json.dumps(record)


def test_the_command_of_a_run_gives_its_recipe_again(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe(
        vector_length=5.0,
        teacher="runs/large",
        teacher_trees=("runs/a.txt", "runs/b.txt"),
        model={"model": "contree", "state_dropout": 0.3, "weight_dropout": 0.2, "bias_init": "zero"},
        training=TrainingConfig(
            averaging=0.999,
            word_rate=0.3,
            root_weight=2.0,
            decay=1e-5,
            decay_kind="l2",
            train_words=False,
            teacher_weight=0.9,
        ),
    )
    planned: list[Recipe] = []
    monkeypatch.setattr("lexitree.cli.train.run_classifier", lambda found, *_, **__: planned.append(found))
    command = load_script("record_run").command_of(recipe.as_dict(), [1], "mine")
    result = CliRunner().invoke(make_app(), shlex.split(command)[1:], env={"LEXITREE_DATA": ""})
    assert result.exit_code == 0, result.output
    assert planned == [recipe]


def test_differences_between_processes_are_problems() -> None:
    script = load_script("record_data_parallel")
    record = {
        "double": [{"model": "a", "largest_difference_of_weights": 1e-9}],
        "single": [{"model": "a", "difference_of_first_losses": 1e-4}],
        "kills": [{"model": "a", "different": []}],
    }
    assert list(script.find_problems(record)) == []
    record["double"].append({"model": "b", "largest_difference_of_weights": float("nan")})
    record["single"].append({"model": "b", "difference_of_first_losses": 2e-3})
    record["kills"].append({"model": "b", "different": ["optimizer"]})
    assert list(script.find_problems(record)) == [
        "b: weights in float64 differ by nan",
        "b: losses of the first epoch in float32 differ by 2.0e-03",
        "b: kills have changed optimizer",
    ]


@pytest.mark.parametrize(
    ("recipe", "said"), [({"corpus": "sst"}, "files of sst"), ({"vectors": "lost.npz"}, "lost.npz")]
)
def test_a_run_on_unnamed_data_is_not_recorded(recipe: dict[str, object], said: str, tmp_path: Path) -> None:
    recording = load_script("record_run")
    folder = finished_run(tmp_path / "run", **recipe)
    with pytest.raises(recording.RecordError, match=said):
        recording.record_run(folder, "mine", [])


def test_a_sweep_becomes_a_record(treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = load_script("record_sweep")
    monkeypatch.setattr("result_records.RESULTS", tmp_path / "results")
    monkeypatch.setattr("result_records.PAPER_RESULTS", tmp_path / "paper" / "results")
    monkeypatch.setattr(recording, "describe_code", lambda: {"commit": "0" * 40})
    recipe = tiny_recipe(treebank, epochs=2)
    folder = tmp_path / "runs"
    settings = SweepSettings(seeds=(1, 2))
    job = TrialJob(
        0, recipe, {"model.dropout": 0.1}, settings, folder / "trials" / "0000", folder, [], {"device": "cpu"}
    )
    outcome = run_trial(job)
    named = {**recipe.as_dict(), "corpus": "mini-questions"}
    sweep = {"recipe": named, "sweep": settings.as_dict(), "variants": {"dry": job.settings}}
    trial = {"trial": 0, "parameters": {"variant": "dry"}, "settings": job.settings, **outcome.as_dict()}
    (folder / "sweep.json").write_text(json.dumps(sweep), encoding="utf-8")
    (folder / "trials.json").write_text(json.dumps([trial]), encoding="utf-8")
    command = shlex.split("lexitree sweep recipes/tiny.toml space.toml -o runs/tiny")
    path = recording.record_sweep(folder, "tiny", command)
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["command"] == "lexitree sweep recipes/tiny.toml space.toml -o runs/tiny"
    (row,) = record["rows"]
    assert (row["recipe"], row["variant"], row["seeds"]) == ("tiny", "dry", 2)
    assert row["dev_root"] == pytest.approx(outcome.spread and outcome.spread.mean, abs=1e-4)
    assert [(run["seed"], len(run["loss"])) for run in record["histories"]] == [(1, 2), (2, 2)]


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
