"""Learning curves of runs, and plots of curves and of accuracies by length (plots need the extra `plots`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexitree.errors import FileError
from lexitree.learning.observers import METRICS_FILE, EpochRecord
from lexitree.learning.run_folder import SEED_FOLDERS, read_metrics
from lexitree.learning.seeds import Spread
from lexitree.suggestions import suggest_path
from lexitree.views.plots import line_look, open_figure
from lexitree_paper.analyze.comparison import LengthBin

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class EpochSpread:
    """One epoch over all seeds that have reached it."""

    epoch: int
    num_seeds: int
    loss: Spread
    dev_root: Spread
    dev_phrase: Spread | None
    """None where only the sentences carry labels."""


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """The history of one recipe, with one seed or several."""

    name: str
    runs: dict[str, tuple[EpochRecord, ...]]
    """The epochs of each seed, by the name of its folder."""

    def epochs(self) -> list[EpochSpread]:
        """Mean and deviation of every epoch that at least one seed has finished."""
        by_epoch: dict[int, list[EpochRecord]] = {}
        for records in self.runs.values():
            for record in records:
                by_epoch.setdefault(record.epoch, []).append(record)
        return [_spread_epoch(epoch, by_epoch[epoch]) for epoch in sorted(by_epoch)]

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "seeds": list(self.runs),
            "epochs": [asdict(epoch) for epoch in self.epochs()],
        }


def read_curve(folder: str | Path, name: str = "") -> LearningCurve:
    """Read the curve of a run, or of several seeds, from its folder.

    Raises:
        FileError: If the folder holds no metrics, or damaged ones.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileError(folder, "there is no such folder", remedy=suggest_path(folder))
    files = [folder / METRICS_FILE] if (folder / METRICS_FILE).is_file() else _seed_files(folder)
    if not files:
        raise FileError(
            folder,
            f"holds neither {METRICS_FILE} nor runs of several seeds",
            remedy="Give the folder that `lexitree train --output` wrote, once its first epoch is done.",
        )
    return LearningCurve(
        name or folder.name, {path.parent.name: read_metrics(path, "dev_root") for path in files}
    )


def _seed_files(folder: Path) -> list[Path]:
    files = folder.glob(f"{SEED_FOLDERS}/{METRICS_FILE}")
    return sorted(files, key=lambda path: (len(path.parent.name), path.parent.name))


def _spread_epoch(epoch: int, records: Sequence[EpochRecord]) -> EpochSpread:
    has_phrases = all(record.scores.get("dev_phrase") is not None for record in records)
    return EpochSpread(
        epoch=epoch,
        num_seeds=len(records),
        loss=Spread.of([record.loss for record in records]),
        dev_root=Spread.of([record.scores["dev_root"] for record in records]),
        dev_phrase=Spread.of([record.scores["dev_phrase"] for record in records]) if has_phrases else None,
    )


_BAR_SHIFT = 0.12


def plot_lengths(bins: Sequence[LengthBin], path: str | Path) -> None:
    """Plot root accuracy by sentence length: one line per system, with sentence counts as grey columns.

    Error bars show one standard deviation over seeds.

    Args:
        bins: Accuracies, from `accuracy_by_length`.
        path: The file to write; its ending is that of a plot (see `require_plots`).

    Raises:
        MissingExtraError: matplotlib is not installed.
        FileError: The ending is not that of a plot.
    """
    places = list(range(len(bins)))
    with open_figure(path, width=max(6.0, 0.7 * len(bins)), height=4.2) as figure:
        axes = figure.subplots()
        counts = axes.twinx()
        counts.bar(places, [part.num_sentences for part in bins], color="#e4e4e4", width=0.8)
        counts.set_ylabel("sentences (columns)")
        # Draw the lines in front of the columns.
        axes.set_zorder(counts.get_zorder() + 1)
        axes.patch.set_visible(False)
        names = list(bins[0].accuracies) if bins else []
        # Side by side, so that error bars do not cover each other.
        shift = _BAR_SHIFT if any(any(part.deviations.values()) for part in bins) else 0.0
        for number, name in enumerate(names):
            shares = [100 * part.accuracies[name] for part in bins]
            sides = [100 * part.deviations.get(name, 0) for part in bins]
            shifted = [place + shift * (number - (len(names) - 1) / 2) for place in places]
            axes.plot(shifted, shares, label=name, **line_look(number))
            if any(sides):
                bars = _bars_within_bounds(shares, sides)
                axes.errorbar(shifted, shares, bars, fmt="none", ecolor=line_look(number)["color"], alpha=0.6)
        axes.set_xticks(places, [part.title for part in bins])
        axes.set_xlabel("words in the sentence")
        axes.set_ylabel("root accuracy (%)")
        # Above the lines, which may be anywhere.
        axes.legend(frameon=False, ncols=max(1, len(names)), loc="lower center", bbox_to_anchor=(0.5, 1))


def _bars_within_bounds(shares: Sequence[float], sides: Sequence[float]) -> tuple[list[float], list[float]]:
    """Clip error bars to between 0 % and 100 %."""
    down = [min(side, share) for share, side in zip(shares, sides, strict=True)]
    up = [min(side, 100 - share) for share, side in zip(shares, sides, strict=True)]
    return down, up


def plot_curves(curves: Sequence[LearningCurve], path: str | Path) -> None:
    """Plot training loss and development accuracy by epoch; bands show one standard deviation over seeds.

    Args:
        curves: Learning curves, from `read_curve`.
        path: The file to write; its ending is that of a plot (see `require_plots`).

    Raises:
        MissingExtraError: matplotlib is not installed.
        FileError: The ending is not that of a plot.
    """
    epochs = {curve.name: curve.epochs() for curve in curves}
    has_phrases = any(epoch.dev_phrase for found in epochs.values() for epoch in found)
    panels = ("loss", "dev_root", "dev_phrase") if has_phrases else ("loss", "dev_root")
    titles = {
        "loss": "training loss per sentence",
        "dev_root": "dev root accuracy (%)",
        "dev_phrase": "dev phrase accuracy (%)",
    }
    with open_figure(path, width=4.2 * len(panels), height=3.8) as figure:
        for axes, panel in zip(figure.subplots(1, len(panels)), panels, strict=True):
            for number, (name, found) in enumerate(epochs.items()):
                _draw_curve(axes, found, panel, name, line_look(number))
            axes.set_title(titles[panel])
            axes.set_xlabel("epoch")
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.legend(frameon=False)


def _draw_curve(
    axes: Axes, epochs: Sequence[EpochSpread], panel: str, name: str, look: dict[str, Any]
) -> None:
    scale = 1 if panel == "loss" else 100
    points: list[tuple[int, Spread]] = [
        (epoch.epoch, spread) for epoch in epochs if (spread := getattr(epoch, panel)) is not None
    ]
    numbers = [number for number, _ in points]
    means = [scale * spread.mean for _, spread in points]
    sides = [scale * spread.deviation for _, spread in points]
    axes.plot(numbers, means, label=name, **look)
    if any(sides):
        low = [mean - side for mean, side in zip(means, sides, strict=True)]
        high = [mean + side for mean, side in zip(means, sides, strict=True)]
        axes.fill_between(numbers, low, high, color=look["color"], alpha=0.18, linewidth=0)
