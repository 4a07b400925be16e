"""What an analysis found in, tables on the screen out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lexitree.analysis.comparison import Comparison, LengthBin, PairComparison
    from lexitree.analysis.curves import LearningCurve
    from lexitree.analysis.head_overlap import HeadOverlap
    from lexitree.analysis.mistakes import Slice
    from lexitree.learning.seeds import Spread


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table whose first column is text and whose others are numbers."""
    from rich.table import Table

    from lexitree.cli.console import output

    table = Table(title=title)
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    for row in rows:
        table.add_row(*row)
    output.print(table)


def show_scores(comparison: Comparison) -> None:
    from lexitree.cli.console import percent

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
            between = f"{100 * result.low:+.1f} and {100 * result.high:+.1f}"
            rows.append([*row, f"{100 * result.difference:+.1f}", between, result.shown_p()])
    show_table("root accuracy", columns, rows)


def show_slices(title: str, slices: Sequence[Slice]) -> None:
    columns = ["sentences", "count", *slices[0].accuracies]
    rows = [[part.title, str(part.num_sentences), *_shares(part)] for part in slices]
    show_table(f"root accuracy {title}", columns, rows)


def show_lengths(bins: Sequence[LengthBin]) -> None:
    rows = [[part.title, str(part.num_sentences), *_shares(part)] for part in bins]
    show_table("root accuracy by length", ["words", "count", *bins[0].accuracies], rows)


def _shares(part: Slice | LengthBin) -> list[str]:
    """The accuracies, with their deviations where there are several seeds that differ."""
    from lexitree.cli.console import percent

    return [
        percent(share) + (f" ± {percent(deviation)}" if (deviation := part.deviations.get(name)) else "")
        for name, share in part.accuracies.items()
    ]


def show_pair(pair: PairComparison) -> None:
    from lexitree.cli.console import output

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
    from lexitree.cli.console import output, percent

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
    show_table(f"{title} that are Collins' heads (%)", columns, rows)


def show_curves(curves: Sequence[LearningCurve]) -> None:
    for curve in curves:
        rows = [
            [
                str(epoch.epoch),
                str(epoch.num_seeds),
                _spread(epoch.loss, 1, epoch.num_seeds),
                _spread(epoch.dev_root, 100, epoch.num_seeds),
                _spread(epoch.dev_phrase, 100, epoch.num_seeds),
            ]
            for epoch in curve.epochs()
        ]
        show_table(curve.name, ("epoch", "seeds", "loss", "dev root", "dev phrase"), rows)


def _spread(spread: Spread | None, scale: int, num_seeds: int) -> str:
    """The mean, and the deviation where there is more than one seed."""
    if spread is None:
        return "–"
    digits = 1 if scale == 100 else 2
    deviation = f" ± {scale * spread.deviation:.{digits}f}" if num_seeds > 1 else ""
    return f"{scale * spread.mean:.{digits}f}{deviation}"
