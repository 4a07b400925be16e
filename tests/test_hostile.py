"""Files that are broken or meant to break something: exit code 1, one clear message, bounded memory, no damage."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command import assert_one_clear_error, files_of, leftovers, run_command
from tests.saving.edited_models import edit_config
from tests.tiny import write_treebank

ADDRESS_SPACE = 4 << 30
"""What a command may have; loading torch alone takes about half of it."""

GOOD = "(1 (0 bad) (1 (_ but) (1 good)))\n"

HOSTILE: dict[str, bytes] = {
    "truncated": (GOOD * 3 + GOOD[:17]).encode(),
    "binary": random.Random(1).randbytes(50_000),
    "zero bytes": b"\x00" * 50_000,
    "unbalanced": (GOOD * 3 + ")(\n" + GOOD).encode(),
    "wrongly encoded": (GOOD + "(1 (0 caf\xe9) (1 b))\n").encode("latin-1"),
    "utf-16": (GOOD * 3).encode("utf-16"),
    "half a character": (GOOD + "(1 (0 a) (1 é").encode()[:-1],
    "no brackets": b"just some words\n" * 20,
    "a picture": b"\x89PNG\r\n\x1a\n" + random.Random(2).randbytes(2_000),
}
DEEP_BRACKETS = "10 million open brackets"


@pytest.fixture(scope="session")
def hostile_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    for name, content in HOSTILE.items():
        (folder / name).write_bytes(content)
    (folder / DEEP_BRACKETS).write_bytes(b"(" * 10_000_000)
    return folder


def run_limited(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, max_address_space=ADDRESS_SPACE)


@pytest.mark.parametrize("name", [*HOSTILE, DEEP_BRACKETS])
def test_no_file_of_trees_gets_through(hostile_files: Path, tmp_path: Path, name: str) -> None:
    path = hostile_files / name
    output = tmp_path / "out.jsonl"
    output.write_text("what was there before\n")
    finished = run_limited("trees", "convert", path, "-o", output)
    assert_one_clear_error(finished, str(path))
    assert len(finished.stderr) < 1_000
    assert output.read_text() == "what was there before\n"
    assert not leftovers(tmp_path)


@pytest.mark.parametrize("name", ["truncated", pytest.param(DEEP_BRACKETS, marks=pytest.mark.slow)])
def test_prediction_leaves_the_output_as_it_was(
    hostile_files: Path, saved_model: Path, tmp_path: Path, name: str
) -> None:
    output = tmp_path / "out.jsonl"
    output.write_text("what was there before\n")
    before = files_of(saved_model)
    finished = run_limited("predict", saved_model, hostile_files / name, "-o", output)
    assert_one_clear_error(finished, str(hostile_files / name))
    assert output.read_text() == "what was there before\n"
    assert not leftovers(tmp_path)
    assert files_of(saved_model) == before


@pytest.mark.parametrize("name", ["truncated", "unbalanced"])
def test_training_starts_with_whole_trees_only(hostile_files: Path, tmp_path: Path, name: str) -> None:
    data = write_treebank(tmp_path / "data")
    shutil.copy(hostile_files / name, data / "dev.txt")
    finished = run_limited("train", data, "-o", tmp_path / "run")
    assert_one_clear_error(finished, str(data / "dev.txt"))
    assert not (tmp_path / "run").exists()


def test_empty_files(saved_model: Path, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_bytes(b"")
    finished = run_limited("train", tmp_path, "-o", tmp_path / "run")
    assert_one_clear_error(finished, "train.txt", "it is empty")
    assert_one_clear_error(run_limited("evaluate", saved_model, tmp_path / "train.txt"), "train.txt")
    nothing = run_limited("trees", "check", tmp_path / "train.txt")
    assert (nothing.returncode, nothing.stdout) == (0, "0 good trees, 0 malformed\n")


def test_a_vectors_file_with_one_bad_row(treebank: Path, tmp_path: Path) -> None:
    vectors = tmp_path / "v.txt"
    vectors.write_text("good 1 2 3\nbad 4 x 6\nfilm 7 8 9\n")
    finished = run_limited("train", treebank, "-o", tmp_path / "run", "--vectors", vectors)
    assert_one_clear_error(finished, f"{vectors}:2", "bad")
    assert not (tmp_path / "run" / "checkpoint.safetensors").exists()


def test_a_checkpoint_cut_in_half(trained_run: Path, treebank: Path, tmp_path: Path) -> None:
    run = shutil.copytree(trained_run, tmp_path / "run")
    path = run / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    before = files_of(run)
    finished = run_limited("train", treebank, "-o", run, "--resume", "--set", "model.hidden=8")
    assert_one_clear_error(finished, str(path), "is damaged or cut off", "start the run again")
    assert files_of(run) == before


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "vocabulary.json"])
def test_a_model_with_a_cut_file(saved_model: Path, treebank: Path, tmp_path: Path, name: str) -> None:
    model = shutil.copytree(saved_model, tmp_path / "model")
    (model / name).write_bytes((model / name).read_bytes()[:-20])
    before = files_of(model)
    finished = run_limited("predict", model, treebank / "test.txt", "-o", tmp_path / "out")
    assert_one_clear_error(finished, name)
    assert not (tmp_path / "out").exists()
    assert files_of(model) == before


def test_a_model_that_claims_to_be_huge(saved_model: Path, treebank: Path, tmp_path: Path) -> None:
    model = shutil.copytree(saved_model, tmp_path / "model")
    edit_config(model, lambda values: values["model"].update(hidden=800_000_000))
    assert_one_clear_error(run_limited("predict", model, treebank / "test.txt"), "hidden must be at least 1")


def test_a_model_for_which_there_is_not_enough_memory(treebank: Path, tmp_path: Path) -> None:
    finished = run_limited("train", treebank, "-o", tmp_path / "run", "--set", "model.hidden=8000")
    assert_one_clear_error(finished, "not enough memory", "Use a smaller model")
    assert not leftovers(tmp_path)


def test_a_full_disk_stops_training_cleanly(treebank: Path, tmp_path: Path) -> None:
    """The limit on file sizes is a full disk in small: the vocabulary fits, the checkpoint does not."""
    run = tmp_path / "run"
    finished = run_command("train", treebank, "-o", run, "--epochs", "1", "-q", max_file_size=200_000)
    assert_one_clear_error(finished, "checkpoint.safetensors: cannot be written")
    assert not leftovers(run)
    assert not (run / "checkpoint.safetensors").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_place_that_may_not_be_written(treebank: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    assert_one_clear_error(
        run_limited("trees", "convert", treebank / "test.txt", "-o", locked / "out"), "locked"
    )


def test_options_do_not_steer_the_terminal(tmp_path: Path) -> None:
    """What an error shows of a file holds no escape sequences."""
    (tmp_path / "t").write_bytes(GOOD.encode() * 3 + b"(1 (0 \x1b[31mred\x1b]0;title\x07) (1 b)\n")
    finished = run_limited("trees", "convert", tmp_path / "t")
    assert_one_clear_error(finished, str(tmp_path / "t"))
    assert "\x1b" not in finished.stderr


FILES: list[tuple[str, Callable[[Path], object]]] = [
    ("a folder", lambda path: path.mkdir()),
    ("a link to nowhere", lambda path: path.symlink_to("nowhere")),
    ("a link to itself", lambda path: path.symlink_to(path)),
]


@pytest.mark.parametrize(("what", "make"), FILES, ids=[what for what, _ in FILES])
def test_things_that_are_no_files(tmp_path: Path, what: str, make: Callable[[Path], object]) -> None:
    make(tmp_path / what)
    assert_one_clear_error(run_limited("trees", "draw", tmp_path / what), what, "cannot be read")
