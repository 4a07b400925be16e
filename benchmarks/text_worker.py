"""Measures one thing about labelling raw text, in a process of its own; other benchmarks start it.

    python benchmarks/text_worker.py stream reviews.txt --number 2000

By default it uses nothing but what any version of the library has, so that versions can be compared: PYTHONPATH says
which one. The result is a line of JSON on standard output.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import os
import pickle
import resource
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import lexitree
from lexitree.text import split_sentences

Row = dict[str, Any]
WARM_WORDS = range(18, 23)

STAGES = {
    "sentences and tokens": ["lexitree.pipeline.streaming:split_within"],
    "parser's network": [
        "lexitree.parsers.neural:NeuralParser._score",
        "lexitree.parsers.flat_parsing:_search",
        "lexitree.parsers.network:start_search",
        "lexitree.parsers.array_network:ArrayParserNetwork.score",
    ],
    "best trees": [
        "lexitree.parsers.neural:NeuralParser._best_of_batch",
        "lexitree.parsers.flat_parsing:search_trees",
        "lexitree.parsers.torch_search:search_trees",
        "lexitree.parsers.array_network:find_pointers",
        "lexitree.parsers.flat_parsing:start_parses",
        "lexitree.parsers.flat_parsing:StartedParses.finish",
        "lexitree.parsers.flat_parsing:_Started.parses",
    ],
    "heads, batches": [
        "lexitree.pipeline.text_pipeline:TextPipeline._binary_tree",
        "lexitree.pipeline.predictor:example_to_label",
        "lexitree.models.inference:_run_window",
        "lexitree.pipeline.flat_labelling:binarize_parses",
        "lexitree.pipeline.batch_labelling:binarize_parses",
        "lexitree.models.flat_inference:start_flat",
        "lexitree.pipeline.predictor:start_flat",
    ],
    "model": [
        "lexitree.models.classifier:TreeClassifier.score_with_heads",
        "lexitree.models.array_classifier:ArrayClassifier.start_batch",
        "lexitree.models.flat_inference:StartedOutputs.finish",
        "lexitree.models.flat_inference:_join_batches",
    ],
    "JSON": ["lexitree.results.document:Document.to_json"],
}
"""Where the time of each stage is spent, in the version before and in the one after; the rest is documents."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=[*TASKS, "answers"])
    parser.add_argument("texts", type=Path, help="a file with one sentence per line")
    parser.add_argument(
        "--number", type=int, default=2000, help="how many of them, again from the start if needed"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--warm-up", type=int, default=600, help="sentences that are labelled beforehand")
    parser.add_argument("--system", choices=[*SYSTEMS], default="default", help="what computes")
    parser.add_argument("--to", type=Path, help="the file that answers are written to")
    parser.add_argument("--core", type=int, help="the one core to run on")
    options = parser.parse_args()
    if options.core is not None:
        os.sched_setaffinity(0, [options.core])
    texts = options.texts.read_text(encoding="utf-8").splitlines()
    pipe = SYSTEMS[options.system](options.device)
    for document in pipe.stream(itertools.islice(itertools.cycle(texts), options.warm_up)):
        document.to_json()
    chosen = itertools.islice(itertools.cycle(texts), options.number)
    if options.task == "answers":
        print(json.dumps(save_answers(pipe, chosen, options.to)))
    else:
        print(json.dumps(TASKS[options.task](pipe, chosen)))


def load_default(device: str) -> Any:
    """Whatever a version takes by default, with one thread where that is torch."""
    import torch

    torch.set_num_threads(1)
    return lexitree.load("sentiment", device=device)


def load_arrays(device: str) -> Any:
    """Model and parser over NumPy arrays; nothing here imports torch."""
    return lexitree.load("sentiment", device=device)


def load_tensors(device: str) -> Any:
    """Model and parser in torch, on one thread."""
    import torch

    from lexitree.pipeline.predictor import Predictor
    from lexitree.saving.pretrained import from_pretrained

    torch.set_num_threads(1)
    model = from_pretrained("sentiment", device=device)
    parser = lexitree.load_parser("parser", device=device, library="torch")
    return lexitree.TextPipeline(Predictor(model), parser)


SYSTEMS: dict[str, Callable[[str], Any]] = {
    "default": load_default,
    "arrays": load_arrays,
    "tensors": load_tensors,
}


class Answer(NamedTuple):
    """What is compared of a sentence."""

    text: str
    parse: str
    labels: list[str]
    head_index: Any
    probabilities: Any


def answers_of(document: Any) -> list[Answer]:
    """What is compared of the sentences of a text."""
    return [
        Answer(each.text, str(each.parse), list(each.labels), each.head_index, each.node_probabilities)
        for each in document.sentences
    ]


def save_answers(pipe: Any, texts: Iterator[str], path: Path) -> Row:
    """Write the answers for some texts to a file, for another process to compare."""
    with path.open("wb") as stream:
        for document in pipe.stream(texts):
            # Plain tuples: the classes of a program are not those of who imports it.
            pickle.dump([tuple(each) for each in answers_of(document)], stream)
    return {}


def read_answers(path: Path) -> Iterator[list[Answer]]:
    """Read what `save_answers` wrote."""
    with path.open("rb") as stream:
        while stream.peek(1):
            yield [Answer(*each) for each in pickle.load(stream)]


def timed(work: Callable[[], int]) -> Row:
    """Sentences, seconds by the clock and of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    number = work()
    return {
        "sentences": number,
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
    }


def measure_stream(pipe: Any, texts: Iterator[str]) -> Row:
    """Labelled and asked for nothing but their labels."""
    return timed(lambda: sum(document.label is not None for document in pipe.stream(texts)))


def measure_json(pipe: Any, texts: Iterator[str]) -> Row:
    """With all phrases, as JSON."""
    return timed(lambda: sum(bool(document.to_json()) for document in pipe.stream(texts)))


def measure_warm(pipe: Any, texts: Iterator[str]) -> Row:
    """One sentence of about 20 words at a time: from its text to the document, and on to its JSON."""
    chosen = [text for text in texts if len(split_sentences(text, "one")[0].tokens) in WARM_WORDS]
    labelled: list[float] = []
    wall: list[float] = []
    cpu: list[float] = []
    for text in chosen:
        documents: list[Any] = []
        first = timed(lambda text=text, to=documents: to.append(pipe(text)) or 1)
        second = timed(lambda made=documents: len(made[0].to_json()))
        labelled.append(1e3 * first["seconds"])
        wall.append(1e3 * (first["seconds"] + second["seconds"]))
        cpu.append(1e3 * (first["cpu_seconds"] + second["cpu_seconds"]))
    return {
        "sentences": len(chosen),
        "median_document_ms": statistics.median(labelled),
        "least_ms": min(wall),
        "median_ms": statistics.median(wall),
        "median_cpu_ms": statistics.median(cpu),
    }


def measure_memory(pipe: Any, texts: Iterator[str]) -> Row:
    """Short sentences, and the most memory that the process has held."""
    short = (" ".join(text.split()[:4]) for text in texts)
    row = timed(lambda: sum(1 for _ in pipe.stream(short)))
    return {**row, "peak_mib": _peak_mib()}


def _peak_mib() -> float:
    """The most memory that this process has held: `ru_maxrss` would count what its parent held when it started it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def measure_stages(pipe: Any, texts: Iterator[str]) -> Row:
    """Microseconds per sentence in each stage, the stages inside of it aside."""
    clock = StageClock()
    for stage, places in STAGES.items():
        for place in places:
            clock.watch(stage, place)
    with clock.stage("documents"):
        number = sum(bool(document.to_json()) for document in pipe.stream(texts))
    order = [*STAGES, "documents"]
    return {"sentences": number, "us": {stage: 1e6 * clock.seconds[stage] / number for stage in order}}


class StageClock:
    """Counts the processor time of functions, without that of the watched functions that they call.

    On a GPU the time is that of the clock: waiting counts.
    """

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._open: list[str] = []
        import torch

        self._now = time.perf_counter if torch.cuda.is_available() else time.process_time
        self._since = self._now()

    def _switch(self) -> None:
        now = self._now()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def stage(self, name: str) -> Any:
        """A block that belongs to a stage."""
        clock = self

        class Block:
            def __enter__(self) -> None:
                clock._switch()
                clock._open.append(name)

            def __exit__(self, *error: object) -> None:
                clock._switch()
                clock._open.pop()

        return Block()

    def watch(self, name: str, place: str) -> None:
        """Count a function, given as `module:name` or `module:Class.name`; one that is not there is left out."""
        module, _, path = place.partition(":")
        try:
            owner: Any = importlib.import_module(module)
            *parents, last = path.split(".")
            for parent in parents:
                owner = getattr(owner, parent)
            function = getattr(owner, last)
        except (ImportError, AttributeError):
            return

        @wraps(function)
        def counted(*arguments: Any, **options: Any) -> Any:
            with self.stage(name):
                return function(*arguments, **options)

        setattr(owner, last, counted)


TASKS: dict[str, Callable[[Any, Iterator[str]], Row]] = {
    "stream": measure_stream,
    "json": measure_json,
    "warm": measure_warm,
    "memory": measure_memory,
    "stages": measure_stages,
}


def run_worker(
    python: Sequence[str],
    code: Path,
    task: str,
    texts: Path,
    *,
    variables: Mapping[str, str] | None = None,
    **options: object,
) -> Row:
    """Run a worker on a version of the library: the folder that holds its `src`.

    Args:
        python: The command of Python.
        code: The folder.
        task: What to measure.
        texts: The file of sentences.
        variables: Further variables of its environment.
        **options: Options of the worker.
    """
    import subprocess

    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    command = [*python, str(Path(__file__).resolve()), task, str(texts), *arguments]
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, "PYTHONPATH": str(code / "src"), **one, **(variables or {})}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
