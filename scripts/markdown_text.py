"""Format values and rows as Markdown."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

DEVIATION = "_deviation"
SHARE = re.compile(
    r"(^|_)(root|phrase|accuracy|agreement|share)$|_recall$|^(seeds_and_sentences|(seeds|sentences)_only|bootstrap_of_both)$"
)
"""Names of values that are shares of 1 and are shown as percentages."""


def make_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; columns of numbers stand to the right."""
    numeric = [
        all(re.fullmatch(r"[-–\d.,± e]*|mean", row[place]) for row in rows) for place in range(len(columns))
    ]
    lines = [columns, ["---:" if is_number else "---" for is_number in numeric], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def fence(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def show_title(name: str) -> str:
    return re.sub(r" ms$", " (ms)", name.replace("_", " "))


def show_cell(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if value is None:
        return "–"
    if isinstance(value, float):
        show = show_percent if SHARE.search(name) else show_number
        deviation = row.get(name + DEVIATION)
        return show(value) if deviation is None else f"{show(value)} ± {show(deviation)}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def show_number(value: float) -> str:
    """About three digits: more would be noise."""
    if 0 < abs(value) < 1e-2:
        return f"{value:.1e}"
    decimals = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:,.{decimals}f}"


def show_percent(share: float) -> str:
    return f"{100 * share:.1f}"


def show_spread(shares: Sequence[float]) -> str:
    mean = show_percent(statistics.fmean(shares))
    return f"{mean} ± {show_percent(statistics.stdev(shares))}" if len(shares) > 1 else mean
