"""Fill the blocks between `<!-- results: NAME -->` and `<!-- /results -->` of README and docs from records.

    python scripts/render_results.py            # fill the blocks
    python scripts/render_results.py --check    # exit 1 if a file is not up to date

NAME is a record of results/, `NAME:TABLE` one of the tables of a record, `tour/STEP`, `plugin/STEP`, `service/STEP`
or `data-parallel/STEP` (a command with its output), `file/NAME` (a file of the tour), `example/FILE`,
`reproduce/EXPERIMENT`, or one of the tables that are counted from the package itself or put together from several
records: limits, models, recipes, embedded-corpora, speed, gpu-training-time, robustness, training-losses, reproduced,
question-choice, transformer-question-choice, reranking-reruns, tuning-effort, scale-assumptions, scale-plan,
scale-limits.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from markdown_text import fence
from package_tables import render_embedded_corpora, render_limits, render_models, render_recipes
from protocol_tables import (
    render_losses,
    render_question_choice,
    render_reproduced,
    render_reruns,
    render_transformer_question_choice,
    render_tuning_effort,
)
from record_tables import (
    NOT_MEASURED,
    render_gpu_training_time,
    render_headline,
    render_record,
    render_robustness,
    render_speed,
)
from result_records import RESULTS, ROOT, read_record
from scale_tables import render_scale_assumptions, render_scale_limits, render_scale_plan

BLOCK = re.compile(r"(<!-- results: (?P<name>\S+) -->\n).*?(<!-- /results -->)", re.DOTALL)


def pages() -> list[Path]:
    """The files that may hold blocks."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def render_page(text: str, images: str = "images") -> str:
    """The text with every block filled anew; `images` is the folder of the pictures as seen from the page."""
    return BLOCK.sub(lambda block: f"{block[1]}{render(block['name'], images)}\n{block[3]}", text)


def images_of(page: Path) -> str:
    """The folder of the pictures as seen from a page."""
    depth = len(page.relative_to(ROOT).parts)
    return "docs/images" if depth == 1 else "../" * (depth - 2) + "images"


def render(name: str, images: str = "images") -> str:
    """The content of one block."""
    kind, slash, rest = name.partition("/")
    if kind == "reproduce":
        return render_experiment(rest, images)
    if slash:
        return _PREFIXED[kind](rest)
    if name in _COUNTED:
        return _COUNTED[name]()
    name, _, table = name.partition(":")
    record = read_record(name)
    return render_record(record, table) if record and (not table or table in record) else NOT_MEASURED


def render_step(name: str, record: str = "tour") -> str:
    """A command of the tour, or of another record of commands, and what it printed."""
    steps = (read_record(record) or {}).get("steps", {})
    if name not in steps:
        return NOT_MEASURED
    output = steps[name]["output"]
    return fence("console", f"$ {steps[name]['command']}" + (f"\n{output}" if output else ""))


def render_file(name: str) -> str:
    """A file that the tour works on."""
    files = (read_record("tour") or {}).get("files", {})
    return fence("toml" if name.endswith(".toml") else "text", files[name].rstrip("\n"))


def render_example(name: str) -> str:
    """A program of examples/, or another file there."""
    text = (ROOT / "examples" / name).read_text(encoding="utf-8")
    return fence("toml" if name.endswith(".toml") else "python", text.rstrip("\n"))


def render_experiment(name: str, images: str) -> str:
    """An experiment of the paper: what is recorded of it, beside the paper's figures."""
    from lexitree_paper.experiments import find_experiment
    from lexitree_paper.kinds import make_report
    from lexitree_paper.report import to_markdown
    from lexitree_paper.score_tables import read_records

    experiment = find_experiment(name)
    return to_markdown(make_report(experiment, read_records(experiment, RESULTS)), images=images)


_PREFIXED: dict[str, Callable[[str], str]] = {
    "tour": render_step,
    "plugin": partial(render_step, record="plugin"),
    "service": partial(render_step, record="service-tour"),
    "data-parallel": partial(render_step, record="data-parallel"),
    "file": render_file,
    "example": render_example,
}

_COUNTED: dict[str, Callable[[], str]] = {
    "headline": render_headline,
    "speed": render_speed,
    "gpu-training-time": render_gpu_training_time,
    "training-losses": render_losses,
    "reproduced": render_reproduced,
    "question-choice": render_question_choice,
    "transformer-question-choice": render_transformer_question_choice,
    "reranking-reruns": render_reruns,
    "tuning-effort": render_tuning_effort,
    "robustness": render_robustness,
    "limits": render_limits,
    "models": render_models,
    "recipes": render_recipes,
    "embedded-corpora": render_embedded_corpora,
    "scale-assumptions": render_scale_assumptions,
    "scale-plan": render_scale_plan,
    "scale-limits": render_scale_limits,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a file is stale")
    check_only = parser.parse_args().check
    stale: list[str] = []
    for path in pages():
        text = path.read_text(encoding="utf-8")
        rendered = render_page(text, images_of(path))
        if rendered != text:
            stale.append(str(path.relative_to(ROOT)))
            if not check_only:
                path.write_text(rendered, encoding="utf-8")
    if check_only and stale:
        print(f"not up to date with {RESULTS.name}/: {', '.join(stale)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
