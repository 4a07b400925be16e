"""`lexitree train`: what it shows, takes from options and recipes, skips and leaves alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lexitree.errors import ConfigError, LexitreeError
from lexitree.saving.model_kinds import save_model
from lexitree.settings import Settings
from lexitree.tasks.classify.building import load_recipe_corpus
from lexitree.tasks.classify.recipe import Recipe
from lexitree.tasks.parse.recipe import ParserRecipe
from tests.cli.conftest import Call, assert_users_error
from tests.command import files_of, find_command, run_command, set_options
from tests.tiny import FASTEST_ON_A_CPU, SIZES, tiny_model

SIZE_OPTIONS = set_options({f"model.{name}": size for name, size in SIZES.items()})


def train_options(folder: Path, *options: str) -> list[str]:
    return ["-o", str(folder), *SIZE_OPTIONS, "--epochs", "2", "--device", "cpu", *options]


def test_train_shows_what_it_does(call: Call, treebank: Path, tmp_path: Path) -> None:
    finished = call("train", treebank, *train_options(tmp_path / "run"))
    assert finished.code == 0
    assert re.search(r"40 train, 10 dev, 10 test trees; labels on all nodes", finished.err)
    assert f"running the {FASTEST_ON_A_CPU} backend on cpu" in finished.err
    lines = [line for line in finished.err.splitlines() if line.startswith("seed 1 epoch")]
    assert len(lines) == 2
    assert re.match(
        r"seed 1 epoch  1  loss +\d+\.\d{3}  dev root \d+\.\d  dev phrase \d+\.\d  \d+ trees/s  best$",
        lines[0],
    )
    assert re.match(r"best epoch [12]:  dev root .* \|  test root .* \|  \d+ s\n", finished.out)
    assert f"model: {tmp_path / 'run' / 'model'}\n" in finished.out


def test_train_quietly(call: Call, treebank: Path, tmp_path: Path) -> None:
    finished = call("train", treebank, *train_options(tmp_path / "run", "-q"))
    assert finished.err == ""
    assert finished.out.startswith("best epoch")


def test_train_by_a_recipe_with_changes(call: Call, treebank: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        f'corpus = "{treebank}"\n[model]\nmodel = "contree"\nhidden = 4\nword_size = 4\noutput = 4\n'
        "[training]\nepochs = 1\nseed = 6\n"
    )
    assert (
        call("train", "--recipe", recipe, "-o", tmp_path / "run", "--set", "model.hidden=5", "-q").code == 0
    )
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert (result["model"]["model"], result["model"]["hidden"]) == ("contree", 5)
    assert result["recipe"]["training"]["seed"] == 6
    assert len(result["epochs"]) == 1


@pytest.mark.slow
def test_train_several_seeds(treebank: Path, tmp_path: Path) -> None:
    finished = run_command("train", treebank, *train_options(tmp_path / "run", "--seeds", "1,4"))
    assert finished.returncode == 0, finished.stderr
    assert "2 seeds" in finished.stdout
    assert re.search(r"mean .*\d+\.\d ± \d+\.\d", finished.stdout)
    assert re.search(r"seed 4 epoch  2", finished.stderr)
    assert finished.stderr.count("40 train, 10 dev, 10 test trees; labels on all nodes") == 1
    assert finished.stderr.count(f"running the {FASTEST_ON_A_CPU} backend on cpu") == 1
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert set(summary["seeds"]) == {"1", "4"}
    best = tmp_path / "run" / f"seed-{summary['best_seed']}" / "model"
    assert f"best model by development score: {best}\n" in finished.stdout


@pytest.mark.parametrize("seeds", ["3", "3,4"])
def test_train_says_what_it_skipped(treebank: Path, tmp_path: Path, seeds: str, call: Call) -> None:
    bank = tmp_path / "bank"
    bank.mkdir()
    for split in ("train", "dev"):
        (bank / f"{split}.txt").write_text((treebank / f"{split}.txt").read_text() * 60)
    with (bank / "train.txt").open("a") as stream:
        stream.write("(1 (1 a) (1 b)))\n" * 1100)
    options = train_options(
        tmp_path / "run", "-q", "--seeds", seeds, "--set", "on_error=skip", "--epochs", "1"
    )
    # The runs themselves do not matter here.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lexitree.tasks.classify.run.train", lambda *_, **__: stop())
        patch.setattr("lexitree.tasks.classify.run.train_seeds", lambda *_, **__: stop())
        finished = call("train", bank, *options)
    assert "skipped 1,100 malformed trees" in finished.err
    assert f"{bank / 'train.txt'}:2401:" in finished.err
    assert "... and 1,080 more" in finished.err


def stop() -> None:
    raise LexitreeError("stopped here")


def test_skipping_beside_a_named_corpus_is_for_the_vectors() -> None:
    with pytest.raises(ConfigError, match="on-error cannot be set for mini-questions"):
        load_recipe_corpus(Recipe(corpus="mini-questions", on_error="skip"))
    assert load_recipe_corpus(Recipe(corpus="mini-questions", on_error="skip", vectors="v.txt")).train


def test_train_strips_penn_trees_and_takes_every_setting(call: Call, tmp_path: Path) -> None:
    bank = tmp_path / "penn.txt"
    bank.write_text("(1-A (0=2 bad) (1 (1 good) (-NONE- *)))\n(0 (0-B bad) (0 dull))\n" * 10)
    options = set_options(
        {
            "strip_traces": "true",
            "strip_function_tags": "true",
            "training.decay_kind": "l2",
            "model.share_topdown_inputs": "false",
            "model.bias_init": "zero",
        }
    )
    assert call("train", bank, *train_options(tmp_path / "run", "-q", *options)).code == 0
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["model"]["labels"] == ["0", "1"]
    assert (result["model"]["share_topdown_inputs"], result["model"]["bias_init"]) == (False, "zero")
    assert result["recipe"]["training"]["decay_kind"] == "l2"
    assert (result["recipe"]["strip_traces"], result["recipe"]["strip_function_tags"]) == (True, True)
    assert '"*"' not in (tmp_path / "run" / "model" / "vocabulary.json").read_text()


@pytest.mark.parametrize("name", ["strip_traces", "strip_function_tags"])
def test_what_to_strip_is_true_or_false(call: Call, tmp_path: Path, name: str) -> None:
    (tmp_path / "r.toml").write_text(f"{name} = 'yes'\n")
    finished = call("train", "--recipe", tmp_path / "r.toml", "-o", tmp_path / "run")
    assert_users_error(finished, f"{name} must be true or false, not 'yes'")


def test_an_existing_run_is_left_alone(call: Call, treebank: Path, tmp_path: Path) -> None:
    options = train_options(tmp_path / "run", "-q")
    assert call("train", treebank, *options).code == 0
    before = files_of(tmp_path)
    assert_users_error(call("train", treebank, *options), "already holds a run", "--resume")
    assert_users_error(
        call("train", treebank, *options, "--resume", "--set", "model.hidden=9"), "hidden was 8, is 9"
    )
    assert files_of(tmp_path) == before
    assert call("train", treebank, *options, "--resume", "--epochs", "3").code == 0


def test_train_with_a_teacher(call: Call, treebank: Path, saved_model: Path, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("(S (NP (DT The) (NN plot)) (VP (VBZ bores) (NP (PRP me))))\n")
    teacher = set_options(
        {"teacher": saved_model, "teacher_trees": ["more.txt"], "training.teacher_weight": 0.9}
    )
    options = train_options(tmp_path / "run", "--data", str(tmp_path), *teacher)
    finished = call("train", treebank, *options)
    assert finished.code == 0, finished.err
    assert "41 train, 10 dev" in finished.err
    assert f"first, {saved_model} labels the 41 training trees\n" in finished.err
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["recipe"]["teacher_trees"] == ["more.txt"]
    assert result["recipe"]["training"]["teacher_weight"] == 0.9
    assert "| teacher | BiConTree" in (tmp_path / "run" / "model" / "README.md").read_text()
    again = call("train", treebank, *options, "--epochs", "3", "--resume")
    assert again.code == 0, again.err
    assert "labels the" not in again.err


@pytest.mark.slow
def test_a_recipe_with_a_teacher_for_several_seeds(treebank: Path, saved_model: Path, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(
        f'corpus = "{treebank}"\nteacher = "{saved_model}"\nteacher_trees = ["{treebank / "train.txt"}"]\n'
        "[model]\nhidden = 4\nword_size = 4\noutput = 4\n[training]\nepochs = 1\nteacher_weight = 1\n"
    )
    finished = run_command(
        "train", "--recipe", tmp_path / "r.toml", "-o", tmp_path / "runs", "--seeds", "1-2"
    )
    assert finished.returncode == 0, finished.stderr
    # Of the 40 that are given again, those that are scored are left out.
    assert "labels the 70 training trees" in finished.stderr
    assert "best model by development score" in finished.stdout


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"teacher": "other-labels"}, "and its student learns 0, 1"),
        ({"teacher_trees": ["more.txt"]}, "there are trees for a teacher, but no teacher"),
        ({"teacher": "runs/none"}, "runs/none"),
        ({"training.teacher_weight": 2}, "teacher_weight must be at least 0 and at most 1, not 2"),
    ],
)
def test_what_is_wrong_with_a_teacher(
    call: Call,
    treebank: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, object],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    save_model(tiny_model(labels=("a", "b", "c")), "other-labels")
    assert_users_error(
        call("train", treebank, *train_options(tmp_path / "run", *set_options(settings))), said
    )


def test_the_help_page_has_few_options() -> None:
    assert sum(parameter.name != "corpus" for parameter in find_command("train").params) < 26


@pytest.mark.parametrize(
    ("command", "recipe"),
    [(["train"], Recipe), (["parser", "train"], ParserRecipe)],
)
def test_all_settings_are_listed(call: Call, command: list[str], recipe: type[Settings]) -> None:
    finished = call(*command, "--help-settings")
    assert finished.code == 0
    listed = dict(re.findall(r"^  (\S+) = (.*?)  \(", finished.out, flags=re.MULTILINE))
    assert listed.keys() == {each.name for each in recipe.describe()}
    assert listed["training.learning_rate"] == str(recipe.declared()["training"].default.learning_rate)
    assert "\n      Passes over the training" in finished.out


def test_wrong_settings_are_told_with_the_nearest_name(call: Call, treebank: Path, tmp_path: Path) -> None:
    def wrong(setting: str, *said: str) -> None:
        finished = call("train", treebank, "-o", tmp_path / "run", "--set", setting)
        assert_users_error(finished, *said)

    wrong("averaging=0.99", "unknown setting: averaging", "Did you mean training.averaging?")
    wrong("training.averaging=2", "[training] averaging must be at least 0 and below 1, not 2")
    wrong("model.hidden", "not a setting: 'model.hidden'", "NAME=VALUE")
    assert not (tmp_path / "run").exists()


def test_what_is_set_wins_over_options_and_recipe(call: Call, treebank: Path, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text("[training]\nepochs = 7\nbatch_size = 8\n")
    options = ["--recipe", tmp_path / "r.toml", "--batch-size", "5", "--set", "training.epochs=1", "-q"]
    assert call("train", treebank, "-o", tmp_path / "run", *SIZE_OPTIONS, *options).code == 0
    training = json.loads((tmp_path / "run" / "result.json").read_text())["recipe"]["training"]
    assert (training["epochs"], training["batch_size"]) == (1, 5)
