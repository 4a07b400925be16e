"""Fill the blocks of the paper's pages, and those of README and docs that show the paper's tables, from records.

    python paper/scripts/render_pages.py            # fill the blocks
    python paper/scripts/render_pages.py --check    # exit 1 if a file is not up to date

Besides the blocks that scripts/render_results.py fills, `reproduce/EXPERIMENT` is the report of an experiment, and
`TABLES` lists the tables that are put together from several records. In README and docs, the names of such blocks
begin with `paper/`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.append(str(SCRIPTS))

from headline_table import render_headline  # noqa: E402
from lexitree_paper.experiments import find_experiment  # noqa: E402
from lexitree_paper.kinds import make_report  # noqa: E402
from lexitree_paper.report import to_markdown  # noqa: E402
from lexitree_paper.score_tables import read_records  # noqa: E402
from protocol_tables import (  # noqa: E402
    render_gpu_training_time,
    render_losses,
    render_question_choice,
    render_reproduced,
    render_reruns,
    render_transformer_question_choice,
    render_tuning_effort,
)
from recipe_table import render_recipes  # noqa: E402
from render_results import PAPER, pages, render_block, run  # noqa: E402
from result_records import PAPER_RESULTS, ROOT  # noqa: E402

EXPERIMENT = "reproduce/"

TABLES: dict[str, Callable[[], str]] = {
    "gpu-training-time": render_gpu_training_time,
    "headline": render_headline,
    "question-choice": render_question_choice,
    "recipes": render_recipes,
    "reproduced": render_reproduced,
    "reranking-reruns": render_reruns,
    "training-losses": render_losses,
    "transformer-question-choice": render_transformer_question_choice,
    "tuning-effort": render_tuning_effort,
}


def paper_pages() -> list[Path]:
    """The pages of the paper."""
    return [ROOT / "paper" / "README.md", *sorted((ROOT / "paper" / "docs").glob("*.md"))]


def render_of_paper(name: str) -> str | None:
    """The content of a block of the paper's pages."""
    if name.startswith(EXPERIMENT):
        return render_experiment(name.removeprefix(EXPERIMENT))
    return TABLES[name]() if name in TABLES else render_block(name)


def render_elsewhere(name: str) -> str | None:
    """The content of a block of README and docs, if it is about the paper."""
    return render_of_paper(name.removeprefix(PAPER)) if name.startswith(PAPER) else None


def render_experiment(name: str) -> str:
    """An experiment of the paper: what is recorded of it, beside the paper's figures."""
    experiment = find_experiment(name)
    return to_markdown(make_report(experiment, read_records(experiment, PAPER_RESULTS)))


def main() -> int:
    ours = [(path, render_of_paper) for path in paper_pages()]
    return run([*ours, *((path, render_elsewhere) for path in pages())], about=__doc__)


if __name__ == "__main__":
    sys.exit(main())
