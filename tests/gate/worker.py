"""Asks one checkout one kind of question, in a process of its own; `python tests/gate` starts it.

PYTHONPATH says which checkout answers. The job is a JSON object: the task, whose adapter asks, and where things are.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from adapter import Adapter
from answer_files import Answers
from cases import gradient_cases, parser_cases
from inputs import MODEL_OF, Inputs, make_inputs
from yardstick_adapter import YardstickAdapter

Job = dict[str, Any]
K = 8


def main() -> None:
    job: Job = json.loads(sys.argv[1])
    if not job.get("torch", True):
        # Importing it fails from here on, as if it were not installed.
        sys.modules["torch"] = None  # pyright: ignore[reportArgumentType]
    adapter = YardstickAdapter() if job["is_yardstick"] else Adapter()
    _check_checkout(job, adapter)
    if job.get("torch", True):
        import torch

        torch.set_num_threads(1)
    TASKS[job["task"]](adapter, job)


def _check_checkout(job: Job, adapter: YardstickAdapter) -> None:
    """Nothing would be compared if both sides asked the same checkout, or if kernels ran where they should not."""
    import lexitree

    assert lexitree.__file__ is not None
    if not Path(lexitree.__file__).resolve().is_relative_to(Path(job["source"]).resolve()):
        sys.exit(f"the gate asks {lexitree.__file__}, which is not in {job['source']}")
    wanted = job.get("kernels")
    if wanted is not None and adapter.has_kernels() != wanted:
        sys.exit(f"the compiled kernels {'do not run' if wanted else 'run although they are switched off'}")


def _read_inputs(job: Job) -> Inputs:
    return json.loads(Path(job["inputs"]).read_text(encoding="utf-8"))


def write_inputs(adapter: YardstickAdapter, job: Job) -> None:
    found = make_inputs(adapter, Path(job["data"]))
    Path(job["to"]).write_text(json.dumps(found), encoding="utf-8")


def write_answers(adapter: YardstickAdapter, job: Job) -> None:
    """The answers of one way to run: a file for each kind of texts or trees, and one of scores and lists."""
    inputs, folder, weights = _read_inputs(job), Path(job["to"]), Path(job["weights"])
    step, scores, pipe = job["step"], {}, None
    for model in ("questions", "sentiment"):
        pipe = adapter.open(weights / model, weights / "parser", job["device"], job["library"])
        for kind, texts in inputs["texts"].items():
            if MODEL_OF[kind] == model:
                Answers.of(adapter.label_texts(pipe, texts[::step])).save(folder / f"{kind}.npz")
        for bank, lines in inputs["trees"][model].items():
            Answers.of(adapter.label_trees(pipe, lines[::step])).save(folder / f"{bank}.npz")
            scores[bank] = adapter.score_labels(pipe, lines[::step])
    for bank, lines in inputs["treebanks"].items() if job["treebanks"] else ():
        found, scores[bank] = adapter.parse_treebank(pipe, lines)
        Answers.of(found).save(folder / f"{bank}.npz")
    lists = []
    if job.get("torch", True):
        lists = list(adapter.k_best(pipe, inputs["k_best"][::step], K))
    (folder / "others.json").write_text(json.dumps({"scores": scores, "k_best": lists}), encoding="utf-8")


def write_gradients(adapter: YardstickAdapter, job: Job) -> None:
    """Losses and gradients of all cases; the weights are those of a file of gradients, if one is named."""
    asked = job["gradient_weights"]
    weights = dict(np.load(asked)) if asked else None
    found: dict[str, Any] = {}
    for cases, ask in (
        (gradient_cases(), adapter.gradients),
        (parser_cases(), adapter.parser_gradients),
    ):
        for name, case in cases.items():
            if "transformer" in case and not job["transformers"]:
                continue
            own = None
            if weights is not None:
                own = {
                    key.split("/", 1)[1]: value
                    for key, value in weights.items()
                    if key.startswith(f"{name}/")
                }
            for key, value in ask(case, own, job["device"], job["kind"]).items():
                found[f"{name}/{key}"] = value
    np.savez(job["to"], **found)


def write_margins(adapter: YardstickAdapter, job: Job) -> None:
    """How close the yardstick's choices were where the checkouts differ."""
    asked = json.loads(Path(job["asked"]).read_text(encoding="utf-8"))
    weights = Path(job["weights"])
    found = {
        "heads": [
            adapter.head_margins(weights / model, words, spans) for model, words, spans in asked["heads"]
        ],
        "parses": [adapter.parse_margin(weights / "parser", *pair) for pair in asked["parses"]],
    }
    Path(job["to"]).write_text(json.dumps(found), encoding="utf-8")


def take_turns(adapter: YardstickAdapter, job: Job) -> None:
    """Measure one thing each time a line arrives; print the seconds."""
    work = _work_to_time(adapter, job)
    work()
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        work()
        print(time.perf_counter() - began, flush=True)


def _work_to_time(adapter: YardstickAdapter, job: Job) -> Callable[[], None]:
    inputs, weights = _read_inputs(job), Path(job["weights"])
    if job["what"] == "training":
        return adapter.training(inputs["trained"], job["device"])
    pipe = adapter.open(weights / "sentiment", weights / "parser", job["device"], job["library"])
    texts = inputs["texts"]["sst"][: job["number"]]
    measure = adapter.measure_stream if job["what"] == "stream" else adapter.measure_warm
    return lambda: measure(pipe, texts)


TASKS: dict[str, Callable[[YardstickAdapter, Job], None]] = {
    "inputs": write_inputs,
    "answers": write_answers,
    "gradients": write_gradients,
    "margins": write_margins,
    "turns": take_turns,
}

if __name__ == "__main__":
    main()
