"""What all commands share: help, a quick start, exit codes, errors in one message, and pipes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest
from typer.models import ParameterInfo

from lexitree.cli.train import train_command
from lexitree.models.model_config import ModelConfig
from lexitree.tasks.classify.recipe import Recipe, TrainingConfig
from lexitree.trees.brackets import tree_to_brackets
from tests.cli.conftest import SENTENCE, Call, assert_users_error
from tests.command import COMMAND, assert_one_clear_error, environment
from tests.tiny import tiny_trees

COMMANDS = [
    [],
    ["train"],
    ["evaluate"],
    ["predict"],
    ["explain"],
    ["parse"],
    ["search"],
    ["drivers"],
    ["serve"],
    ["parser"],
    *(["parser", name] for name in ("train", "evaluate")),
    ["models"],
    ["info"],
    ["demo"],
    ["analyze"],
    *(["analyze", name] for name in ("compare", "length", "heads", "curves")),
    ["trees"],
    *(["trees", name] for name in ("check", "convert", "binarize", "statistics", "score", "draw")),
    ["vectors"],
    *(["vectors", name] for name in ("filter", "coverage")),
    ["data"],
    *(["data", name] for name in ("list", "fetch", "show")),
]


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
    paragraph = text[text.index("Trees are in brackets") :].split("\n \n")[0].splitlines()
    assert all(len(line.strip()) > 55 for line in paragraph[:3])


def test_the_defaults_that_the_help_of_train_names() -> None:
    model, training, recipe = ModelConfig(labels=("a",)), TrainingConfig(), Recipe()
    values = {
        "model": model.model,
        "epochs": training.epochs,
        "batch_size": training.batch_size,
        "seeds": training.seed,
        "corpus": recipe.corpus,
    }
    annotations = get_type_hints(train_command, include_extras=True)
    for name, value in values.items():
        info = annotations[name].__metadata__[0]
        assert isinstance(info, ParameterInfo)
        assert (info.help or "").endswith(f"Default: {value}."), name


def test_start_imports_little_and_nothing_heavy() -> None:
    """Imports are what takes time: some 0.3 s for these, and over a second for torch alone."""
    code = (
        "import atexit, sys\n"
        "heavy = {'torch', 'numpy', 'safetensors', 'huggingface_hub'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules)), len(sys.modules)))\n"
        "from lexitree.cli.main import main\n"
        "sys.argv = ['lexitree', '--version']\n"
        "main()"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True
    )
    version, imported = finished.stdout.splitlines()
    assert version.startswith("lexitree ")
    heavy, num_modules = imported.rsplit(" ", 1)
    assert heavy == "[]"
    assert int(num_modules) < 700


@pytest.mark.parametrize(
    "arguments",
    [
        ["--colour"],
        ["unknown"],
        ["train"],
        ["train", "x", "-o", "y", "--epochs", "many"],
        ["train", "x", "-o", "y", "--precision", "int8"],
        ["train", "x", "-o", "y", "--seeds", "a"],
        ["train", "x", "-o", "y", "--seeds", "5-3"],
        ["train", "x", "-o", "y", "--jobs", "0"],
        ["predict", "m", "--format", "xml"],
        ["evaluate", "m"],
        ["evaluate", "m", "c", "--split", "half"],
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


def test_errors_are_one_message(call: Call, saved_model: Path, treebank: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert_users_error(call("train", "mini-revews", "-o", run), "no corpus", "Did you mean mini-reviews")
    assert_users_error(call("train", tmp_path / "none.txt", "-o", run), "none.txt", "no such file")
    assert_users_error(
        call("train", treebank, "-o", run, "-m", "contre"), "unknown model 'contre'", "contree"
    )
    assert_users_error(
        call("train", treebank, "-o", run, "--set", "model.head_method=q"), "head_method must be one of"
    )
    assert_users_error(call("train", treebank, "-o", run, "--epochs", "0"), "epochs must be at least 1")
    assert_users_error(call("train", treebank, "-o", run, "--vectors", tmp_path / "v"), "cannot be read")
    assert_users_error(call("train", treebank, "-o", run, "--recipe", tmp_path / "r"), "cannot be read")
    assert_users_error(call("train", "sst", "-o", run), "is not on this machine", "lexitree data fetch sst")
    assert_users_error(call("predict", tmp_path / "none"), "there is no such model", "Looked for", "hub")
    assert_users_error(call("evaluate", "sentimnt", treebank), "sentimnt", "Did you mean sentiment")
    assert_users_error(call("evaluate", "mini-reviews", saved_model), "is a corpus; the model comes first")
    assert_users_error(call("info", saved_model.parent / "modle"), f"Did you mean {saved_model}?")
    assert_users_error(call("info", saved_model / "config.json"), "is a file, and a model is a folder")
    assert_users_error(call("trees", "check", treebank / "trian.txt"), f"Did you mean {treebank}/train.txt")
    assert_users_error(call("train", treebank / "trian.txt", "-o", run), f"Did you mean {treebank}/train.txt")
    assert_users_error(call("predict", saved_model, tmp_path / "none.txt"), "none.txt: cannot be read")
    assert_users_error(call("predict", saved_model, treebank), "Is a directory", f"such as {treebank}")
    assert_users_error(call("predict", treebank), "is not a saved model", "name the files")
    assert_users_error(call("analyze", "curves", saved_model.parent / "nne"), "there is no such folder")
    (tmp_path / "train.txt").write_text("(0 (1 a) (0 b))\n(1 c)\n")
    assert_users_error(call("evaluate", saved_model, tmp_path), "no test trees", "--split: it has train")
    assert_users_error(call("predict", saved_model, "--backend", "fast"), "unknown backend 'fast'")
    for device in ("cuda", "gpu", "meta", "cpu:x"):
        assert_users_error(call("predict", saved_model, "--device", device), "device")
    assert_users_error(call("trees", "draw", "-", "--encoding", "utf-9"), "unknown text encoding 'utf-9'")


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
        assert writer.wait() in (0, 141)


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
