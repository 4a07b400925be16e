"""The table of recipes with their targets, and what was measured with each."""

from __future__ import annotations

import re
from pathlib import Path

from lexitree.models.model_config import DEFAULT_MODEL
from lexitree.tasks.classify.recipe import own_recipes
from lexitree_paper.experiments import SCORES, list_experiments
from lexitree_paper.rows import ROWS, read_recipe
from markdown_text import make_table, show_spread, show_title
from result_records import read_record


def render_recipes() -> str:
    """Every recipe with its target, and what was measured with it."""
    rows: list[list[str]] = []
    own = own_recipes()
    for name in sorted((*own, *ROWS)):
        recipe = read_recipe(name)
        rows.append(
            [
                f"`{name}`",
                str(recipe.model.get("model", DEFAULT_MODEL)),
                recipe.corpus,
                *(_aims_of_file(own[name]) if name in own else _aims_of_row(name)),
                _measured(name),
            ]
        )
    return make_table(
        [
            "recipe",
            "model",
            "corpus",
            "the paper's figures",
            "our own target",
            "measured here: test, mean of seeds",
        ],
        rows,
    )


def _aims_of_file(path: Path) -> tuple[str, str]:
    """The paper's figures and our target, from the head of a recipe."""
    text = path.read_text(encoding="utf-8")
    found = [re.search(rf"^# {name}: (.*)$", text, re.M) for name in ("Paper", "Target")]
    paper, target = (aim[1] if aim else "" for aim in found)
    return paper, target


def _aims_of_row(name: str) -> tuple[str, str]:
    """The paper's figures and our target; where there is a target, the paper's figure is not the aim."""
    if ROWS[name].target:
        return "", ROWS[name].target
    runs = [run for experiment in list_experiments() for run in experiment.runs if run.name == name]
    figures = next(run.paper for run in runs if run.paper)
    return ", ".join(f"{figures[score]} {score}" for score in SCORES if score in figures), ""


EVERYDAY_MODELS = {
    "everyday": ("everyday-text", "sentiment"),
    "everyday-accurate": ("everyday-accurate", "sentiment-accurate"),
    "everyday-teacher": ("everyday-teacher", "teacher"),
}
"""The records of the recipes for everyday text, and the names of their models there."""


def _measured(name: str) -> str:
    if name in EVERYDAY_MODELS:
        return _measured_on_everyday_text(*EVERYDAY_MODELS[name])
    record = read_record(name)
    # A record of the same name may be of something else than a training run.
    if record is None or "runs" not in record:
        return "not measured yet"
    runs = record["runs"].values()
    scores = [score for score in ("test_root", "test_phrase") if all(run[score] is not None for run in runs)]
    shown = "; ".join(
        f"{show_title(score)[5:]} {show_spread([run[score] for run in runs])}" for score in scores
    )
    return f"{shown} ({len(runs)} seeds, {record['recipe']['training']['epochs']} epochs)"


def _measured_on_everyday_text(name: str, model: str) -> str:
    record = read_record(name)
    if record is None:
        return "not measured yet"
    (mean,) = (row for row in record["two_way"] if row["set"] == "mean")
    return f"development, two-way: {100 * mean[f'{model}_accuracy']:.1f}"
