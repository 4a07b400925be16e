"""Plots of a sweep: scores by trial, scores by epoch, and scores by the value of each parameter (extra `plots`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from lexitree.sweeps.ledger import FinishedTrial, best_trial
from lexitree.sweeps.search_space import Parameter, Range, SearchSpace
from lexitree.views.plots import line_look, open_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 3
_COMPLETE, _BEST, _STOPPED = line_look(0)["color"], line_look(1)["color"], "#9a9a9a"
_LONGEST_NAME = 24
"""So many characters of a choice are shown."""


def plot_sweep(trials: Sequence[FinishedTrial], space: SearchSpace, path: str | Path, *, score: str) -> None:
    """Draw the plots of a sweep, side by side.

    Args:
        trials: The trials, by number.
        space: What was varied.
        path: The file to write, with the ending of a plot.
        score: What the trials are compared by, in words.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    panels: list[tuple[str, Callable[[Axes], None]]] = [
        ("trial", lambda axes: _draw_scores(axes, trials)),
        ("epoch", lambda axes: _draw_curves(axes, trials)),
    ]
    for parameter in space.parameters.values():
        panels.append((parameter.name, lambda axes, each=parameter: _draw_slice(axes, trials, each)))
    num_rows = -(-len(panels) // COLUMNS)
    with open_figure(path, width=4.2 * COLUMNS, height=3.4 * num_rows) as figure:
        places: Any = figure.subplots(num_rows, COLUMNS, squeeze=False)
        for axes, (title, draw) in zip(places.flat, panels, strict=False):
            draw(axes)
            axes.set_xlabel(title)
            axes.set_ylabel(f"{score} accuracy (%)")
        for axes in list(places.flat)[len(panels) :]:
            axes.set_visible(False)


def shown_score(trial: FinishedTrial) -> float | None:
    """The score of a trial in percent, or the best until it was stopped; None if there is none."""
    scores = trial.outcome.scores
    return 100 * fmean(scores) if scores else None


def _draw_scores(axes: Axes, trials: Sequence[FinishedTrial]) -> None:
    best: list[tuple[int, float]] = []
    for trial in trials:
        score, spread = shown_score(trial), trial.outcome.spread
        if score is not None:
            axes.errorbar(
                [trial.number], [score], [100 * spread.deviation if spread else 0.0], **_mark(trial, trials)
            )
        if spread and (not best or 100 * spread.mean > best[-1][1]):
            best.append((trial.number, 100 * spread.mean))
    if best:
        best.append((trials[-1].number, best[-1][1]))
        axes.step(*zip(*best, strict=True), where="post", color=_BEST, linewidth=1, zorder=0)
    for trial in trials:
        if trial.outcome.state == "failed":
            axes.axvline(trial.number, color="#000000", linewidth=1, linestyle=":")
    axes.locator_params(axis="x", integer=True)


def _draw_curves(axes: Axes, trials: Sequence[FinishedTrial]) -> None:
    # The best one lies on top.
    for trial in sorted(trials, key=lambda each: _color(each, trials) == _BEST):
        curves = list(trial.outcome.curves.values())
        means = [
            100 * fmean(curve[epoch] for curve in curves if len(curve) > epoch)
            for epoch in range(max(map(len, curves), default=0))
        ]
        color = _color(trial, trials)
        axes.plot(range(1, len(means) + 1), means, color=color, linewidth=2.2 if color == _BEST else 1.0)
    axes.locator_params(axis="x", integer=True)


def _draw_slice(axes: Axes, trials: Sequence[FinishedTrial], parameter: Parameter) -> None:
    values = parameter.values
    for trial in trials:
        score, value = shown_score(trial), trial.parameters[parameter.name]
        if score is not None:
            place = value if isinstance(values, Range) else values.index(value)
            axes.errorbar([place], [score], [0.0], **_mark(trial, trials))
    if isinstance(values, Range):
        axes.set_xscale("log" if values.log else "linear")
        return
    names = [str(value) for value in values]
    shown = [name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…" for name in names]
    is_long = sum(map(len, shown)) > 2 * _LONGEST_NAME
    axes.set_xticks(range(len(values)), shown, rotation=90 if is_long else 0)


def _mark(trial: FinishedTrial, trials: Sequence[FinishedTrial]) -> dict[str, Any]:
    return {
        "fmt": "o" if trial.outcome.spread else "x",
        "color": _color(trial, trials),
        "markersize": 5,
        "elinewidth": 1,
    }


def _color(trial: FinishedTrial, trials: Sequence[FinishedTrial]) -> str:
    if not trial.outcome.spread:
        return _STOPPED
    return _BEST if trial.number == best_trial(trials).number else _COMPLETE
