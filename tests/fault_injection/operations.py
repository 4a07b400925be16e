"""The operations that write files, each with small inputs and with what must hold of its output at any moment."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from lexitree import writing
from lexitree.cli.main import make_app
from lexitree.corpora.download import fetch_package
from lexitree.corpora.locations import LocalFile, Package, RemoteFile
from lexitree.corpora.text_splits import SPLITS_FILE, SplitRecord
from lexitree.corpora.text_tables import texts_from_columns
from lexitree.learning.checkpoint import CHECKPOINT_FILE, load_checkpoint
from lexitree.saving.model_folder import ModelFolder
from lexitree.saving.model_kinds import load_model, save_model
from lexitree.trees.brackets import read_trees
from tests.command import files_of, leftovers, set_options
from tests.learning.test_kill import final_state
from tests.tiny import SIZES, tiny_model, write_treebank

Step = Callable[[Path], object]
"""Something that is done in a folder."""
Content = Any
"""What is compared: bytes, or bytes by name; None where there is nothing."""


@dataclass(frozen=True)
class Operation:
    """Replaces a file, which is always the old one or the new one."""

    name: str
    output: str
    prepare: Step
    """Write the inputs, and the old output if there is one."""
    run: Step
    resume: Step | None = None
    """What is done after an interruption, if that is not the same."""
    interrupted: Step | None = None
    """What was interrupted before, if that is where the operation begins."""
    removes_old_litter: ClassVar[bool] = False
    """Whether doing it again also removes what a killed process was just writing."""

    def run_again(self, folder: Path) -> None:
        (self.resume or self.run)(folder)

    def content(self, folder: Path) -> Content:
        """The output as the library finds it.

        Raises:
            LexitreeError: It cannot be read.
        """
        path = folder / self.output
        return path.read_bytes() if path.exists() else None

    def is_whole(self, found: Content, old: Content, new: Content) -> bool:
        return found in (old, new)

    def litter(self, folder: Path) -> Sequence[Path]:
        """What should not be there when the operation has ended."""
        return leftovers(folder)


class Append(Operation):
    """Extends a file record by record."""

    def is_whole(self, found: Content, old: Content, new: Content) -> bool:
        return new.startswith(found or b"")


class Parts(Operation):
    """Fills a folder with parts, each of which is there or is not."""

    removes_old_litter = True

    def content(self, folder: Path) -> Content:
        output = folder / self.output
        return {
            str(path.relative_to(output)): path.read_bytes()
            for path in output.rglob("part-*.*")
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(output).parts)
        }

    def is_whole(self, found: Content, old: Content, new: Content) -> bool:
        return found.items() <= new.items()


class SaveModel(Operation):
    """Replaces the folder of a model, which may be restored when it is opened."""

    def content(self, folder: Path) -> Content:
        load_model(ModelFolder.find(folder / self.output))
        return files_of(folder / self.output)


class Train(Operation):
    """Fills the folder of a run, whose checkpoint and model can be read as soon as they are there."""

    removes_old_litter = True

    def content(self, folder: Path) -> Content:
        run = folder / self.output
        if (run / CHECKPOINT_FILE).exists():
            load_checkpoint(run / CHECKPOINT_FILE)
        if (run / "model").exists() or any(run.glob(".model.*.old/*")):
            load_model(ModelFolder.find(run / "model"))
        return final_state(run) if (run / "result.json").exists() else None


class Fetch(Operation):
    """Downloads files into a folder; what is unfinished is kept beside them, to be resumed."""

    def content(self, folder: Path) -> Content:
        # A killed process leaves its lock, which is hidden, empty and open to the next.
        return {
            name: data
            for name, data in files_of(folder / self.output).items()
            if ".part" not in name and not name.endswith(".lock")
        }

    def is_whole(self, found: Content, old: Content, new: Content) -> bool:
        return found.items() <= new.items()

    def litter(self, folder: Path) -> Sequence[Path]:
        return [path for path in super().litter(folder) if path.name.startswith(".")]


def all_operations(url: str) -> list[Operation]:
    """Every operation that writes files; downloads come from this address."""
    package = _package(url)
    once = [
        Train("train", "run", _write_trees, _train, lambda folder: _train(folder, "--resume")),
        Append("predict --resume (JSON Lines)", "out.jsonl", _write_texts, _label_lines_resumed),
        Append("predict --resume (CSV)", "out.csv", _write_texts, _label_table_resumed),
    ]
    return [
        *once,
        *(
            replace(each, name=f"{each.name}, interrupted", interrupted=each.run, run=each.run_again)
            for each in once
        ),
        Parts("predict into a folder", "out", _write_texts, _label_into_folder),
        Operation("predict", "out.jsonl", _write_texts, _label_lines),
        Operation("drivers", "drivers.csv", _write_texts, _count_drivers),
        Operation("vectors filter", "few.npz", _write_trees, _filter_vectors),
        Operation("trees convert", "trees.jsonl", _write_trees, _convert_trees),
        Operation("record of the parts of a table", SPLITS_FILE, _write_trees, _record_parts),
        Operation("search", "found.jsonl", _write_trees, _search_trees),
        Operation("parse", "parsed.jsonl", _write_trees, _parse_sentences),
        SaveModel("save_model", "model", _write_models, _save),
        SaveModel("save_model (two renames)", "model", _write_models, _save_in_two_steps),
        SaveModel("pack", "packed", _write_models, _pack),
        Fetch("data fetch", "data", _write_trees, lambda folder: fetch_package(package, folder / "data")),
    ]


def _run_here(*arguments: object) -> None:
    """Run a command in this process; its errors are raised."""
    make_app([str(arguments[0])])([*map(str, arguments)], prog_name="lexitree", standalone_mode=False)


TEXTS = [f"the plot is {word}" for word in ("good", "not bad", 'so "fine",', "poor")] * 3


def _write_texts(folder: Path) -> None:
    save_model(tiny_model(), folder / "model")
    (folder / "texts.txt").write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    quoted = (text.replace('"', '""').replace(" is ", "\nis ") for text in TEXTS)
    (folder / "texts.csv").write_text("text\n" + "".join(f'"{text}"\n' for text in quoted), encoding="utf-8")


def _label_lines(folder: Path, *options: str) -> None:
    source, output = folder / "texts.txt", folder / "out.jsonl"
    _run_here("predict", folder / "model", source, "-o", output, "--parser", "stub", *options)


def _label_lines_resumed(folder: Path) -> None:
    _label_lines(folder, "--resume")


def _label_table_resumed(folder: Path) -> None:
    arguments = (folder / "texts.csv", "--column", "text", "-o", folder / "out.csv", "--parser", "stub")
    _run_here("predict", folder / "model", *arguments, "--resume")


def _label_into_folder(folder: Path) -> None:
    arguments = (f"{folder}/*.csv", "--column", "text", "-o", f"{folder / 'out'}/", "--parser", "stub")
    _run_here("predict", folder / "model", *arguments, "--part-rows", 5)


def _count_drivers(folder: Path) -> None:
    arguments = (folder / "texts.csv", "--column", "text", "-o", folder / "drivers.csv", "--parser", "stub")
    _run_here("drivers", "-m", folder / "model", *arguments)


def _write_trees(folder: Path) -> None:
    write_treebank(folder / "treebank", {"train": 4, "dev": 2, "test": 2})
    (folder / "vectors.txt").write_text("the 1 2 3\nfilm 4 5 6\nis 7 8 9\n", encoding="utf-8")
    trees = read_trees(folder / "treebank" / "train.txt")
    (folder / "sentences.txt").write_text(
        "".join(f"{' '.join(tree.words)}\n" for tree in trees), encoding="utf-8"
    )
    for name in ("few.npz", "trees.jsonl", "found.jsonl", "parsed.jsonl"):
        (folder / name).write_text("old\n", encoding="utf-8")


def _train(folder: Path, *options: str) -> None:
    settings = set_options({f"model.{name}": value for name, value in SIZES.items()})
    arguments = ("--epochs", 2, "--quiet", "--device", "cpu", *settings, *options)
    _run_here("train", folder / "treebank", "-o", folder / "run", *arguments)


def _filter_vectors(folder: Path) -> None:
    trees = folder / "treebank" / "train.txt"
    _run_here("vectors", "filter", folder / "vectors.txt", "-t", trees, "-o", folder / "few.npz")


def _convert_trees(folder: Path) -> None:
    _run_here("trees", "convert", folder / "treebank" / "train.txt", "-o", folder / "trees.jsonl")


def _record_parts(folder: Path) -> None:
    texts = texts_from_columns(TEXTS, ["good", "bad"] * 6)
    SplitRecord.draw(texts, dev=0.2, test=0.2, seed=1).write(folder)


def _search_trees(folder: Path) -> None:
    _run_here("search", "root", folder / "treebank" / "train.txt", "-o", folder / "found.jsonl")


def _parse_sentences(folder: Path) -> None:
    parser = f"brackets:{folder / 'treebank' / 'train.txt'}"
    arguments = (folder / "sentences.txt", "--tokenized", "-o", folder / "parsed.jsonl", "--parser", parser)
    _run_here("parse", *arguments)


def _write_models(folder: Path) -> None:
    save_model(tiny_model(), folder / "model")
    save_model(tiny_model(seed=2), folder / "packed")


def _save(folder: Path) -> None:
    save_model(tiny_model(seed=3), folder / "model")


def _save_in_two_steps(folder: Path) -> None:
    """As on systems and file systems on which folders cannot change places in one step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "_exchange", lambda *_: False)
        _save(folder)


def _pack(folder: Path) -> None:
    _run_here("pack", folder / "model", "-o", folder / "packed", "--no-guesses")


MEMBERS = {"train.txt": b"(1 good)\n" * 20_000, "dev.txt": b"(0 bad)\n" * 20_000}


def make_archive() -> bytes:
    """What the server offers: so small that it comes in one piece, and every download makes the same calls."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in MEMBERS.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _package(url: str) -> Package:
    """The archive twice: once it is kept as it is, once it is unpacked."""

    def described(data: bytes) -> tuple[int, str]:
        return len(data), hashlib.sha256(data).hexdigest()

    archive = described(make_archive())
    members = tuple(LocalFile(f"bank/{name}", *described(data), name) for name, data in MEMBERS.items())
    files = (RemoteFile(url, "all.zip", *archive), RemoteFile(url, "bank/bank.zip", *archive, members))
    return Package("tiny", "a file and an archive", "none", files)
