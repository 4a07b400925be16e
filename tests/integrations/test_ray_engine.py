"""Parts labelled with Ray: the rows of one process, whatever dies meanwhile. `tests/integrations/record_engines.py` takes more."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lexitree.corpora.tables import Row
from lexitree.errors import ConfigError, MissingExtraError
from lexitree.integrations import ray_engine as module_of_engine
from lexitree.integrations.ray_engine import ray_engine
from lexitree.pipeline import part_worker
from lexitree.pipeline.inputs import Inputs
from lexitree.pipeline.labelling import LabellingJob
from lexitree.pipeline.part_engine import PartEngine
from lexitree.pipeline.part_folder import InputFile, PartFolder
from lexitree.pipeline.part_worker import PartResult, PartTask, PartWorker
from lexitree.pipeline.workers import LabellerSettings
from tests.cli.untrained_parser import save_untrained_parser
from tests.command import assert_one_clear_error, files_of, leftovers, run_command
from tests.integrations.engine_tables import outcome
from tests.pipeline.stubs import open_stub

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ray, whose workers find the tests too, and whose start may take its time."""
    module = pytest.importorskip("ray", reason="needs the extra ray")
    pytest.importorskip("ray.data", reason="needs the extra ray")
    paths = (str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    monkeypatch.setenv("RAY_raylet_start_wait_time_s", "120")
    return module


def test_without_ray_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"(?s)'ray'.*\[ray\]"):
        ray_engine()


@pytest.fixture
def stub_ray(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Ray as far as it is asked before anything is labelled; keeps what would be run."""
    stub = SimpleNamespace(is_initialized=lambda: True, resources={}, ran=[])
    stub.cluster_resources = lambda: stub.resources
    stub.data = SimpleNamespace(ActorPoolStrategy=pool_size)
    monkeypatch.setitem(sys.modules, "ray", stub)
    monkeypatch.setitem(sys.modules, "ray.data", stub.data)

    def run_tasks(_: Any, worker: PartWorker, tasks: Any, size: int, num_gpus: int | None) -> Iterator[Any]:
        stub.ran.append((worker.job.labeller.device, size, num_gpus))
        return iter(())

    monkeypatch.setattr(module_of_engine, "_run_tasks", run_tasks)
    return stub


@pytest.mark.parametrize(
    ("device", "num_gpus", "jobs", "ran"),
    [
        ("auto", 2, None, ("cuda", 2, 1)),
        ("auto", 2, 4, ("cuda", 2, 1)),
        ("auto", 0, None, ("cpu", 8, None)),
        ("cpu", 2, None, ("cpu", 8, None)),
        ("cpu", 2, 3, ("cpu", 3, None)),
        ("cuda:1", 2, 1, ("cuda", 1, 1)),
    ],
)
def test_actors_label_where_the_cluster_can(
    stub_ray: SimpleNamespace, device: str, num_gpus: int, jobs: int | None, ran: tuple[str, int, int | None]
) -> None:
    stub_ray.resources |= {"CPU": 8.0} | ({"GPU": float(num_gpus)} if num_gpus else {})
    with ray_engine(num_workers=jobs)(worker_on(device)) as run:
        assert [*run([PartTask(InputFile("a.csv", "a.csv"), part, 1) for part in range(9)])] == []
    assert stub_ray.ran == [ran]


def test_a_cluster_without_a_gpu_is_not_waited_for(stub_ray: SimpleNamespace) -> None:
    stub_ray.resources |= {"CPU": 8.0}
    with (
        pytest.raises(ConfigError, match="the Ray cluster has no GPU"),
        ray_engine()(worker_on("cuda")),
    ):
        pass


def pool_size(*, size: int, max_tasks_in_flight_per_actor: int) -> int:
    assert max_tasks_in_flight_per_actor == 1
    return size


def worker_on(device: str) -> PartWorker:
    job = LabellingJob(Inputs(["a.csv"]), "out/", LabellerSettings(device=device))
    return PartWorker(job, PartFolder("out/"))


@pytest.mark.slow
def test_an_actor_and_a_node_are_killed(ray: Any, tmp_path: Path) -> None:
    from tests.integrations.ray_cluster import label_with_deaths

    found = label_with_deaths(tmp_path, num_rows=480, group_rows=40)
    assert [death.partition(" after")[0] for death in found["killed"]] == ["an actor", "a node"]
    assert found["nodes"] == 2
    assert found["parts"] == 12
    assert found["parts begun again"] >= 1
    assert found["rows"] == 480
    assert found["near-ties of the parser"] == []
    assert outcome(found, num_deaths=2) == "equal"
    assert not leftovers(tmp_path / "ray")


@pytest.mark.slow
def test_the_command(ray: Any, saved_model: Path, tmp_path: Path) -> None:
    parser = save_untrained_parser(tmp_path / "parser")
    rows = (f'{number},"the film\nis number {number} ."\n' for number in range(30))
    (tmp_path / "a.csv").write_text("id,text\n" + "".join(rows))
    options = ("--model", saved_model, "--parser", f"builtin:{parser}", "--column", "text", "--part-rows", 8)
    command = ("predict", "a.csv", *options)
    assert run_command(*command, "-o", "one/", cwd=tmp_path).returncode == 0
    for _ in range(2):
        # The same names from this folder, which is not that of Ray's processes.
        finished = run_command(
            *command, "-o", "ray/", "--engine", "ray", "--jobs", 2, cwd=tmp_path, timeout=400
        )
        assert (finished.returncode, finished.stdout) == (0, ""), finished.stderr
        assert files_of(tmp_path / "ray") == files_of(tmp_path / "one")
        (tmp_path / "ray" / "a.csv" / "part-00001.csv").unlink()
    options = ("--engine", "ray", "--address", "127.0.0.1:1")
    failed = run_command(*command, "-o", "new/", *options, cwd=tmp_path, timeout=400)
    assert_one_clear_error(failed, "Ray cannot be reached at 127.0.0.1:1", "ray start --head")
    assert not (tmp_path / "new").exists()
    failed = run_command(*command, "-o", "a.jsonl", "--engine", "ray", cwd=tmp_path, timeout=400)
    assert_one_clear_error(failed, "an engine writes a folder of parts")


class Poisoned:
    """A worker for which some texts are poison: they raise an error or kill its process."""

    def __init__(self, worker: PartWorker) -> None:
        self.worker = worker
        self.device = worker.device

    def on_device(self, device: str) -> Poisoned:
        return Poisoned(self.worker.on_device(device))

    def __call__(self, task: PartTask) -> PartResult:
        part_worker.open_labeller = open_stub(poison)
        return self.worker(task)


def poison(row: Row) -> None:
    if row.text == "raises":
        raise RuntimeError("poison")
    if row.text == "kills":
        os.kill(os.getpid(), signal.SIGKILL)


def poisoned(engine: PartEngine) -> PartEngine:
    return lambda worker: engine(cast(PartWorker, Poisoned(worker)))


@pytest.mark.slow
def test_poisoned_rows_are_written_to_a_side_file(ray: Any, saved_model: Path, tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(60)]
    texts[7], texts[33] = "raises", "kills"
    (tmp_path / "a.txt").write_text("".join(f"{text}\n" for text in texts))
    job = LabellingJob(
        Inputs([tmp_path / "a.txt"]),
        f"{tmp_path}/out/",
        LabellerSettings(saved_model),
        part_rows=15,
        engine=poisoned(ray_engine(num_workers=2)),
    )
    job.run()
    assert sorted(error.place.line for error in job.failed.errors) == [8, 34]
    found = files_of(tmp_path / "out")
    sides = {name: json.loads(text) for name, text in found.items() if "_failed" in name}
    assert {name: (row["row"], row["text"]) for name, row in sides.items()} == {
        "a.txt/_failed-00000.jsonl": (8, "raises"),
        "a.txt/_failed-00002.jsonl": (34, "kills"),
    }
    rows = [
        json.loads(line)
        for name in sorted(found)
        if "/part-" in name
        for line in found[name].decode().splitlines()
    ]
    assert [row["text"] for row in rows] == texts
    assert [number for number, row in enumerate(rows) if not row["sentences"]] == [7, 33]
    assert not ray.is_initialized()
