"""Run every command of the README and the guide and record its output in results/.

    python scripts/record_tour.py               # tour.json
    python scripts/record_tour.py --steps info  # renews the output of these commands; those before them run too
    python scripts/record_tour.py plugin        # plugin.json: the package of examples/plugin in a fresh environment
    python scripts/record_tour.py service       # service-tour.json: `lexitree serve`; port 8000 must be free

All commands run one after the other in an empty folder, so later ones find what earlier ones made.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from result_records import DATA_VARIABLE, ROOT, checksums, describe_run, read_record, write_record

WIDTH = 92
CUT = "..."
EXAMPLES = ROOT / "examples"
VECTORS = "glove.6B.100d.npz"

NOT_GOOD = '"(_ (_ (_ The) (_ film)) (_ (_ (_ is) (_ n\'t)) (_ good)))"'
FILES = {
    name: (EXAMPLES / name).read_text(encoding="utf-8")
    for name in (
        *("my-trees/train.txt", "my-recipe.toml", "penn.txt", "broken.txt", "reviews.txt", "questions.txt"),
        *("orders.csv", "reviews.csv", "sentences.tsv"),
    )
}
"""The files that the commands work on; users find them in examples/."""


@dataclass(frozen=True)
class Step:
    """A command line and how much of its output is worth reading."""

    name: str
    command: str
    first: int = 30
    """Lines kept from the start ..."""
    last: int = 0
    """... and from the end."""
    width: int = WIDTH
    """Columns of the terminal, and where longer lines are cut."""
    status: int = 0
    """The exit status that is right; -1 is any."""


BUT = '"Friendly staff, but the room was dirty and noisy."'
STEPS = (
    Step("version", "lexitree --version"),
    Step("text-tree", f"lexitree predict {BUT} --format tree"),
    Step("text-file", "lexitree predict reviews.txt --format table"),
    Step("text-questions", "lexitree predict --model questions questions.txt --format table"),
    Step("text-column", "lexitree predict orders.csv --column comment -o labelled.csv && cat labelled.csv"),
    Step("text-json", f"lexitree predict {BUT} --format json", width=400),
    Step("text-explain", f"lexitree explain {BUT} -o explained.html"),
    Step("text-python", "python examples/read_text.py"),
    Step("drivers-page", "lexitree drivers reviews.csv --column comment -o report.html"),
    Step("drivers-by", "lexitree drivers reviews.csv --column comment --by shop --top 5"),
    Step("shipped", "lexitree models --shipped"),
    Step("models", "lexitree models"),
    Step("data-list", "lexitree data list --json", first=8),
    Step("data-show", "lexitree data show mini-reviews", width=120),
    Step("train", "lexitree train mini-reviews -o runs/reviews --epochs 10 --batch-size 10", first=4, last=4),
    Step("train-files", "ls runs/reviews runs/reviews/model"),
    Step("info", "lexitree info runs/reviews/model", first=12),
    Step("evaluate", "lexitree evaluate runs/reviews/model mini-reviews", first=10, width=136),
    Step("evaluate-json", "lexitree evaluate runs/reviews/model mini-reviews --split dev --json", first=10),
    Step("predict-draw", f"echo {NOT_GOOD} | lexitree predict runs/reviews/model --format draw"),
    Step("predict-jsonl", f"echo {NOT_GOOD} | lexitree predict runs/reviews/model --format jsonl", width=400),
    Step("predict-brackets", f"echo {NOT_GOOD} | lexitree predict runs/reviews/model --format brackets"),
    Step(
        "predict-root",
        f"echo {NOT_GOOD} | lexitree predict runs/reviews/model --nodes root --format jsonl",
        width=400,
    ),
    Step("predict-file", "lexitree predict runs/reviews/model my-trees/train.txt -o labelled.jsonl"),
    Step("predict-svg", "lexitree predict runs/reviews/model my-trees/train.txt -o heads.svg"),
    Step(
        "analyze-train",
        "lexitree train mini-reviews -o runs/contree --model contree --epochs 10 --batch-size 10 --quiet",
    ),
    Step(
        "analyze-compare",
        "lexitree analyze compare ConTree=runs/contree BiConTree=runs/reviews mini-reviews --examples 2",
        first=60,
    ),
    Step(
        "analyze-length",
        "lexitree analyze length ConTree=runs/contree BiConTree=runs/reviews mini-reviews -o length.svg",
    ),
    Step("analyze-heads", "lexitree analyze heads runs/reviews/model penn.txt", width=110),
    Step(
        "analyze-curves",
        "lexitree analyze curves ConTree=runs/contree BiConTree=runs/reviews -o curves.svg",
        first=9,
    ),
    Step("own-check", "lexitree trees check my-trees/train.txt"),
    Step("own-show", "lexitree data show my-trees", width=160),
    Step("own-train", "lexitree train my-trees -o runs/mine --epochs 5 --quiet"),
    Step("own-sentences", "lexitree train sentences.tsv -o runs/sentences --model bilstm --epochs 2 --quiet"),
    Step("broken", "lexitree trees check broken.txt", status=1),
    Step("broken-skip", "lexitree trees convert broken.txt --to jsonl --on-error skip"),
    Step("statistics", "lexitree trees statistics my-trees/train.txt"),
    Step("draw-heads", "lexitree trees draw penn.txt --heads"),
    Step("convert", "lexitree trees convert penn.txt --strip-function-tags", width=400),
    Step("binarize", "lexitree trees binarize penn.txt --direction head"),
    Step("unbinarize", "lexitree trees binarize penn.txt | lexitree trees binarize - --undo"),
    Step("vectors-coverage", "lexitree vectors coverage glove.6B.100d.txt -t my-trees/train.txt"),
    Step(
        "vectors-filter",
        "lexitree vectors filter glove.6B.100d.txt -t my-trees/train.txt -o my-vectors.npz",
        width=160,
    ),
    Step(
        "vectors-train",
        "lexitree train my-trees -o runs/mine-vectors --vectors my-vectors.npz --epochs 5 --quiet",
    ),
    Step("seeds", "lexitree train mini-questions -o runs/questions --epochs 3 --seeds 1-3 --quiet"),
    Step("cut", "timeout --signal KILL 8 lexitree train mini-questions -o runs/cut --epochs 8", status=-1),
    Step("resume", "lexitree train mini-questions -o runs/cut --epochs 8 --resume"),
    Step("recipe", "lexitree train --recipe my-recipe.toml -o runs/recipe --quiet"),
    Step("quickstart", "python examples/quickstart.py"),
    Step("own-loop", "python examples/own_loop.py"),
)


def prepare_folder(folder: Path) -> None:
    """The files that a user would have."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    shutil.copytree(EXAMPLES, folder / "examples")
    _write_glove(vectors_file(), folder / "glove.6B.100d.txt")


def vectors_file() -> Path:
    return Path(os.environ[DATA_VARIABLE], "vectors", VECTORS)


def _write_glove(source: Path, path: Path) -> None:
    """Word vectors in the form in which they are published."""
    import numpy as np

    with np.load(source) as arrays, path.open("w", encoding="utf-8") as stream:
        for word, vector in zip(arrays["words"].tolist(), arrays["vectors"], strict=True):
            stream.write(f"{word} {' '.join(f'{value:.5g}' for value in vector.tolist())}\n")


def run_step(step: Step, folder: Path, programs: Path = Path(sys.executable).parent) -> tuple[int, str]:
    """Run one command; its exit status and what it prints, as on a terminal of fixed width.

    Args:
        step: The command.
        folder: Where it runs.
        programs: The folder of `lexitree`.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LEXITREE_")}
    environment |= {
        "PATH": f"{programs}{os.pathsep}{environment['PATH']}",
        "COLUMNS": str(step.width),
        "LEXITREE_CACHE": "cache",
    }
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", step.command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, shorten(done.stdout, step)


def shorten(text: str, step: Step) -> str:
    """The lines worth reading, without colours."""
    lines = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).strip("\n").splitlines()]
    lines = [line if len(line) <= step.width else line[: step.width] + " " + CUT for line in lines]
    if len(lines) > step.first + step.last + 1:
        lines = [*lines[: step.first], CUT, *(lines[-step.last :] if step.last else [])]
    return "\n".join(lines)


def tour_commands(names: Sequence[str]) -> int:
    """Run every command of the README and the guide; of these names, all up to the last."""
    wanted = set(names) or {step.name for step in STEPS}
    if DATA_VARIABLE not in os.environ:
        print(f"error: set {DATA_VARIABLE}; the word vectors of the tour are there", file=sys.stderr)
        return 1
    before: dict[str, Any] = (read_record("tour") or {}).get("steps", {})
    after: dict[str, Any] = {}
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        prepare_folder(Path(folder))
        for step in STEPS:
            if wanted:
                print(step.command, flush=True)
                status, output = run_step(step, Path(folder))
                if step.status >= 0 and status != step.status:
                    failed.append(step.name)
                    print(f"{output}\nended with {status}, not {step.status}", file=sys.stderr)
                elif step.name in wanted or step.name not in before:
                    after[step.name] = {"command": step.command, "output": output}
                wanted.discard(step.name)
            if step.name in before:
                after.setdefault(step.name, before[step.name])
    record = {
        **describe_run({}),
        "command": "python scripts/record_tour.py",
        "data": {"mini-reviews": "embedded", "mini-questions": "embedded", **checksums([vectors_file()])},
        "seeds": [1, 2, 3],
        "files": FILES,
        "steps": after,
    }
    write_record("tour", record)
    return 1 if failed else 0


PACKAGE = "lexitree-weather"
WEATHER_TEXT = '"Tomorrow will be sunny."'
PLUGIN_RECIPE = """\
corpus = "weather"

[model]
model = "tree-rnn"
head_method = "norm"
keep = 0.25
hidden = 20
word_size = 20

[training]
epochs = 3
learning_rate = 0.02
"""
PLUGIN_STEPS = (
    Step("models", "lexitree models | grep -A 3 tree-rnn"),
    Step("train", "lexitree train --recipe weather.toml -o runs/weather"),
    Step(
        "predict",
        f"lexitree predict runs/weather/model {WEATHER_TEXT} --parser right-branching -o today.md && cat today.md",
    ),
)
WITHOUT = Step(
    "without", f"lexitree predict runs/weather/model {WEATHER_TEXT} --parser builtin", width=160, status=1
)
"""What happens where the package is not installed."""


def make_environment(folder: Path) -> Path:
    """A fresh environment with what is installed here; its folder of programs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    shared = [ROOT / "src", *site.getsitepackages(), *(path for path in sys.path if "site-packages" in path)]
    # As code, so that the .pth files of those folders count too: an editable install is one.
    lines = [f"import site; site.addsitedir({str(path)!r})" for path in dict.fromkeys(map(str, shared))]
    (packages / "shared.pth").write_text("\n".join(lines))
    program = folder / "bin" / "lexitree"
    program.write_text(f'#!/bin/sh\nexec "{folder}/bin/python" -m lexitree "$@"\n')
    program.chmod(0o755)
    return folder / "bin"


def pip(programs: Path, *arguments: str | Path) -> None:
    """Run the pip of this environment for the fresh one."""
    command = [sys.executable, "-m", "pip", "--python", programs / "python", "--disable-pip-version-check"]
    subprocess.run([*command, "--quiet", *arguments], check=True)


def run_plugin_steps(folder: Path) -> dict[str, str]:
    """Install, use and uninstall the package; what each step printed.

    Raises:
        RuntimeError: A step did not end with the status that it should.
    """
    programs = make_environment(folder / "environment")
    project = shutil.copytree(ROOT / "examples" / "plugin", folder / "plugin")
    (folder / "weather.toml").write_text(PLUGIN_RECIPE)
    pip(programs, "install", "--no-index", "--no-deps", "--no-build-isolation", project)
    outputs = {step.name: _run_as_expected(step, folder, programs) for step in PLUGIN_STEPS}
    pip(programs, "uninstall", "--yes", PACKAGE)
    return {**outputs, WITHOUT.name: _run_as_expected(WITHOUT, folder, programs)}


def _run_as_expected(step: Step, folder: Path, programs: Path) -> str:
    status, output = run_step(step, folder, programs)
    if status != step.status:
        raise RuntimeError(f"{step.command}\n{output}\nended with {status}, not {step.status}")
    return output


def tour_plugin() -> int:
    """Install the package of examples/plugin in a fresh environment, and use it.

    The environment sees everything that this one has installed, so nothing is downloaded.
    """
    with tempfile.TemporaryDirectory() as folder:
        outputs = run_plugin_steps(Path(folder))
    steps = {
        step.name: {"command": step.command, "output": outputs[step.name]}
        for step in (*PLUGIN_STEPS, WITHOUT)
    }
    record = {
        **describe_run({}),
        "command": "python scripts/record_tour.py plugin",
        "data": {"weather": "embedded"},
        "seeds": [1],
        "files": {"weather.toml": PLUGIN_RECIPE},
        "steps": steps,
    }
    write_record("plugin", record)
    return 0


START = "lexitree serve --workers 2"
JSON = "--json"
"""Sends a body of JSON, from curl 7.82 on."""
REVIEW = '"text": "Not a bad film, but nobody will remember it."'
SERVICE_STEPS = (
    Step("label", f"curl -s localhost:8000/v1/label {JSON} '{{{REVIEW}}}'", width=400),
    Step(
        "many",
        f'curl -s localhost:8000/v1/label {JSON} \'{{"texts": ["Good.", "Bad."], "include": ["heads"]}}\'',
        width=400,
    ),
    Step(
        "stream",
        """printf '"Good."\\n{"text": "Bad.", "id": 7}\\n' | curl -s localhost:8000/v1/label/stream"""
        " -H 'Content-Type: application/x-ndjson' --data-binary @-",
        width=400,
    ),
    Step(
        "explain",
        f'curl -s localhost:8000/v1/explain {JSON} \'{{{REVIEW}, "format": "svg"}}\' -o tree.svg && ls tree.svg',
    ),
    Step(
        "refused", f'curl -s localhost:8000/v1/label {JSON} \'{{{REVIEW}, "model": "sentimnet"}}\'', width=400
    ),
    Step("ready", "curl -s localhost:8000/ready"),
    Step("metrics", "curl -s localhost:8000/metrics | grep ^lexitree_requests_total"),
    Step("client", "python ask.py"),
)
READY_SECONDS = 60.0


def start_service(folder: Path, programs: Path) -> tuple[subprocess.Popen[bytes], str]:
    """The running service, and what it says to a person until it is ready (its log aside)."""
    log = folder / "service.log"
    with log.open("wb") as stream:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("LEXITREE_")}
        environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
        process = subprocess.Popen(START.split(), cwd=folder, env=environment, stdout=stream, stderr=stream)
    deadline = time.monotonic() + READY_SECONDS
    while "Ready" not in (said := log.read_text(encoding="utf-8")):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise SystemExit(f"error: the service did not start\n{said}")
        time.sleep(0.1)
    return process, re.sub(r"^\{.*\n", "", said, flags=re.MULTILINE).strip()


def tour_service() -> int:
    """Start `lexitree serve` on port 8000, ask it what the guide asks, and stop it."""
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = make_environment(folder / "environment")
        for file in ("reviews.txt", "service/ask.py"):
            shutil.copy(EXAMPLES / file, folder)
        process, said = start_service(folder, programs)
        steps = {"start": {"command": START, "output": said}}
        for step in SERVICE_STEPS:
            print(step.command, flush=True)
            status, output = run_step(step, folder, programs)
            if status != step.status:
                failed.append(step.name)
                print(f"{output}\nended with {status}", file=sys.stderr)
            steps[step.name] = {"command": step.command, "output": output}
        process.send_signal(signal.SIGTERM)
        if process.wait(60) != 0:
            failed.append("stop")
    record = {
        **describe_run({}),
        "command": "python scripts/record_tour.py service",
        "data": {},
        "seeds": [],
        "steps": steps,
    }
    write_record("service-tour", record)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tour", nargs="?", choices=["commands", "plugin", "service"], default="commands")
    parser.add_argument("--steps", nargs="+", metavar="STEP", default=[], help="renew only these commands")
    options = parser.parse_args()
    if options.tour == "commands":
        return tour_commands(options.steps)
    return tour_plugin() if options.tour == "plugin" else tour_service()


if __name__ == "__main__":
    sys.exit(main())
