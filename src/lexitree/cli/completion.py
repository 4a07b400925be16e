"""Names that the shell completes: models, corpora and downloads. Nothing here imports torch: it answers at once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

RUNS = Path("runs")
"""Where the examples of the documentation put their runs."""


def complete_models(incomplete: str) -> list[tuple[str, str]]:
    """The models of the package, and those of the runs in `runs/`."""
    from lexitree.saving.shipped import shipped_names

    trained = sorted(RUNS.glob("*/model/config.json"))
    names = [(name, "comes with lexitree") for name in shipped_names()]
    return _beginning(incomplete, [*names, *((path.parent.as_posix(), "trained here") for path in trained)])


def complete_corpora(incomplete: str) -> list[tuple[str, str]]:
    """The named corpora."""
    from lexitree.corpora.named import CORPORA

    return _beginning(incomplete, ((entry.name, entry.what) for _, entry in CORPORA.working()))


def complete_downloads(incomplete: str) -> list[tuple[str, str]]:
    """What `lexitree data fetch` knows."""
    from lexitree.corpora.locations import PACKAGES

    return _beginning(incomplete, ((package.name, package.what) for package in PACKAGES.values()))


def _beginning(incomplete: str, names: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, about) for name, about in names if name.startswith(incomplete)]
