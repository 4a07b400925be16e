"""The report of a sweep: a page with its plots and all trials, and the best recipe as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from lexitree.files import to_json, to_toml
from lexitree.labels import LabelSet
from lexitree.settings import plain_value
from lexitree.sweeps.ledger import FinishedTrial, Sweep, best_trial
from lexitree.sweeps.sweep_plots import plot_sweep
from lexitree.tasks.classify.recipe import Recipe
from lexitree.version import __version__
from lexitree.views.colors import label_looks
from lexitree.views.plots import require_plots
from lexitree.views.shell import page_styles, whole_page
from lexitree.views.visible import html_text
from lexitree.writing import atomic_write

REPORT_FILE = "report.html"
PLOTS_FILE = "plots.svg"
BEST_FILE = "best.toml"
TRIALS_FILE = "trials.json"
STYLES = "drivers.css"


def require_report() -> None:
    """Fail before a long sweep if the report could not be drawn.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    require_plots(PLOTS_FILE)


def write_report(sweep: Sweep) -> None:
    """Write the report of all finished trials into the folder of a sweep, and the best recipe if there is one."""
    trials = sweep.finished()
    plots = sweep.folder / PLOTS_FILE
    plot_sweep(trials, sweep.space, plots, score=sweep.score)
    _write(sweep.folder / TRIALS_FILE, to_json([_trial_record(each) for each in trials], indent=1) + "\n")
    _write(sweep.folder / REPORT_FILE, _page(sweep, trials, plots.read_text(encoding="utf-8")))
    if any(each.outcome.spread for each in trials):
        _write(sweep.folder / BEST_FILE, best_recipe_text(sweep.recipe, trials, sweep.folder))


def rank_trials(trials: Sequence[FinishedTrial]) -> list[FinishedTrial]:
    """Complete trials by score, then those that were stopped, the latest first, then those that failed."""

    def key(trial: FinishedTrial) -> tuple[int, float]:
        outcome = trial.outcome
        if outcome.spread:
            return 0, -outcome.spread.mean
        return (1, -max(outcome.steps)) if outcome.state == "pruned" else (2, 0.0)

    return sorted(trials, key=key)


def best_recipe_text(recipe: Recipe, trials: Sequence[FinishedTrial], folder: Path) -> str:
    """The recipe of the best trial as TOML for `lexitree train --recipe`: what differs from the defaults."""
    best = best_trial(trials)
    seeds = f"seeds {', '.join(map(str, best.outcome.curves))}"
    return (
        f"# The best of {len(trials)} trials of a sweep (lexitree {__version__}): trial {best.number}, development\n"
        f"# accuracy {_score_text(best)} ({seeds}).\n"
        f"# Run: lexitree train --recipe {folder / BEST_FILE} -o runs/best\n\n"
        f"{to_toml(changed_settings(recipe.with_values(best.settings)))}"
    )


def changed_settings(recipe: Recipe) -> dict[str, Any]:
    """The settings of a recipe that differ from the defaults, with those of tables inside."""
    changed: dict[str, Any] = {}
    for name, declared in recipe.declared().items():
        value, default = plain_value(getattr(recipe, name)), plain_value(declared.default)
        if isinstance(value, Mapping):
            inner = cast(Mapping[str, Any], value)
            value = {key: each for key, each in inner.items() if key not in default or default[key] != each}
            default = {}
        if value != default:
            changed[name] = value
    return changed


def _trial_record(trial: FinishedTrial) -> dict[str, Any]:
    spread = trial.outcome.spread
    return {
        "trial": trial.number,
        "parameters": trial.parameters,
        "settings": trial.settings,
        "score": spread.mean if spread else None,
        "deviation": spread.deviation if spread else None,
        **trial.outcome.as_dict(),
    }


def _page(sweep: Sweep, trials: Sequence[FinishedTrial], plots: str) -> str:
    title = f"Sweep of {sweep.recipe.corpus}"
    names = list(sweep.space.parameters)
    heads = "".join(
        f"<th>{html_text(name)}</th>" for name in ("trial", sweep.score, *names, "epochs", "s", "")
    )
    rows = "".join(_row(trial, names) for trial in rank_trials(trials))
    table = f'<table class="lt-drivers"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    # The page has its own beginning.
    picture = plots[plots.index("<svg") :]
    body = (
        f"<header><h1>{html_text(title)}</h1><p>{_about(sweep, trials)}</p></header>"
        f'<section class="lt-figure"><h2>Scores</h2>{picture}<p class="lt-note">{_HOW_TO_READ}</p></section>'
        f"<section><h2>Trials</h2>{table}</section>"
    )
    return whole_page(title, page_styles(label_looks(LabelSet(())), STYLES) + _MORE_STYLES, body)


_MORE_STYLES = (
    ".lt-root .lt-figure svg{max-width:100%;height:auto;background:#fff}"
    ".lt-root .lt-drivers thead th:first-child{width:auto}"
)
_HOW_TO_READ = (
    "Every point is a trial, its bar the standard deviation over seeds. Orange: the best; grey crosses and lines:"
    " stopped early, with the best score until then; dotted lines: failed. All scores are of development data, which"
    " chose among the trials: the score of the best one is too high by chance, and only a test split tells by how"
    " much."
)


def _about(sweep: Sweep, trials: Sequence[FinishedTrial]) -> str:
    counts = {
        word: sum(trial.outcome.state == state for trial in trials)
        for state, word in (("complete", "complete"), ("pruned", "stopped early"), ("failed", "failed"))
    }
    listed = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    seeds = ", ".join(map(str, sweep.space.settings.seeds))
    best = f" The best is trial {best_trial(trials).number}." if counts["complete"] else ""
    return html_text(f"{len(trials)} of {sweep.num_trials} trials: {listed}. Seeds of each: {seeds}.{best}")


def _row(trial: FinishedTrial, names: Sequence[str]) -> str:
    outcome = trial.outcome
    epochs = " + ".join(str(len(curve)) for curve in outcome.curves.values())
    ends = {"complete": "", "pruned": "stopped early", "failed": f"failed: {outcome.error}"}
    values = [_shown(trial.parameters[name]) for name in names]
    cells = [_score_text(trial), *values, epochs, f"{outcome.seconds:.0f}", ends[outcome.state]]
    return f"<tr><th scope='row'>{trial.number}</th>{''.join(f'<td>{html_text(cell)}</td>' for cell in cells)}</tr>"


def _score_text(trial: FinishedTrial) -> str:
    """`84.21 ± 0.52`; one seed has no deviation."""
    spread = trial.outcome.spread
    if spread is None:
        return "–"
    deviation = f" ± {100 * spread.deviation:.2f}" if len(trial.outcome.curves) > 1 else ""
    return f"{100 * spread.mean:.2f}{deviation}"


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as stream:
        stream.write(text)
