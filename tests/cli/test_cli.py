"""Every command as a user types it: help, results in every form, exit codes, and errors in one message."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import get_type_hints

import pytest
from typer.models import ParameterInfo

from lexitree.cli.train import train_command
from lexitree.errors import ConfigError, LexitreeError
from lexitree.models.config import ModelConfig
from lexitree.training.config import TrainingConfig
from lexitree.training.recipe import Recipe
from lexitree.training.run import load_recipe_corpus
from lexitree.trees.brackets import read_trees, tree_to_brackets
from lexitree.trees.jsonl import read_json_lines
from tests.cli.conftest import Call, Finished
from tests.command import COMMAND, assert_one_clear_error, environment, files_of, run_command
from tests.tiny import SIZES, tiny_trees

SIZE_OPTIONS = [
    f"--{name.replace('output', 'output-size').replace('_', '-')}={size}" for name, size in SIZES.items()
]
COMMANDS = [
    [],
    ["train"],
    ["evaluate"],
    ["predict"],
    ["models"],
    ["info"],
    ["demo"],
    ["trees"],
    *(["trees", name] for name in ("check", "convert", "binarize", "statistics", "draw")),
    ["vectors"],
    *(["vectors", name] for name in ("filter", "coverage")),
    ["data"],
    *(["data", name] for name in ("list", "fetch", "show")),
]


def assert_users_error(finished: Finished, *parts: str) -> None:
    """Exit code 1 and one message that names these parts."""
    assert finished.code == 1, finished.err
    assert finished.err.count("error:") == 1
    assert "Traceback" not in finished.err
    for part in parts:
        assert part in finished.err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(call: Call, command: list[str]) -> None:
    finished = call(*command, "--help")
    assert finished.code == 0
    assert f"Usage: {' '.join(['lexitree', *command])}" in finished.out
    options = [line for line in finished.out.splitlines() if re.search(r"--(?!help|install-|show-)\w", line)]
    assert not [line for line in options if "<bool>" in line]
    assert call(*command, "-h").out == finished.out


def test_paragraphs_of_the_help_fill_the_line(call: Call) -> None:
    text = call("predict", "--help").out
    assert " ".join(text.split()).count("(write _ where there is none)") == 1
    paragraph = text[text.index("Trees are brackets") :].split("\n \n")[0].splitlines()
    assert all(len(line.strip()) > 55 for line in paragraph[:3])


def test_the_defaults_that_the_help_of_train_names() -> None:
    model, training, recipe = ModelConfig(labels=("a",)), TrainingConfig(), Recipe()
    values = {
        "model": model.model,
        "heads": model.head_method,
        "hidden": model.hidden,
        "word_size": model.word_size,
        "output_size": model.output,
        "dropout": model.dropout,
        "binarization": model.binarization,
        "bias_init": model.bias_init,
        "decay_kind": training.decay_kind,
        "epochs": training.epochs,
        "batch_size": training.batch_size,
        "learning_rate": training.learning_rate,
        "decay": "1e-6",
        "seeds": training.seed,
        "corpus": recipe.corpus,
        "encoding": recipe.encoding,
        "on_error": recipe.on_error,
        "min_count": recipe.min_count,
    }
    assert training.decay == 1e-6
    annotations = get_type_hints(train_command, include_extras=True)
    for name, value in values.items():
        info = annotations[name].__metadata__[0]
        assert isinstance(info, ParameterInfo)
        assert (info.help or "").endswith(f"Default: {value}."), name


def test_start_is_quick_and_imports_nothing_heavy() -> None:
    code = (
        "import sys, lexitree.cli.main\n"
        "print([n for n in ('torch', 'numpy', 'safetensors', 'huggingface_hub') if n in sys.modules])"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True
    )
    assert finished.stdout == "[]\n"
    times: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        assert run_command("--version").stdout.startswith("lexitree ")
        times.append(time.perf_counter() - start)
    # 0.3 s on an idle machine; torch alone would take over a second.
    assert min(times) < 1.0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--colour"],
        ["unknown"],
        ["train"],
        ["train", "x", "-o", "y", "--epochs", "many"],
        ["train", "x", "-o", "y", "--on-error", "ignore"],
        ["train", "x", "-o", "y", "--seeds", "a"],
        ["train", "x", "-o", "y", "--seeds", "5-3"],
        ["train", "x", "-o", "y", "--jobs", "0"],
        ["predict"],
        ["predict", "m", "--format", "xml"],
        ["evaluate", "m"],
        ["evaluate", "m", "c", "--split", "all"],
        ["trees", "draw"],
        ["trees", "draw", "f", "-n", "0"],
        ["trees", "binarize", "f", "-d", "up"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_code_2(call: Call, arguments: list[str]) -> None:
    finished = call(*arguments)
    assert finished.code == 2
    assert "Usage: lexitree" in finished.err
    assert "Traceback" not in finished.err


# --- trees


@pytest.fixture
def trees_file(tmp_path: Path) -> Path:
    path = tmp_path / "trees.txt"
    path.write_text("(S (NP (DT the) (NN film)) (VP (VBZ works)) (. .))\n(S (NN this))\n")
    return path


def test_check(call: Call, trees_file: Path) -> None:
    finished = call("trees", "check", trees_file)
    assert finished == (0, "2 good trees, 0 malformed\n", "")
    trees_file.write_text("(S (NN a))\n(S (NN b)\n(S (NN c))\n(S (NN d)))\n")
    finished = call("trees", "check", trees_file)
    assert finished.code == 1
    assert finished.out == "3 good trees, 2 malformed\n"
    assert f"{trees_file}:2" in finished.err
    assert "^" in finished.err
    assert finished.err.count("error:") == 2
    assert_users_error(call("trees", "check", trees_file, "--on-error", "raise"), f"{trees_file}:2")


def test_check_counts_what_it_does_not_list(call: Call, trees_file: Path) -> None:
    trees_file.write_text("(S (NN a))\n" * 100 + "(S (NN b)\n" * 1500)
    finished = call("trees", "check", trees_file)
    assert finished.out == "100 good trees, 1,500 malformed\n"
    assert "... and 500 more" in finished.err
    converted = call("trees", "convert", trees_file, "--on-error", "skip")
    assert "skipped 1,500 malformed trees" in converted.err
    assert len(converted.out.splitlines()) == 100


def test_check_of_nothing(call: Call) -> None:
    finished = call("trees", "check", "-")
    assert (finished.code, finished.out) == (0, "0 good trees, 0 malformed\n")
    assert "nothing in there" in finished.err


def test_convert_there_and_back(call: Call, trees_file: Path, tmp_path: Path) -> None:
    jsonl = tmp_path / "out.jsonl"
    assert call("trees", "convert", trees_file, "-o", jsonl) == (0, "", "")
    assert list(read_json_lines(jsonl)) == list(read_trees(trees_file))
    assert call("trees", "convert", jsonl, "--to", "brackets").out == trees_file.read_text()
    collapsed = call(
        "trees", "convert", "-", "--to", "brackets", "--collapse", stdin=trees_file.read_text()
    ).out
    assert "(VP+VBZ works)" in collapsed
    assert call("trees", "convert", "-", "--to", "brackets", "--expand", stdin=collapsed).out == (
        trees_file.read_text()
    )


def test_convert_cleans_penn_trees(call: Call) -> None:
    penn = "(S (NP-SBJ-1 (NN film)) (VP (VBZ works) (NP (-NONE- *-1))))"
    cleaned = call(
        "trees", "convert", "-", "--to", "brackets", "--strip-traces", "--strip-function-tags", stdin=penn
    )
    assert cleaned.out == "(S (NP (NN film)) (VP (VBZ works)))\n"


JOINED = "(S (X+Y a) (NN b))"


def test_a_tree_that_cannot_be_changed_has_a_place(call: Call, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("(S (NN z))\n" * 5)
    bad.write_text(f"(S (NN x))\n(S (NN x)\n{JOINED}\n(S (NN y))\n")
    options = ["--collapse", "--to", "brackets", "-o", str(tmp_path / "out.txt")]
    assert_users_error(
        call("trees", "convert", good, "-", *options, stdin=JOINED),
        "<standard input>, tree 1: the label 'X+Y' holds '+'",
        "(sentence: a b)",
    )
    assert not (tmp_path / "out.txt").exists()
    skipped = call("trees", "convert", good, bad, *options, "--on-error", "skip")
    assert skipped.code == 0
    assert "skipped 2 malformed trees" in skipped.err
    assert f"{bad}:2" in skipped.err
    assert f"{bad}, tree 3: the label 'X+Y' holds '+'" in skipped.err
    assert (tmp_path / "out.txt").read_text() == "(S+NN z)\n" * 5 + "(S+NN x)\n(S+NN y)\n"


def test_a_word_that_brackets_cannot_hold_has_a_place(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    lines = [
        json.dumps({"words": [word], "phrases": [{"start": 0, "end": 1, "label": "NN"}]})
        for word in ("a", "b c")
    ]
    path.write_text("\n".join(lines))
    refused = call("trees", "convert", path, "--to", "brackets")
    assert_users_error(refused, f"{path}, tree 2: 'b c', which holds white space,", "Write JSON Lines")
    skipped = call("trees", "convert", path, "--to", "brackets", "--on-error", "skip")
    assert (skipped.code, skipped.out) == (0, "(NN a)\n")
    assert f"{path}, tree 2: 'b c'" in skipped.err


@pytest.mark.parametrize("direction", ["left", "right", "head"])
def test_binarize_and_undo(call: Call, trees_file: Path, direction: str) -> None:
    binary = call("trees", "binarize", trees_file, "-d", direction).out
    assert "(@S " in binary
    assert call("trees", "binarize", "-", "--undo", stdin=binary).out == trees_file.read_text()


def test_statistics(call: Call, trees_file: Path) -> None:
    counted = json.loads(call("trees", "statistics", trees_file, "--json").out)
    assert (counted["num_trees"], counted["num_words"], counted["num_nodes"]) == (2, 5, 9)
    assert "mean length" in call("trees", "statistics", trees_file).out


def test_draw(call: Call, trees_file: Path) -> None:
    drawn = call("trees", "draw", trees_file, "--heads").out
    assert drawn.splitlines() == [
        "S ← works",
        "├─ NP ← film",
        "│  ├─ DT  the",
        "│  └─ NN  film",
        "├─ VP ← works",
        "│  └─ VBZ  works",
        "└─ .  .",
        "",
    ]
    assert call("trees", "draw", trees_file, "--first", "2").out == "S\n└─ NN  this\n\n"
    assert call("trees", "draw", trees_file, "-n", "9").out.count("S\n") == 2


def test_rich_markup_in_words_is_only_text(call: Call) -> None:
    drawn = call("trees", "draw", "-", stdin="([bold] (NN [red]x[/red]) (NN [/]))").out
    assert "[bold]" in drawn
    assert "[red]x[/red]" in drawn
    malformed = call("trees", "check", "-", stdin="(S (NN [/red]\n")
    assert "[/red]" in malformed.err


# --- models and info


def test_models_as_json_has_the_papers_counts(call: Call) -> None:
    rows = json.loads(call("models", "--json").out)
    counts = {(row["model"], row["hidden"]): row["parameters"] for row in rows}
    assert counts == {
        ("bilstm", 150): counts["bilstm", 150],
        ("contree", 150): 538_223,
        ("topdown", 150): 715_073,
        ("contree-lex", 75): 376_673,
        ("contree-lex", 150): 763_523,
        ("contree-lex", 215): 1_253_493,
        ("contree-lex", 300): 2_110_973,
        ("bicontree", 75): 564_923,
        ("bicontree", 150): 1_297_523,
    }
    size, words, output, labels = 150, 300, 128, 5
    assert counts["bilstm", 150] == (
        2 * (4 * size * words + 7 * size * size + 4 * size)
        + (2 * output * size + output + output * labels + labels)
    )
    table = call("models").out
    assert "1,297,523" in table
    assert "BiConTree" in table


def test_info(call: Call, saved_model: Path) -> None:
    values = json.loads(call("info", saved_model, "--json").out)
    assert values["model"]["hidden"] == 8
    assert values["num_words"] == 14
    text = call("info", saved_model).out
    assert "bicontree" in text
    assert f"{values['num_parameters']:,}" in text
    assert "label names" not in text


def test_info_of_a_run_says_where_the_model_is(call: Call, trained_run: Path) -> None:
    assert_users_error(
        call("info", trained_run), "is not a saved model", f"Did you mean {trained_run / 'model'}?"
    )


# --- predict


SENTENCE = "(_ (_ (_ the) (_ film)) (_ (_ is) (_ good)))\n"


def test_predict_jsonl_from_a_file_and_from_standard_input(
    call: Call, saved_model: Path, treebank: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl"
    assert call("predict", saved_model, treebank / "test.txt", "-o", output) == (0, "", "")
    trees = list(read_json_lines(output))
    assert [tree.words for tree in trees] == [tree.words for tree in read_trees(treebank / "test.txt")]
    piped = call("predict", saved_model, stdin=(treebank / "test.txt").read_text())
    assert piped.out == output.read_text()
    first = json.loads(piped.out.splitlines()[0])
    assert first["phrases"][0]["head_word"] in first["words"]


def test_predict_reads_several_files_and_json(call: Call, saved_model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(SENTENCE)
    call("trees", "convert", tmp_path / "a.txt", "-o", tmp_path / "b.jsonl")
    found = call("predict", saved_model, tmp_path / "a.txt", tmp_path / "b.jsonl").out.splitlines()
    assert len(found) == 2
    assert json.loads(found[0]) == json.loads(found[1])


def test_predict_brackets(call: Call, saved_model: Path) -> None:
    found = call("predict", saved_model, "-f", "brackets", stdin=SENTENCE)
    assert re.fullmatch(
        r"\(1 \([01] \([01] the\) \([01] film\)\) \(1 \([01] is\) \(1 good\)\)\)\n", found.out
    )
    root = call("predict", saved_model, "-f", "brackets", "--nodes", "root", stdin=SENTENCE)
    assert root.out == "(1 (_ (_ the) (_ film)) (_ (_ is) (_ good)))\n"


def test_predict_draws(call: Call, saved_model: Path) -> None:
    drawn = call("predict", saved_model, "-f", "draw", stdin=SENTENCE).out.splitlines()
    assert re.fullmatch(r"1 [01]\.\d\d ← (the|film|is|good)", drawn[0])
    assert len(drawn) == 8
    root = call("predict", saved_model, "-f", "draw", "--nodes", "root", stdin=SENTENCE).out.splitlines()
    assert re.fullmatch(r"1 [01]\.\d\d", root[0])


def test_predict_skips_and_says_so(call: Call, saved_model: Path) -> None:
    found = call("predict", saved_model, "--on-error", "skip", stdin=f"{SENTENCE}(_ (_ a)\n{SENTENCE}")
    assert found.code == 0
    assert len(found.out.splitlines()) == 2
    assert "skipped 1 malformed trees" in found.err
    assert "<standard input>:2" in found.err


def test_predict_of_nothing(call: Call, saved_model: Path) -> None:
    assert call("predict", saved_model) == (0, "", "")


# --- evaluate


def test_evaluate(call: Call, saved_model: Path, treebank: Path) -> None:
    values = json.loads(call("evaluate", saved_model, treebank, "--json").out)
    assert values["root"]["num_counted"] == 10
    assert values["root"]["accuracy"] > 0.8
    assert json.loads(call("evaluate", saved_model, treebank / "test.txt", "--json").out) == values
    dev = json.loads(call("evaluate", saved_model, treebank, "--split", "dev", "--json").out)
    assert dev["phrase"]["confusion"] != values["phrase"]["confusion"]
    text = call("evaluate", saved_model, treebank).out
    assert f"10 trees: root accuracy {100 * values['root']['accuracy']:.1f}, phrase accuracy" in text
    assert "all phrases" in text
    only = call("evaluate", saved_model, treebank, "--supervision", "root").out
    assert "all phrases" not in only


def test_evaluate_needs_trees(call: Call, saved_model: Path, treebank: Path, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text((treebank / "train.txt").read_text())
    assert_users_error(call("evaluate", saved_model, tmp_path), "has no test trees")
    (tmp_path / "empty.txt").write_text("")
    assert_users_error(call("evaluate", saved_model, tmp_path / "empty.txt"), "empty.txt")


def test_evaluate_reads_no_split_but_the_one_asked_for(
    call: Call, saved_model: Path, treebank: Path, tmp_path: Path
) -> None:
    (tmp_path / "test.txt").write_text((treebank / "test.txt").read_text())
    expected = call("evaluate", saved_model, treebank, "--json").out
    assert call("evaluate", saved_model, tmp_path, "--json") == (0, expected, "")
    # Labels of the roots alone: they say nothing about what the test trees and the model have.
    (tmp_path / "train.txt").write_text("(a (_ b) (_ c))\n")
    assert call("evaluate", saved_model, tmp_path, "--json") == (0, expected, "")
    (tmp_path / "train.txt").write_text("(((\n")
    assert call("evaluate", saved_model, tmp_path, "--json") == (0, expected, "")
    assert_users_error(call("evaluate", saved_model, tmp_path, "--split", "train"), "train.txt:1")


def test_evaluate_on_the_part_that_training_held_out(
    call: Call, saved_model: Path, treebank: Path, tmp_path: Path
) -> None:
    (tmp_path / "train.txt").write_text((treebank / "train.txt").read_text())
    for split, num_trees in (("dev", 4), ("train", 36)):
        values = json.loads(call("evaluate", saved_model, tmp_path, "--split", split, "--json").out)
        assert values["root"]["num_counted"] == num_trees


def test_evaluate_says_what_it_skipped(call: Call, saved_model: Path, treebank: Path, tmp_path: Path) -> None:
    malformed = "(1 (1 a) (1 b)))\n"
    for split in ("train", "test"):
        (tmp_path / f"{split}.txt").write_text((treebank / f"{split}.txt").read_text() + malformed)
    for split, line in (("test", 11), ("dev", 41)):
        found = call("evaluate", saved_model, tmp_path, "--split", split, "--on-error", "skip", "--json")
        assert found.code == 0
        assert "skipped 1 malformed trees" in found.err
        assert f".txt:{line}:" in found.err


def test_a_name_wins_over_a_file_wherever_a_corpus_is_asked_for(
    call: Call, saved_model: Path, treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEXITREE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sst").write_text((treebank / "test.txt").read_text())
    for command in (["evaluate", saved_model, "sst"], ["data", "show", "sst"]):
        assert_users_error(call(*command), "the corpus sst-fine is not on this machine")
    assert call("evaluate", saved_model, "./sst").code == 0


def test_evaluate_strips_as_training_does(call: Call, saved_model: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("(1-SBJ (_ (_ the) (_ film)) (1 (1 good) (-NONE- *)))\n")
    assert_users_error(call("evaluate", saved_model, tmp_path / "t.txt"), "'1-SBJ' is not one of 0, 1")
    options = ["--strip-traces", "--strip-function-tags", "--json"]
    assert (
        json.loads(call("evaluate", saved_model, tmp_path / "t.txt", *options).out)["root"]["num_counted"]
        == 1
    )


def test_evaluate_with_labels_the_model_does_not_know(call: Call, saved_model: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("(5 (0 a) (1 b))\n")
    assert_users_error(call("evaluate", saved_model, tmp_path / "t.txt"), "'5' is not one of 0, 1")


# --- train


def train_options(folder: Path, *options: str) -> list[str]:
    return ["-o", str(folder), *SIZE_OPTIONS, "--epochs", "2", "--device", "cpu", *options]


def test_train_shows_what_it_does(call: Call, treebank: Path, tmp_path: Path) -> None:
    finished = call("train", treebank, *train_options(tmp_path / "run"))
    assert finished.code == 0
    assert re.search(r"40 train, 10 dev, 10 test trees; labels on all nodes", finished.err)
    assert "running the levelwise backend on cpu" in finished.err
    lines = [line for line in finished.err.splitlines() if line.startswith("seed 1 epoch")]
    assert len(lines) == 2
    assert re.match(
        r"seed 1 epoch  1  loss +\d+\.\d{3}  dev root \d+\.\d phrase \d+\.\d  \d+ trees/s  best$", lines[0]
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
    assert call("train", "--recipe", recipe, "-o", tmp_path / "run", "--hidden", "5", "-q").code == 0
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert (result["model"]["model"], result["model"]["hidden"]) == ("contree", 5)
    assert result["recipe"]["training"]["seed"] == 6
    assert len(result["epochs"]) == 1


def test_train_several_seeds(treebank: Path, tmp_path: Path) -> None:
    finished = run_command("train", treebank, *train_options(tmp_path / "run", "--seeds", "1,4"))
    assert finished.returncode == 0, finished.stderr
    assert "2 seeds" in finished.stdout
    assert re.search(r"mean .*\d+\.\d ± \d+\.\d", finished.stdout)
    assert re.search(r"seed 4 epoch  2", finished.stderr)
    assert finished.stderr.count("40 train, 10 dev, 10 test trees; labels on all nodes") == 1
    assert finished.stderr.count("running the levelwise backend on cpu") == 1
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert set(summary["seeds"]) == {"1", "4"}
    best = tmp_path / "run" / f"seed-{summary['best_seed']}" / "model"
    assert f"best model by development accuracy: {best}\n" in finished.stdout


@pytest.mark.parametrize("seeds", ["3", "3,4"])
def test_train_says_what_it_skipped(treebank: Path, tmp_path: Path, seeds: str, call: Call) -> None:
    bank = tmp_path / "bank"
    bank.mkdir()
    for split in ("train", "dev"):
        (bank / f"{split}.txt").write_text((treebank / f"{split}.txt").read_text() * 60)
    with (bank / "train.txt").open("a") as stream:
        stream.write("(1 (1 a) (1 b)))\n" * 1100)
    options = train_options(tmp_path / "run", "-q", "--seeds", seeds, "--on-error", "skip", "--epochs", "1")
    # The runs themselves do not matter here.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lexitree.training.run.train", lambda *_, **__: stop())
        patch.setattr("lexitree.training.seeds.train_seeds", lambda *_, **__: stop())
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
    options = [
        "--strip-traces",
        "--strip-function-tags",
        "--decay-kind=l2",
        "--separate-topdown-inputs",
        "--bias-init=zero",
    ]
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
    assert_users_error(finished, f"{name} has a value of the wrong kind: 'yes'")


def test_an_existing_run_is_left_alone(call: Call, treebank: Path, tmp_path: Path) -> None:
    options = train_options(tmp_path / "run", "-q")
    assert call("train", treebank, *options).code == 0
    before = files_of(tmp_path)
    assert_users_error(call("train", treebank, *options), "already holds a run", "--resume")
    assert_users_error(call("train", treebank, *options, "--resume", "--hidden", "9"), "hidden was 8, is 9")
    assert files_of(tmp_path) == before
    assert call("train", treebank, *options, "--resume", "--epochs", "3").code == 0


# --- errors


def test_errors_are_one_message(call: Call, saved_model: Path, treebank: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert_users_error(call("train", "mini-revews", "-o", run), "no corpus", "Did you mean mini-reviews")
    assert_users_error(call("train", tmp_path / "none.txt", "-o", run), "none.txt", "no such file")
    assert_users_error(
        call("train", treebank, "-o", run, "-m", "contre"), "no model called 'contre'", "contree"
    )
    assert_users_error(call("train", treebank, "-o", run, "--heads", "q"), "head_method must be one of")
    assert_users_error(call("train", treebank, "-o", run, "--epochs", "0"), "epochs must be at least 1")
    assert_users_error(call("train", treebank, "-o", run, "--vectors", tmp_path / "v"), "cannot be read")
    assert_users_error(call("train", treebank, "-o", run, "--recipe", tmp_path / "r"), "cannot be read")
    assert_users_error(call("train", "sst", "-o", run), "is not on this machine", "lexitree data fetch sst")
    assert_users_error(call("predict", tmp_path / "none"), "there is no such model directory")
    assert_users_error(call("predict", saved_model, tmp_path / "none.txt"), "none.txt: cannot be read")
    assert_users_error(call("predict", saved_model, tmp_path), "Is a directory")
    assert_users_error(call("predict", saved_model, "--backend", "fast"), "no backend called 'fast'")
    for device in ("cuda", "gpu", "meta", "cpu:x"):
        assert_users_error(call("predict", saved_model, "--device", device), "device")
    assert_users_error(call("trees", "draw", "-", "--encoding", "utf-9"), "no text encoding called 'utf-9'")


def test_a_malformed_tree_is_shown_with_a_caret(call: Call, saved_model: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(f"{SENTENCE}(_ (_ a) (_ b))) (_ c)\n")
    finished = call("predict", saved_model, tmp_path / "t.txt")
    assert_users_error(finished, f"{tmp_path / 't.txt'}:2:")
    lines = finished.err.splitlines()
    caret = next(number for number, line in enumerate(lines) if line.strip() == "^")
    assert lines[caret - 1][: lines[caret].index("^") + 1] == "  (_ (_ a) (_ b)))"


def test_a_wrong_encoding_is_named(call: Call, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_bytes(SENTENCE.encode() + "(_ café)".encode("latin-1"))
    finished = call("trees", "draw", "-n", "2", tmp_path / "t.txt")
    assert_users_error(finished, f"{tmp_path / 't.txt'}:2: the byte 0xe9 is not utf-8", "--encoding latin-1")
    drawn = call("trees", "draw", "--first", "2", tmp_path / "t.txt", "--encoding", "latin-1")
    assert drawn.out == "café\n\n"


# --- pipes


def test_a_reader_that_leaves_early(tmp_path: Path) -> None:
    many = tmp_path / "many.txt"
    many.write_text("".join(tree_to_brackets(tree) + "\n" for tree in tiny_trees(3000)))
    for arguments in (["convert", str(many)], ["draw", "-n", "3000", str(many)]):
        writer = subprocess.Popen(
            [*COMMAND, "trees", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        assert writer.stdout is not None
        assert writer.stdout.readline()
        writer.stdout.close()
        assert writer.stderr is not None
        assert writer.stderr.read() == b""
        assert writer.wait() in (0, 1)


def test_standard_output_on_a_full_disk(trees_file: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    with full.open("w") as stream:
        finished = subprocess.run(
            [*COMMAND, "trees", "convert", str(trees_file)],
            stdout=stream,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            check=False,
        )
    assert_one_clear_error(finished, "No space left on device")
