"""The wheel and what it requires label text without torch; whatever needs torch says so, and how to install it."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import urllib.request
import zipfile
from pathlib import Path

import pytest

from lexitree.kernels import compiling, library
from tests.command import assert_one_clear_error

pytest.importorskip("hatchling")

from tests.small_environment import SmallEnvironment, build_wheel

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the environment is made of links")

TEXT = "Friendly staff, but the room was dirty."
REVIEWS = [TEXT, "The food was great.", "I would not go there again.", "It is a hotel."]
TREES = "(3 (2 A) (3 (3 good) (2 film)))\n(1 (2 A) (1 (1 bad) (2 film)))\n"
TRAIN, TRANSFORMERS = ("pip install 'lexitree[train]'",), ("pip install 'lexitree[transformers]'",)

LABELLER = """
import lexitree
print(lexitree.Labeller("sentiment")({"text": ["The food was great.", "I hated it."]})["label"])
"""
IMPORTS = """
import importlib, pkgutil, lexitree.cli, lexitree.server
for package in (lexitree.cli, lexitree.server):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
for name in ("pipeline.loading", "pipeline.calibrating", "integrations.labeller", "parsers.neural"):
    importlib.import_module("lexitree." + name)
import importlib.util, sys
print([name for name in ("torch", "jaxtyping", "transformers") if importlib.util.find_spec(name)], "torch" in sys.modules)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEXITREE_NATIVE", "0")
        return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def small(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> SmallEnvironment:
    return SmallEnvironment(tmp_path_factory.mktemp("small"), wheel)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table of reviews, some trees, and what describes a model over a transformer."""
    folder = tmp_path_factory.mktemp("files")
    rows = [["review"], *([text] for text in REVIEWS)]
    with (folder / "reviews.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)
    (folder / "trees.txt").write_text(TREES, encoding="utf-8")
    described = {"library": "lexitree", "format": 2, "kind": "classifier", "model": {}, "encoder": {}}
    (folder / "over-a-transformer").mkdir()
    (folder / "over-a-transformer" / "config.json").write_text(json.dumps(described), encoding="utf-8")
    return folder


def answer(small: SmallEnvironment, files: Path, *arguments: object) -> str:
    """What a command writes that succeeds."""
    finished = small.run("-m", "lexitree", *arguments, cwd=files)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_the_wheel_is_for_every_system(wheel: Path) -> None:
    """macOS and Windows get this one: it has the sources of the kernels, and none that are compiled."""
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
    assert [name for name in names if Path(name).suffix in (".so", ".pyd", ".dylib", ".dll")] == []
    assert "lexitree/kernels/bottom_up.c" in names
    assert "lexitree/shipped/sentiment/model.safetensors" in names


def test_it_holds_what_is_declared_and_nothing_else(small: SmallEnvironment, files: Path) -> None:
    assert {"numpy", "rich", "safetensors", "typer"} <= small.distributions.keys()
    assert not {"torch", "jaxtyping", "transformers", "starlette"} & small.distributions.keys()
    for package in ("torch", "jaxtyping", "transformers"):
        finished = small.run("-c", f"import {package}", cwd=files)
        assert f"No module named '{package}'" in finished.stderr


def test_a_text_in_every_format(small: SmallEnvironment, files: Path) -> None:
    def predict(form: str) -> str:
        return answer(small, files, "predict", "--text", TEXT, "--format", form)

    document = json.loads(predict("json"))
    (sentence,) = document["sentences"]
    assert document["label"] in document["probabilities"]
    assert {phrase["head"] for phrase in sentence["phrases"]} > {"staff", "dirty"}
    assert document["label"] in predict("table")
    (row,) = csv.DictReader(io.StringIO(predict("csv")))
    assert (row["text"], row["label"]) == (TEXT, document["label"])
    assert predict("html").startswith("<!doctype html>")
    assert predict("svg").startswith("<svg")


def test_a_table_by_two_processes(small: SmallEnvironment, files: Path) -> None:
    command = ("predict", "reviews.csv", "--column", "review", "--format", "csv")
    written = answer(small, files, *command, "--jobs", 2)
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [row["review"] for row in rows] == REVIEWS
    assert rows[1]["label"] in ("positive", "very positive")


def test_what_else_reads_text(small: SmallEnvironment, files: Path) -> None:
    column = ("reviews.csv", "--column", "review")
    assert "dirty" in answer(small, files, "explain", "sentiment", TEXT, "-o", "-")
    assert "dirty" in answer(small, files, "drivers", *column)
    assert answer(small, files, "parse", "--text", TEXT).startswith("(")
    assert "dirty" in answer(small, files, "search", "head=dirty", *column)


def test_trees(small: SmallEnvironment, files: Path) -> None:
    assert "good" in answer(small, files, "trees", "draw", "trees.txt")
    scores = json.loads(answer(small, files, "evaluate", "sentiment", "trees.txt", "--json"))
    assert scores["root"]["num_counted"] == 2


def test_what_models_there_are(small: SmallEnvironment, files: Path) -> None:
    listed = json.loads(answer(small, files, "models", "--shipped", "--json"))
    assert {"sentiment", "questions", "parser"} <= {model["name"] for model in listed}
    told = json.loads(answer(small, files, "info", "sentiment", "--json"))
    assert set(told["backend"].values()) == {"numpy"}
    assert told["num_parameters"] > 1000
    assert "word vectors" in answer(small, files, "info", "parser")


def test_the_demo_labels_and_says_what_the_rest_needs(small: SmallEnvironment, files: Path) -> None:
    finished = small.run("-m", "lexitree", "demo", cwd=files)
    assert finished.returncode == 0, finished.stderr
    assert "dirty" in finished.stdout
    (told,) = [line for line in finished.stderr.splitlines() if "install" in line]
    assert TRAIN[0] in told
    assert "error" not in finished.stderr


def test_in_python(small: SmallEnvironment, files: Path) -> None:
    finished = small.run("-c", LABELLER, cwd=files)
    assert finished.stdout.splitlines() == [str(["very positive", "very negative"])], finished


def test_its_modules_import_without_torch(serving: SmallEnvironment, files: Path) -> None:
    finished = serving.run("-c", IMPORTS, cwd=files)
    assert finished.stdout == "[] False\n", finished.stderr


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("train", "mini-reviews", "-o", "run"), TRAIN),
        (("demo", "-o", "model"), TRAIN),
        (("models",), TRAIN),
        (("predict", "--text", TEXT, "--device", "cuda"), ("The device 'cuda'", *TRAIN)),
        (("predict", "--text", TEXT, "--backend", "levelwise"), ("The backend 'levelwise'", *TRAIN)),
        (("predict", "--text", TEXT, "--precision", "bf16"), ("The precision 'bf16'", *TRAIN)),
        (("parse", "--text", TEXT, "--kbest", "3"), ("several trees", *TRAIN)),
        (("predict", "over-a-transformer", "trees.txt"), ("it has a transformer", *TRANSFORMERS)),
    ],
    ids=lambda value: " ".join(value[:1]) if isinstance(value, tuple) else None,
)
def test_what_needs_torch_says_so(
    small: SmallEnvironment, files: Path, command: tuple[str, ...], told: tuple[str, ...]
) -> None:
    finished = small.run("-m", "lexitree", *command, cwd=files)
    assert_one_clear_error(finished, "needs the package 'torch'", *told)


def test_training_in_python_says_what_it_needs(small: SmallEnvironment, files: Path) -> None:
    finished = small.run("-c", "import lexitree; lexitree.train", cwd=files)
    assert "MissingExtraError: lexitree.train needs the package 'torch'" in finished.stderr
    assert TRAIN[0] in finished.stderr


@pytest.fixture(scope="module")
def serving(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> SmallEnvironment:
    return SmallEnvironment(tmp_path_factory.mktemp("serving"), wheel, extras=["serve"])


def test_the_service(serving: SmallEnvironment, files: Path) -> None:
    command = [serving.python, "-I", "-m", "lexitree", "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=files, env=serving.variables(), stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            address = next(line for line in process.stderr if "http://" in line)
            address = "http://" + address.partition("http://")[2].split()[0].strip('",')
            body = json.dumps({"text": TEXT}).encode()
            request = urllib.request.Request(
                f"{address}/v1/label", body, {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=60) as answered:
                assert TEXT in answered.read().decode()
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.skipif(library.why_absent() is not None, reason=str(library.why_absent()))
def test_kernels_run_in_it(serving: SmallEnvironment, files: Path) -> None:
    """Those of this repository, beside the sources that they were compiled from."""
    shutil.copy(compiling.LIBRARY, serving.packages / "lexitree" / "kernels")
    assert_native(serving, files)


@pytest.mark.slow
@pytest.mark.skipif(compiling.find_compiler() is None, reason="no C compiler")
def test_a_wheel_with_kernels(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEXITREE_NATIVE", "1")
    wheel = build_wheel(tmp_path)
    assert wheel.name.startswith("lexitree-")
    assert "-py3-none-linux_" in wheel.name
    assert_native(SmallEnvironment(tmp_path / "native", wheel), files)


def assert_native(environment: SmallEnvironment, files: Path) -> None:
    told = json.loads(answer(environment, files, "info", "sentiment", "--json"))
    assert set(told["backend"].values()) == {"native"}
    predicted = answer(environment, files, "predict", "--text", TEXT, "--backend", "native", "-f", "csv")
    assert TEXT in predicted
