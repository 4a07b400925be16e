"""Labelling files by library calls: what `lexitree predict` does, without a command line."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from lexitree.errors import ConfigError
from lexitree.pipeline import loading
from lexitree.pipeline.inputs import Inputs
from lexitree.pipeline.labelling import LabellingJob, label_file
from lexitree.pipeline.workers import LabellerSettings
from tests.cli.untrained_parser import save_untrained_parser
from tests.pipeline.stubs import RightBranching

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
    label_file(texts, output, labeller=labeller)
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
    output.write_bytes(expected.read_bytes()[:1000])
    label_file(texts, output, labeller=labeller, resume=True, num_workers=2)
    assert output.read_bytes() == expected.read_bytes()
    assert read(output) == TEXTS


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


def test_contradictions_are_found_before_a_model_is_loaded(tmp_path: Path) -> None:
    nowhere = LabellerSettings(tmp_path / "none")
    for settings, problem in (
        ({"format": "csv"}, "for a column"),
        ({"nodes": "root"}, "for trees"),
        ({"resume": True}, "can be resumed"),
        ({"head_weights": True, "nodes": "root"}, "which --nodes root does not give"),
    ):
        with pytest.raises(ConfigError, match=problem):
            LabellingJob(Inputs(["a film"]), None, nowhere, **settings).run()
    with pytest.raises(ConfigError, match="--phrases, --jobs are for text"):
        LabellingJob(Inputs(["(_ a)"]), None, nowhere, phrases=True, num_workers=2).run()


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
