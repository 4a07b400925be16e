"""Several processes label a file as one does: the same records in the same order, and nothing left when they stop."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from lexitree.corpora.tables import Row
from lexitree.errors import ConfigError, InputError, LexitreeError, ModelFileError, Place, TableError
from lexitree.limits import Limits
from lexitree.pipeline import workers as workers_module
from lexitree.pipeline.formats import OutputSettings
from lexitree.pipeline.known_formats import JsonFormat
from lexitree.pipeline.workers import LabellerSettings, Workers, open_labeller
from tests.cli.untrained_parser import save_untrained_parser
from tests.command import COMMAND, environment

TEXTS = [f"the film is {word} . it is number {number}" for number in range(9) for word in ("good", "bad")]
JSON = JsonFormat()
CLASH = Row("bad", (("text", "bad"), ("label", "0")), Place("texts", 6))
"""A row with a column of the name of one that is added."""


@pytest.fixture(scope="module")
def parser_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_untrained_parser(tmp_path_factory.mktemp("parser") / "untrained")


@pytest.fixture
def settings(saved_model: Path, parser_folder: Path) -> LabellerSettings:
    return make_settings(saved_model, f"builtin:{parser_folder}")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_module, "CHUNK_ROWS", 4)


def make_settings(model: Path, parser: str) -> LabellerSettings:
    # One by one: the last digits depend on what else is in a batch.
    return LabellerSettings(model, parser, batch_size=1)


def rows(texts: list[str]) -> Iterator[Row]:
    return (Row(text, (("text", text),), Place("texts", number)) for number, text in enumerate(texts, 1))


def test_records_are_those_of_one_process_in_their_order(settings: LabellerSettings) -> None:
    with open_labeller(settings) as label:
        expected = list(label(rows(TEXTS), JSON))
    with Workers(settings, 2) as workers:
        assert list(workers.records(rows(TEXTS), JSON)) == expected
    assert [json.loads(record)["text"] for record in expected] == TEXTS
    assert [worker.process.exitcode for worker in workers.workers] == [0, 0]


@pytest.mark.slow
def test_no_more_processes_start_than_there_are_chunks(settings: LabellerSettings) -> None:
    with Workers(settings, 8) as workers:
        assert len(list(workers.records(rows(TEXTS[:3]), JSON))) == 3
        assert len(workers.workers) == 1
    with Workers(settings, 8) as workers:
        assert list(workers.records(rows([]), JSON)) == []


@pytest.mark.slow
def test_all_processes_start_before_any_waits_for_its_rows_to_be_read(
    settings: LabellerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    give = workers_module._Worker.give

    def count_and_give(worker: Any, chunk: list[Row], output_format: JsonFormat) -> None:
        started.append(len(workers.workers))
        give(worker, chunk, output_format)

    monkeypatch.setattr(workers_module._Worker, "give", count_and_give)
    # More than a pipe holds: each is given only when its process reads it.
    large = [Row(row.text, (*row.columns, ("more", "x" * 100_000)), row.place) for row in rows(TEXTS[:8])]
    with Workers(settings, 2) as workers:
        assert len(list(workers.records(large, JSON))) == 8
    assert started == [2, 2]


def test_an_error_comes_after_the_records_before_it(settings: LabellerSettings) -> None:
    records: list[str] = []
    with pytest.raises(TableError, match="texts:6"), open_labeller(settings, 2) as label:
        records.extend(label([*rows(TEXTS[:5]), CLASH, *rows(TEXTS)], JsonFormat(OutputSettings("text"))))
    assert [json.loads(record)["text"] for record in records] == TEXTS[:5]
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("num_workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_row_that_is_refused_is_noted_with_its_place(settings: LabellerSettings, num_workers: int) -> None:
    limited = replace(settings, limits=Limits(words=20))
    texts = [*TEXTS[:5], "word " * 30, TEXTS[5], "half \ud800", TEXTS[6]]
    refused: list[InputError] = []
    with open_labeller(limited, num_workers, refused.append) as label:
        records = list(label([CLASH, *rows(texts)], JsonFormat(OutputSettings("text"))))
    assert [json.loads(record)["text"] for record in records] == TEXTS[:7]
    assert [error.place.line for error in refused] == [6, 6, 8]
    assert "texts:6: the input already has a column 'label'" in str(refused[0])
    assert "texts:6: the text has 30 words, and the limit is 20" in str(refused[1])


def test_the_error_of_a_refused_text_comes_after_the_records_before_it(settings: LabellerSettings) -> None:
    done: list[str] = []
    with open_labeller(settings) as label, pytest.raises(InputError, match="texts:3: the text holds half"):
        done.extend(label(rows([*TEXTS[:2], "half \ud800", TEXTS[2]]), JSON))
    assert [json.loads(record)["text"] for record in done] == TEXTS[:2]


class FailingFormat(JsonFormat):
    """Fails in a process that labels texts."""

    def __init__(self, error: type[BaseException] | BaseException) -> None:
        super().__init__()
        self.error = error

    def text_record(self, row: Row, document: Any) -> str:
        raise self.error


@pytest.mark.parametrize(
    "shortage", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: 8 bytes")]
)
def test_a_process_that_runs_out_of_memory_says_so(settings: LabellerSettings, shortage: Exception) -> None:
    ours, theirs = multiprocessing.Pipe()
    serving = Thread(target=workers_module._serve, args=(settings, theirs))
    serving.start()
    ours.send((list(rows(TEXTS[:2])), FailingFormat(shortage)))
    records, error = ours.recv()
    ours.close()
    serving.join(timeout=60)
    assert records == []
    assert "out of memory" in str(error)


@pytest.mark.slow
def test_a_process_that_fails_does_not_leave_the_others_waiting(settings: LabellerSettings) -> None:
    with Workers(settings, 2) as workers, pytest.raises(LexitreeError, match="exit code 1"):
        list(workers.records(rows(TEXTS), FailingFormat(ValueError)))
    assert not any(worker.process.is_alive() for worker in workers.workers)


@pytest.mark.slow
def test_a_missing_model_is_the_users_error_in_every_process(parser_folder: Path, tmp_path: Path) -> None:
    settings = make_settings(tmp_path / "none", f"builtin:{parser_folder}")
    with Workers(settings, 2) as workers, pytest.raises(ModelFileError, match="none"):
        list(workers.records(rows(TEXTS), JSON))


def test_a_process_that_was_killed_is_reported(settings: LabellerSettings) -> None:
    with Workers(settings, 2) as workers:
        # More than a process is given ahead: what it has answered before it is killed is not lost.
        records = workers.records(rows(TEXTS * 3), JSON)
        next(records)
        workers.workers[1].process.kill()
        workers.workers[1].process.join()
        with pytest.raises(LexitreeError, match="SIGKILL"):
            list(records)


def test_other_parsers_have_processes_of_their_own(saved_model: Path) -> None:
    with pytest.raises(ConfigError, match="built-in"):
        Workers(make_settings(saved_model, "brackets:trees.txt"), 2)


@pytest.mark.slow
def test_ctrl_c_leaves_whole_records_and_no_process(
    saved_model: Path, parser_folder: Path, tmp_path: Path
) -> None:
    texts, output = tmp_path / "texts.txt", tmp_path / "out.jsonl"
    texts.write_text("\n".join(TEXTS * 400) + "\n")
    command = [
        *(*COMMAND, "predict", "--model", str(saved_model), "--parser", f"builtin:{parser_folder}"),
        *(str(texts), "-o", str(output), "--resume", "--jobs", "2"),
    ]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(lambda: output.exists() and output.stat().st_size > 0)
    children = children_of(process.pid)
    assert len(children) >= 2
    # As the terminal does: to all processes at once.
    os.killpg(process.pid, signal.SIGINT)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in messages
    wait_for(lambda: not any(map(is_running, children)))
    done = [json.loads(line)["text"] for line in output.read_text().splitlines()]
    assert 0 < len(done) < len(TEXTS) * 400
    assert done == (TEXTS * 400)[: len(done)]


def wait_for(condition: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def children_of(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def is_running(pid: int) -> bool:
    """Whether there is such a process and it has not ended; nobody may have asked for its exit code."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
