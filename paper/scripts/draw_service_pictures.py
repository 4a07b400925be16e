"""Draw how the service bears load, from results/serve-load.json.

python paper/scripts/draw_service_pictures.py
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import root_path  # noqa: F401
from draw_speed_pictures import IMAGES, plt, save_picture
from result_records import ROOT, read_record

BLUE, ORANGE, GREEN = "#4c78a8", "#f58518", "#54a24b"
PROMISED_MS = 250


def main() -> None:
    record = read_record("serve-load")
    for name, draw in {"service-latency": draw_latency, "service-overload": draw_overload}.items():
        path = draw(record, IMAGES / f"{name}.svg") if record else None
        print(path.relative_to(ROOT) if path else f"{name}: nothing is measured yet")


def draw_latency(record: Mapping[str, Any], path: Path) -> Path:
    """Percentiles of the latency against the rate of requests."""
    rows = sorted(record["latency"], key=lambda row: row["requests_per_second"])
    figure, axes = plt.subplots(figsize=(7, 3.8))
    rates = [row["requests_per_second"] for row in rows]
    for percent, colour, marker in ((50, BLUE, "o"), (95, GREEN, "s"), (99, ORANGE, "^")):
        values = [row[f"p{percent}_ms"] for row in rows]
        axes.plot(rates, values, f"{marker}-", color=colour, ms=5, label=f"p{percent}")
    axes.axhline(PROMISED_MS, color="#333333", lw=1, ls=":", label=f"{PROMISED_MS} ms")
    axes.set(yscale="log", xlabel="requests per second, one text each", ylabel="milliseconds")
    labels = [f"{row['requests_per_second']:,.0f}\n{row['capacity_share']:.0%}" for row in rows]
    axes.set_xticks(rates, labels)
    axes.set_title("Latency at a fixed rate of requests; percent of the capacity", fontsize=11)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    return save_picture(figure, path)


def draw_overload(record: Mapping[str, Any], path: Path) -> Path:
    """What is accepted and shed, how long accepted requests take, and memory, over time."""
    rows = record["overload_series"]
    seconds = [row["second"] for row in rows]
    figure, (rates, latency, memory) = plt.subplots(3, 1, figsize=(8, 6.4), sharex=True)
    rates.plot(seconds, [row["accepted_per_second"] for row in rows], color=BLUE, label="accepted (200)")
    rates.plot(seconds, [row["shed_per_second"] for row in rows], color=ORANGE, ls="--", label="shed (429)")
    rates.set_ylabel("requests a second")
    rates.legend(fontsize=8)
    latency.plot(seconds, [row["p99_ms"] for row in rows], color=BLUE)
    latency.set_ylabel("p99 of accepted (ms)")
    memory.plot(seconds, [row["memory_mib"] for row in rows], color=GREEN)
    memory.set(ylabel="memory (MiB)", xlabel="seconds")
    for axes in (rates, latency, memory):
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    rate = record["overload"][0]["requests_per_second"]
    times = rate / record["capacity"][2]["texts_per_second"]
    figure.suptitle(f"{times:g} times the capacity: {rate:,.0f} requests a second", fontsize=11)
    return save_picture(figure, path)


if __name__ == "__main__":
    main()
