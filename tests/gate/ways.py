"""The ways in which models run, and the answers that each checkout gives in each of them."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from adapter import Adapter
from answer_files import Answers
from checkouts import COMMIT, HERE, Checkouts, ask, checksum_of_files
from compare import (
    Report,
    compare_answers,
    compare_gradients,
    compare_lists,
    compare_rounding,
    compare_scores,
    judge,
)
from inputs import MODEL_OF, Inputs, checksum
from yardstick_adapter import YardstickAdapter

CPU_TOLERANCE, GPU_TOLERANCE = 2e-6, 1e-5
GRADIENT_TOLERANCE = 1e-10
"""In float64: that of the tests of all implementations."""


@dataclass(frozen=True)
class Way:
    """One way to run the models."""

    name: str
    step: int = 1
    """Which of the texts are labelled in this way: every one, every fourth, ..."""
    kernels: bool | None = True
    """Whether the compiled kernels run; None where they have nothing to do."""
    library: str = "numpy"
    torch: bool = True
    """Whether torch can be imported."""
    treebanks: bool = False
    device: str = "cpu"

    @property
    def folder(self) -> str:
        """The folder of its answers."""
        return f"{self.name}.{self.step}"

    @property
    def tolerance(self) -> float:
        return CPU_TOLERANCE if self.device == "cpu" else GPU_TOLERANCE


WAYS = {
    way.name: way
    for way in (
        Way("kernels", treebanks=True),
        Way("no-kernels", kernels=False),
        Way("no-torch", torch=False),
        Way("torch", step=2, library="torch"),
        Way("torch-no-kernels", step=4, kernels=False, library="torch"),
        Way("cuda", kernels=None, library="torch", device="cuda"),
    )
}


class Gradients(NamedTuple):
    """Losses and gradients: where, and in which precision."""

    name: str
    kernels: bool | None
    device: str
    kind: str
    transformers: bool = True
    """Whether models over a transformer are among them, for which a machine needs another library."""


GRADIENTS = (
    Gradients("gradients", True, "cpu", "float64"),
    Gradients("gradients-no-kernels", False, "cpu", "float64"),
)
GPU_GRADIENTS = (
    Gradients("gradients-exact", False, "cpu", "float64", transformers=False),
    Gradients("gradients-cuda", None, "cuda", "float32", transformers=False),
)
"""Those in float64 on the CPU tell how exact those on the GPU are."""


class Session:
    """One comparison: answers are asked for side by side, and the yardstick's are kept for later ones."""

    def __init__(self, checkouts: Checkouts, inputs: Path, folder: Path, cache: Path, cores: int) -> None:
        self.checkouts = checkouts
        self.inputs_file = inputs
        self.inputs: Inputs = json.loads(inputs.read_text(encoding="utf-8"))
        self.folder = folder
        self.kept = cache / "answers" / _key(self.inputs)
        self._pool = ThreadPoolExecutor(cores)

    def start(self, way: Way) -> list[Future[None]]:
        """Ask both checkouts for the answers of a way."""
        return [self._pool.submit(self._answer, way, yardstick) for yardstick in (True, False)]

    def start_gradients(self, asked: Gradients) -> Future[None]:
        """Ask for the gradients of both, the yardstick first, whose weights the other takes."""
        return self._pool.submit(self._differentiate, asked)

    def place(self, name: str, *, is_yardstick: bool) -> Path:
        """Where the answers of a checkout are."""
        return (self.kept if is_yardstick else self.folder) / name

    def _answer(self, way: Way, is_yardstick: bool) -> None:
        def write(to: Path) -> None:
            to.mkdir()
            job = {"task": "answers", "inputs": self.inputs_file, "to": to, **asdict(way)}
            self._ask(job, way.kernels, is_yardstick)

        self._make(way.folder, write, is_yardstick)

    def _differentiate(self, asked: Gradients) -> None:
        weights: Path | None = None
        for is_yardstick in (True, False):

            def write(to: Path, weights: Path | None = weights, is_yardstick: bool = is_yardstick) -> None:
                job = {"task": "gradients", "to": to, "gradient_weights": weights, **asked._asdict()}
                self._ask(job, asked.kernels, is_yardstick)

            weights = self._make(f"{asked.name}.npz", write, is_yardstick)

    def _make(self, name: str, write: Callable[[Path], None], is_yardstick: bool) -> Path:
        """What a checkout answers; the yardstick's is not asked for again."""
        place = self.place(name, is_yardstick=is_yardstick)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            # Complete, or not there. NumPy insists on the ending of files.
            part = place.with_name(f"part-{name}")
            shutil.rmtree(part, ignore_errors=True)
            write(part)
            part.rename(place)
        return place

    def _ask(self, job: dict[str, Any], kernels: bool | None, is_yardstick: bool) -> None:
        adapter = YardstickAdapter() if is_yardstick else Adapter()
        variables = dict(adapter.kernels_off) if kernels is False else {}
        ask(self.checkouts, {**job, "is_yardstick": is_yardstick}, variables)

    def compare(self, way: Way) -> Report:
        """Compare the answers of a way that both have given."""
        report = Report()
        theirs, ours = (self.place(way.folder, is_yardstick=side) for side in (True, False))
        sizes: dict[str, int] = {}
        models: list[str] = []
        for path in sorted(theirs.glob("*.npz")):
            expected = Answers.read(path)
            sizes[path.stem] = len(expected.words)
            compare_answers(report, path.stem, expected, Answers.read(ours / path.name), way.tolerance)
            models += [_model_of(path.stem, self.inputs)] * (len(report.heads) - len(models))
        judge(report, *self._margins(way, report, models), way.tolerance)
        other, own = (json.loads((place / "others.json").read_text()) for place in (theirs, ours))
        compare_scores(report, other["scores"], own["scores"], sizes)
        compare_lists(report, other["k_best"], own["k_best"])
        return report

    def _margins(self, way: Way, report: Report, models: list[str]) -> tuple[list[float], list[float]]:
        """How close the yardstick's choices were where heads and parses differ."""
        if not report.heads and not report.parses:
            return [], []
        keys = [(model, each.words, each.spans) for model, each in zip(models, report.heads, strict=True)]
        trees = list(dict.fromkeys(key for key in keys if key[2]))
        asked, found = self.folder / f"{way.name}.asked.json", self.folder / f"{way.name}.margins.json"
        # Beyond this number, it is no question of ties.
        most = 200
        pairs = [(each.expected, each.found) for each in report.parses]
        asked.write_text(json.dumps({"heads": trees[:most], "parses": pairs[:most]}), encoding="utf-8")
        ask(self.checkouts, {"task": "margins", "asked": asked, "to": found, "is_yardstick": True})
        margins = json.loads(found.read_text())
        heads = dict(zip(trees, margins["heads"], strict=False))
        parses = margins["parses"] + [float("inf")] * (len(pairs) - len(margins["parses"]))
        by_node = [
            heads[key][each.node] if key in heads else float("inf")
            for key, each in zip(keys, report.heads, strict=True)
        ]
        return by_node, parses

    def compare_gradients(self, asked: Gradients) -> Report:
        """Compare the gradients that both have given."""
        report = Report()
        theirs, ours = (
            dict(np.load(self.place(f"{asked.name}.npz", is_yardstick=side))) for side in (True, False)
        )
        if asked.device == "cpu":
            compare_gradients(report, theirs, ours, GRADIENT_TOLERANCE)
        else:
            exact = dict(np.load(self.place(f"{GPU_GRADIENTS[0].name}.npz", is_yardstick=True)))
            compare_rounding(report, exact, theirs, ours)
        return report


def _model_of(name: str, inputs: Inputs) -> str:
    """The model that gave the answers of a file."""
    return next(
        (model for model, banks in inputs["trees"].items() if name in banks), MODEL_OF.get(name, "parser")
    )


def _key(inputs: Inputs) -> str:
    """What the yardstick's answers depend on: commit, data, questions, processor and libraries."""
    questions = [HERE / f"{name}.py" for name in ("yardstick_adapter", "worker", "cases", "answer_files")]
    about = [COMMIT, checksum(inputs), checksum_of_files(questions, HERE), _processor()]
    for package in ("numpy", "torch", "triton"):
        try:
            about.append(version(package))
        except PackageNotFoundError:
            about.append("")
    return checksum({"about": about})


def _processor() -> str:
    """The name and the instructions of the processor, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    wanted = ("model name", "flags")
    return "\n".join(next((line for line in lines if line.startswith(name)), "") for name in wanted)
