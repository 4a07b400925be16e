"""Run every command of the README and the guide and record its output in results/tour.json.

    python scripts/record_tour.py [STEP ...]

All steps run one after the other in an empty folder, so later ones find what earlier ones made. With names, only
the output of these steps is renewed (all up to the last of them run).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
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


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("steps", nargs="*", metavar="STEP")
    wanted = set(parser.parse_args().steps) or {step.name for step in STEPS}
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


if __name__ == "__main__":
    sys.exit(main())
