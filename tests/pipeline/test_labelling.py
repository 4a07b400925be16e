"""Labelling files by library calls: what `lexitree predict` does, without a command line."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lexitree.errors import BracketError, ConfigError, FileError, TableError
from lexitree.pipeline import labelling, loading
from lexitree.pipeline.inputs import Inputs
from lexitree.pipeline.labelling import LabellingJob, label_file
from lexitree.pipeline.workers import LabellerSettings, RowLabeller
from lexitree.results.document import Document
from lexitree.writing import exclusive_lock
from tests.cli.untrained_parser import save_untrained_parser
from tests.pipeline.stubs import RightBranching, tiny_pipeline

TEXTS = [f"the film is number {number} ." for number in range(12)]


@pytest.fixture
def labeller(saved_model: Path, monkeypatch: pytest.MonkeyPatch) -> LabellerSettings:
    """The tiny model with a parser that needs no process of its own."""
    monkeypatch.setattr(loading, "open_parser", lambda spec: RightBranching())
    return LabellerSettings(saved_model, "stub", batch_size=1)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n")
    return path


def read(path: Path) -> list[str]:
    return [json.loads(line)["text"] for line in path.read_text().splitlines()]


def test_an_interrupted_file_is_resumed(labeller: LabellerSettings, texts: Path, tmp_path: Path) -> None:
    output, done = tmp_path / "out.jsonl", list[int]()
    label_file(texts, output, labeller=labeller, resume=True)
    whole = output.read_bytes()
    output.write_bytes(whole[: len(whole) // 2])
    job = LabellingJob(Inputs([texts]), output, labeller, resume=True)
    assert job.count_texts() == len(TEXTS)
    assert job.run(done.append).num_errors == 0
    assert output.read_bytes() == whole
    assert done == list(range(whole[: len(whole) // 2].count(b"\n"), len(TEXTS) + 1))


def test_several_processes_resume_a_file(saved_model: Path, texts: Path, tmp_path: Path) -> None:
    parser = save_untrained_parser(tmp_path / "parser")
    labeller = LabellerSettings(saved_model, f"builtin:{parser}", batch_size=1)
    output, expected = tmp_path / "out.jsonl", tmp_path / "expected.jsonl"
    label_file(texts, expected, labeller=labeller)
    label_file(texts, output, labeller=labeller, resume=True)
    output.write_bytes(expected.read_bytes()[:1000])
    label_file(texts, output, labeller=labeller, resume=True, num_workers=2)
    assert output.read_bytes() == expected.read_bytes()
    assert read(output) == TEXTS


@pytest.fixture
def quick(labeller: LabellerSettings, monkeypatch: pytest.MonkeyPatch) -> LabellerSettings:
    """The same without loading a model: every text has the same labels."""
    document = tiny_pipeline()("the film is good")

    @contextmanager
    def open_labeller(settings: LabellerSettings, *_: object) -> Iterator[RowLabeller]:
        yield lambda rows, form: (
            form.text_record(row, Document(row.text, document.sentences)) for row in rows
        )

    monkeypatch.setattr(labelling, "open_labeller", open_labeller)
    return labeller


TABLE = 'id,review\n1,"the ""film"" is good,\nreally"\n2,bad\n3,\n4,"été, ""x"""\n'


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl"])
def test_a_run_that_stops_after_any_record_is_completed(
    quick: LabellerSettings, tmp_path: Path, name: str
) -> None:
    (tmp_path / "in.csv").write_text(TABLE)
    expected, output = tmp_path / f"expected-{name}", tmp_path / name

    def job(output: Path) -> LabellingJob:
        return LabellingJob(Inputs([tmp_path / "in.csv"]), output, quick, column="review", resume=True)

    job(expected).run()
    for last in range(5):

        def stop(num_done: int, last: int = last) -> None:
            if num_done == last:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            job(output).run(stop)
        assert expected.read_bytes().startswith(output.read_bytes())
        job(output).run()
        assert output.read_bytes() == expected.read_bytes()
        output.unlink()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"phrases": True}, "--phrases was False, is True"),
        ({"prefix": "p_"}, "--prefix was '', is 'p_'"),
        ({"format": "json"}, "--format was 'csv', is 'json'"),
        ({"guard_formulas": True}, "--guard-formulas was False, is True"),
        ({"column": "id"}, "--column was 'review', is 'id'"),
        ({"encoding": "latin-1"}, "--encoding was 'utf-8', is 'latin-1'"),
        ({"one_sentence": True}, "--one-sentence was False, is True"),
        ({"precision": "bf16"}, "--precision was 'float32', is 'bf16'"),
        ({"parser": "other"}, "--parser was 'stub', is 'other'"),
    ],
)
def test_another_run_is_not_mixed_in(
    quick: LabellerSettings, tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out"
    source.write_text(TABLE)
    settings: dict[str, Any] = {"column": "review", "resume": True}
    label_file(source, output, labeller=quick, **settings)
    torn = output.read_bytes()[:-3]
    output.write_bytes(torn)
    of_labeller = {name: value for name, value in change.items() if hasattr(quick, name)}
    others = {name: value for name, value in change.items() if name not in of_labeller}
    with pytest.raises(FileError, match=f"started with other settings: {problem}"):
        label_file(source, output, labeller=replace(quick, **of_labeller), **{**settings, **others})
    assert output.read_bytes() == torn


def test_another_model_of_the_same_name_is_not_mixed_in(
    quick: LabellerSettings, texts: Path, tmp_path: Path, saved_model: Path
) -> None:
    model = shutil.copytree(saved_model, tmp_path / "model")
    parser = shutil.copytree(saved_model, tmp_path / "parser")
    labeller = replace(quick, model=model, parser=f"builtin:{parser}")
    label_file(texts, tmp_path / "out.jsonl", labeller=labeller, resume=True)
    for folder, name in ((parser, "parser"), (model, "model")):
        config = folder / "config.json"
        config.write_text(config.read_text() + "\n")
        with pytest.raises(FileError, match=f"checksum of the {name} was"):
            label_file(texts, tmp_path / "out.jsonl", labeller=labeller, resume=True)


def test_a_run_that_starts_anew_forgets_the_settings(
    quick: LabellerSettings, texts: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl"
    label_file(texts, output, labeller=quick, resume=True)
    label_file(texts, output, labeller=quick)
    with pytest.raises(FileError, match="not started with --resume"):
        label_file(texts, output, labeller=quick, resume=True)


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("kind", ["name", "symbolic link", "hard link"])
def test_an_input_is_no_output(
    quick: LabellerSettings, texts: Path, tmp_path: Path, kind: str, resume: bool
) -> None:
    output = texts if kind == "name" else tmp_path / "out.jsonl"
    if kind == "symbolic link":
        output.symlink_to(texts)
    elif kind == "hard link":
        output.hardlink_to(texts)
    before = texts.read_bytes()
    with pytest.raises(ConfigError, match="is an input as well"):
        LabellingJob(Inputs(["a text", texts], "text"), output, quick, resume=resume).run()
    assert texts.read_bytes() == before
    assert not (tmp_path / ".texts.txt.resume.json").exists()


@pytest.mark.parametrize("resume", [True, False])
def test_one_run_at_a_time(quick: LabellerSettings, texts: Path, tmp_path: Path, resume: bool) -> None:
    output = tmp_path / "out.jsonl"
    with exclusive_lock(output, "writes it"), pytest.raises(FileError, match="in use by another process"):
        label_file(texts, output, labeller=quick, resume=resume)
    label_file(texts, output, labeller=quick, resume=resume)
    assert len(read(output)) == len(TEXTS)


def test_what_is_before_an_error_is_written(
    labeller: LabellerSettings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text('id,review\n1,good\n2,bad\n3,"x"y\n4,fine\n')
    # All in one batch: the error must not take the rows with it that are waiting for their labels.
    settings: dict[str, Any] = {"labeller": replace(labeller, batch_size=99), "column": "review"}
    with pytest.raises(TableError, match=r"in\.csv:4: this is not CSV") as caught:
        label_file(source, output, **settings)
    assert not output.exists()
    assert (
        "out.csv was not written; with --resume, the records before an error are kept." in caught.value.remedy
    )
    # A compressed file cannot be resumed.
    with pytest.raises(TableError, match=r"in\.csv:4: this is not CSV") as caught:
        label_file(source, tmp_path / "out.csv.gz", **settings)
    assert "--resume" not in caught.value.remedy
    with pytest.raises(TableError, match=r"in\.csv:4: this is not CSV"):
        label_file(source, **settings)
    assert [line[0] for line in capsys.readouterr().out.splitlines()] == ["i", "1", "2"]
    with pytest.raises(TableError, match=r"in\.csv:4: this is not CSV"):
        label_file(source, output, **settings, resume=True)
    assert [line[0] for line in output.read_text().splitlines()] == ["i", "1", "2"]
    report = label_file(source, output, **settings, resume=True, on_error="skip")
    assert [line[0] for line in output.read_text().splitlines()] == ["i", "1", "2", "4"]
    assert [error.place.line for error in report.errors] == [4]


def test_trees_before_an_error_are_written(
    labeller: LabellerSettings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "trees.txt").write_text("(_ (_ a) (_ film))\n(_ (_ b) (_ film))\n(_ (_ c)\n")
    with pytest.raises(BracketError, match="never closed"):
        label_file(tmp_path / "trees.txt", labeller=labeller)
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_path_is_a_file_whatever_its_name(labeller: LabellerSettings, texts: Path, tmp_path: Path) -> None:
    odd = texts.rename(tmp_path / "some texts")
    label_file(odd, tmp_path / "out.jsonl", labeller=labeller)
    assert read(tmp_path / "out.jsonl") == TEXTS


def test_rows_that_are_skipped_are_reported(labeller: LabellerSettings, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,review\n1,good\n2\n3,bad\n")
    report = label_file(
        tmp_path / "a.csv", tmp_path / "out.csv", on_error="skip", labeller=labeller, column="review"
    )
    assert [str(error.place.line) for error in report.errors] == ["3"]
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 3


def test_results_are_seen_as_they_come(saved_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer must be out before the next text is asked for."""
    seen: list[int] = []

    class Screen(io.StringIO):
        num_seen = 0

        def flush(self) -> None:
            self.num_seen = self.getvalue().count("\n")

    class Slow(io.RawIOBase):
        texts = iter([b"the film is good\n", b"the plot is bad\n", b"fine\n"])

        def read(self, size: int = -1) -> bytes:
            seen.append(screen.num_seen)
            return next(self.texts, b"")

    screen, keyboard = Screen(), SimpleNamespace(buffer=Slow())
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stdin", keyboard)
    monkeypatch.setattr(loading, "open_parser", lambda spec: RightBranching())
    settings = LabellerSettings(saved_model, "stub", batch_size=1)
    LabellingJob(Inputs(["-"], "text"), None, settings, format="table").run()
    # The heading, and then one line after each text.
    assert seen == [1, 2, 3, 4]
