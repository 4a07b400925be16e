"""Prints the tables of `lexitree analyze` and `lexitree rerank heads`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lexitree.cli.console import output, percent, show_table

if TYPE_CHECKING:
    from lexitree.evaluation.significance import BootstrapResult, RecipeDifference
    from lexitree.learning.seeds import Spread
    from lexitree_paper.analyze.comparison import Comparison, LengthBin, PairComparison
    from lexitree_paper.analyze.curves import LearningCurve
    from lexitree_paper.analyze.head_overlap import HeadOverlap
    from lexitree_paper.analyze.mistakes import Slice


def show_scores(comparison: Comparison) -> None:
    columns = ("system", "seeds", "root accuracy", "difference", "95 % between", "p")
    rows: list[list[str]] = []
    pairs = {pair.system: pair.significance for pair in comparison.pairs}
    for system in comparison.systems:
        spread = f" ± {percent(system.deviation)}" if len(system.seed_accuracies) > 1 else ""
        row = [system.name, str(len(system.seed_accuracies)), percent(system.accuracy) + spread]
        result = pairs.get(system.name)
        if result is None:
            rows.append([*row, "baseline", "", ""])
        else:
            rows.append([*row, *_difference_cells(result)])
    show_table(columns, rows, title="root accuracy")
    recipes = [
        [f"{pair.system} – {pair.baseline}", *_difference_cells(pair.recipes)]
        for pair in comparison.pairs
        if pair.recipes is not None
    ]
    if recipes:
        show_table(("recipes", *columns[3:]), recipes, title="root accuracy, over seeds and sentences")


def _difference_cells(result: BootstrapResult | RecipeDifference) -> list[str]:
    between = f"{100 * result.low:+.1f} and {100 * result.high:+.1f}"
    return [f"{100 * result.difference:+.1f}", between, result.shown_p()]


def show_slices(
    title: str, slices: Sequence[Slice | LengthBin], *, what: str = "sentences", score: str = "root accuracy"
) -> None:
    rows = [[part.title, str(part.num_sentences), *_shares(part)] for part in slices]
    show_table([what, "count", *slices[0].accuracies], rows, title=f"{score} {title}".strip())


def show_lengths(bins: Sequence[LengthBin]) -> None:
    show_slices("by length", bins, what="words")


def _shares(part: Slice | LengthBin) -> list[str]:
    """The accuracies, with their deviations where there are several seeds that differ."""
    return [
        percent(share) + (f" ± {percent(deviation)}" if (deviation := part.deviations.get(name)) else "")
        for name, share in part.accuracies.items()
    ]


def show_pair(pair: PairComparison) -> None:
    found = pair.agreement
    output.out(
        f"\n{pair.system} and {pair.baseline}: both right {found.both:g}, only {pair.system} "
        f"{found.only_first:g}, only {pair.baseline} {found.only_second:g}, neither {found.neither:g}"
    )
    for winner, loser, examples in (
        (pair.system, pair.baseline, pair.won),
        (pair.baseline, pair.system, pair.lost),
    ):
        if examples:
            output.out(f"\n{winner} is right and {loser} wrong, surest first:")
        for example in examples:
            output.out(example.text())


def show_overlap(overlap: HeadOverlap, num_left_out: int, *, title: str = "heads") -> None:
    left_out = f"; {num_left_out:,} left out, whose brackets differ" if num_left_out else ""
    output.print(f"{overlap.num_trees:,} trees{left_out}")
    rows = [
        [
            row.phrases,
            f"{row.num_phrases:,}",
            *map(percent, (row.learned, row.always_left, row.always_right, row.random_child)),
        ]
        for row in overlap.rows()
    ]
    columns = ("phrases", "count", "learned", "always left", "always right", "random child")
    show_table(columns, rows, title=f"{title} that are Collins' heads (%)")


def show_curves(curves: Sequence[LearningCurve]) -> None:
    for curve in curves:
        rows: list[list[str]] = []
        for epoch in curve.epochs():
            spreads = ((epoch.loss, 1), (epoch.dev_root, 100), (epoch.dev_phrase, 100))
            cells = [_spread(spread, scale, epoch.num_seeds) for spread, scale in spreads]
            rows.append([str(epoch.epoch), str(epoch.num_seeds), *cells])
        show_table(("epoch", "seeds", "loss", "dev root", "dev phrase"), rows, title=curve.name)


def _spread(spread: Spread | None, scale: int, num_seeds: int) -> str:
    """The mean, and the deviation where there is more than one seed."""
    if spread is None:
        return "–"
    digits = 1 if scale == 100 else 2
    deviation = f" ± {scale * spread.deviation:.{digits}f}" if num_seeds > 1 else ""
    return f"{scale * spread.mean:.{digits}f}{deviation}"
