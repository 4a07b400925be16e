"""A transformer under the trees from the command line: train, evaluate, predict, explain, and what can go wrong."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from lexitree.learning.checkpoint import CHECKPOINT_FILE
from lexitree.saving.model_folder import QUANTIZED_ENCODER
from tests.cli.conftest import Call, assert_users_error
from tests.command import COMMAND, environment, files_of, run_command, set_options

SIZES = (*set_options({"model.hidden": 6, "model.output": 5}), "--device", "cpu", "--quiet")
TREE = b"(_ (_ (_ the) (_ film)) (_ (_ is) (_ (_ n't) (_ good))))\n"


@pytest.fixture(scope="module")
def run_folder(treebank: Path, encoders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run. Do not write into it."""
    folder = tmp_path_factory.mktemp("encoder") / "run"
    settings = {
        "encoder.layers": "mix",
        "training.encoder_rate": 1e-3,
        "training.layer_decay": 0.9,
        "training.schedule": "linear",
        "training.warm_up": 0.1,
        "training.clip": 5.0,
    }
    options = ("--encoder", encoders["bert"], *set_options(settings), "--epochs", "2")
    finished = run_command("train", treebank, "-o", folder, *options, *SIZES)
    assert finished.returncode == 0, finished.stderr
    # Its library has much to say that nobody asked for.
    assert finished.stderr == ""
    return folder


def test_the_settings_arrive(run_folder: Path, encoders: dict[str, Path]) -> None:
    result = json.loads((run_folder / "result.json").read_text())
    assert result["environment"]["transformers"]
    recipe = result["recipe"]
    assert recipe["encoder"] == {"name": str(encoders["bert"]), "layers": "mix"}
    asked = {"encoder_rate": 1e-3, "layer_decay": 0.9, "schedule": "linear", "warm_up": 0.1, "clip": 5.0}
    assert asked.items() <= recipe["training"].items()


def test_what_a_model_can_do(run_folder: Path, treebank: Path, call: Call, tmp_path: Path) -> None:
    model = run_folder / "model"
    scores = json.loads(call("evaluate", model, treebank, "--json").out)
    result = json.loads((run_folder / "result.json").read_text())
    assert scores["root"]["accuracy"] == result["test_root"]
    assert "tiny-bert, trained with the model" in call("info", model).out
    trees = tmp_path / "trees.txt"
    trees.write_bytes(TREE)
    drawn = call("predict", model, trees, "--format", "draw").out
    assert "←" in drawn
    (line,) = call("predict", model, trees, "--format", "jsonl").out.splitlines()
    assert len(json.loads(line)["phrases"]) == 9
    call("predict", model, trees, "-o", tmp_path / "heads.svg")
    assert "<svg" in (tmp_path / "heads.svg").read_text()


def test_the_same_without_a_tree(
    treebank: Path, encoders: dict[str, Path], call: Call, tmp_path: Path
) -> None:
    options = ("--model", "pooled", "--encoder", encoders["roberta"], "--epochs", "1")
    call(
        "train",
        treebank,
        "-o",
        tmp_path / "run",
        *options,
        *set_options({"training.encoder_rate": 0}),
        *SIZES,
    )
    trees = tmp_path / "trees.txt"
    trees.write_bytes(TREE)
    assert "←" not in call("predict", tmp_path / "run" / "model", trees, "--format", "draw").out
    assert "not trained further" in call("info", tmp_path / "run" / "model").out


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--encoder", "./nowhere"), ("./nowhere", "there is no such directory")),
        (("--encoder", "BERT", "--set", "model.word_size=5"), ("follows from the encoder",)),
        (("--set", "encoder.layers=mix"), ("there is no encoder for these settings: layers", "--encoder")),
        (("--encoder", ""), ("an encoder needs a name",)),
        (
            ("--encoder", "BERT", "--set", "training.encoder_rate=2"),
            ("encoder_rate must be at least 0 and below 1",),
        ),
        (("--encoder", "BERT", "--set", "encoder.revision=main"), ("has no revision main",)),
        (("--model", "pooled"), ("reads vectors of phrases", "--encoder")),
        (("--model", "rntn", "--encoder", "BERT"), ("the word size is 16",)),
    ],
)
def test_mistakes_are_told(
    treebank: Path,
    encoders: dict[str, Path],
    call: Call,
    tmp_path: Path,
    options: tuple[str, ...],
    parts: tuple[str, ...],
) -> None:
    given = [str(encoders["bert"]) if option == "BERT" else option for option in options]
    assert_users_error(call("train", treebank, "-o", tmp_path / "run", "--quiet", *given), *parts)


def test_its_model_is_packed(run_folder: Path, treebank: Path, call: Call, tmp_path: Path) -> None:
    packed = call("pack", run_folder / "model", "-o", tmp_path / "packed", "--corpus", treebank)
    assert packed.code == 0, packed.err
    assert (tmp_path / "packed" / QUANTIZED_ENCODER).is_file()


@pytest.mark.slow
def test_a_killed_run_ends_the_same(treebank: Path, encoders: dict[str, Path], tmp_path: Path) -> None:
    """In a process of its own, which is killed after its first epoch."""

    def arguments(folder: Path) -> list[str]:
        options = [
            "--encoder",
            str(encoders["bert"]),
            "--epochs",
            "6",
            *set_options({"training.schedule": "linear"}),
        ]
        return ["train", str(treebank), "-o", str(folder), *options, *SIZES]

    assert run_command(*arguments(tmp_path / "whole")).returncode == 0
    process = subprocess.Popen(
        [*COMMAND, *arguments(tmp_path / "cut")], env=environment(), stderr=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + 60
        while not (tmp_path / "cut" / CHECKPOINT_FILE).exists():
            assert time.monotonic() < end
            time.sleep(0.001)
    finally:
        process.kill()
        process.wait()
    assert not (tmp_path / "cut" / "result.json").exists()
    assert run_command(*arguments(tmp_path / "cut"), "--resume").returncode == 0
    assert files_of(tmp_path / "cut" / "model") == files_of(tmp_path / "whole" / "model")
