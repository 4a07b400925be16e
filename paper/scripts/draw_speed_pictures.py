"""Draw pictures from records: roofline, timeline of a GPU step, growth of the cost, work by length, learning curves.

python paper/scripts/draw_speed_pictures.py
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
# The same record gives the same file: no date, no random names.
matplotlib.rcParams["svg.hashsalt"] = "lexitree"

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter  # noqa: E402

import root_path  # noqa: E402, F401
from result_records import ROOT, read_record  # noqa: E402
from scale_tables import Plan, limit_rows  # noqa: E402

IMAGES = ROOT / "docs" / "images"
COLOURS = {
    "head words": "#4c78a8",
    "bottom-up and top-down": "#f58518",
    "matrix products": "#54a24b",
    "update": "#b279a2",
    "the rest": "#9d9d9d",
}


def main() -> None:
    pictures = {
        "roofline": draw_roofline,
        "gpu-step": draw_step,
        "scaling": draw_scaling,
        "work-by-length": draw_work_by_length,
        "learning-curve": draw_learning_curve,
        "scale-plan": draw_scale_plan,
        "text-stages": draw_text_stages,
    }
    for name, draw in pictures.items():
        path = draw(IMAGES / f"{name}.svg")
        print(path.relative_to(ROOT) if path else f"{name}: nothing is measured yet")


def draw_roofline(path: Path) -> Path | None:
    """Both devices in one picture: dots are levels of 1 to 1,024 nodes, lines what the device could do at best."""
    records = {name: read_record(f"roofline-{name}") for name in ("cpu", "gpu")}
    if not any(records.values()):
        return None
    figure, axes = plt.subplots(figsize=(7, 4.2))
    for (name, record), colour in zip(records.items(), ("#4c78a8", "#f58518"), strict=True):
        if record:
            _draw_device(axes, record, name.upper(), colour)
    axes.set(xscale="log", yscale="log", xlabel="FLOP per byte moved", ylabel="GFLOP/s")
    axes.set_title("The gate product of one level of 1 to 1,024 nodes, hidden 150, float32", fontsize=11)
    axes.legend(fontsize=7, loc="lower right")
    axes.grid(alpha=0.3)
    _plain_numbers(axes, [0.5, 1, 2, 5, 10, 20, 50, 100])
    return save_picture(figure, path)


def _draw_device(axes: Axes, record: Mapping[str, Any], name: str, colour: str) -> None:
    ceilings, rows = record["ceilings"], record["rows"]
    peak = ceilings["gflops"]
    line = [0.3, *(10 ** (k / 10) for k in range(-5, 25))]
    for kind, style in (("cache", "-"), ("memory", ":")):
        bandwidth = ceilings.get(f"{kind}_gbytes", 0.0)
        if bandwidth < ceilings["memory_gbytes"]:
            # What fits a GPU's cache is read in less than the time of a launch, so its rate cannot be told.
            continue
        label = f"{name} at best, weights in {kind}: {peak:,.0f} GFLOP/s, {bandwidth:,.0f} GB/s"
        axes.plot(
            line,
            [min(peak, bandwidth * x) for x in line],
            style,
            color=colour,
            alpha=0.6,
            lw=1.2,
            label=label,
        )
    intensity = [row["flops_per_byte"] for row in rows]
    axes.plot(intensity, [row["gflops"] for row in rows], "o", ms=4, color=colour, label=f"{name}, a level")
    for row in rows:
        if row["width"] in (1, 16, 128, 1024):
            axes.annotate(
                f"{row['width']:,}",
                (row["flops_per_byte"], row["gflops"]),
                fontsize=7,
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
            )


def draw_step(path: Path) -> Path | None:
    """The kernels of one training step in time, a lane for each stream."""
    record = read_record("gpu-profile")
    if not record:
        return None
    kernels = record["kernels"]
    streams = sorted({kernel["stream"] for kernel in kernels})
    figure, axes = plt.subplots(figsize=(9, 0.6 * len(streams) + 1.9))
    bars: dict[tuple[int, str], list[tuple[float, float]]] = defaultdict(list)
    for kernel in kernels:
        bars[streams.index(kernel["stream"]), kind_of(kernel["name"])].append(
            (kernel["start_us"], kernel["us"])
        )
    for (lane, kind), spans in bars.items():
        axes.broken_barh(spans, (lane - 0.35, 0.7), facecolors=COLOURS[kind], edgecolor="white", lw=0.2)
    axes.set(yticks=range(len(streams)), yticklabels=[f"stream {k + 1}" for k in range(len(streams))])
    axes.set_xlabel("microseconds")
    end = max(kernel["start_us"] + kernel["us"] for kernel in kernels)
    axes.set_title(
        f"One training step of {record['model']}, batch {record['batch_size']}, {record['precision']}: "
        f"{len(kernels)} kernels, {end / 1000:.2f} ms",
        fontsize=11,
    )
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in COLOURS.values()]
    axes.legend(
        handles,
        list(COLOURS),
        fontsize=8,
        ncols=len(COLOURS),
        loc="upper center",
        bbox_to_anchor=(0.5, -0.35),
    )
    return save_picture(figure, path)


def kind_of(kernel: str) -> str:
    if kernel.startswith("_heads"):
        return "head words"
    if kernel.startswith(("bottom_up_", "top_down_")):
        return "bottom-up and top-down"
    if re.search("gemm|cutlass|splitK", kernel):
        return "matrix products"
    return "update" if re.search("update_rows|multi_tensor|radixSort", kernel) else "the rest"


def draw_scaling(path: Path) -> Path | None:
    """Time a node against words, state size and batch size, balanced trees and chains."""
    record = read_record("scaling")
    if not record:
        return None
    sweeps = {"words": "words of one tree", "hidden": "state size", "batch_size": "trees a batch"}
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True)
    for axes, (sweep, title) in zip(panels, sweeps.items(), strict=True):
        names = {"batch_size": "batch"}
        for shape, colour in (("balanced", "#4c78a8"), ("chain", "#f58518")):
            rows = [
                row
                for row in record["rows"]
                if row["sweep"] in (sweep, names.get(sweep)) and row["shape"] == shape
            ]
            axes.plot(
                [row[sweep] for row in rows],
                [row["us_per_node"] for row in rows],
                "o-",
                color=colour,
                label=shape,
                ms=4,
            )
        axes.set(xscale="log", yscale="log", xlabel=title)
        axes.grid(alpha=0.3)
        _plain_numbers(
            axes, sorted({row[sweep] for row in record["rows"] if row["sweep"] in (sweep, names.get(sweep))})
        )
    panels[0].set_ylabel("microseconds a node")
    panels[0].legend(fontsize=8)
    figure.suptitle(f"A training step of {record['model']}, one CPU thread", fontsize=11)
    return save_picture(figure, path)


def draw_work_by_length(path: Path) -> Path | None:
    """Time and peak memory of one text by its words, with the limits on words."""
    record = read_record("work-by-length")
    if not record:
        return None
    figure, panels = plt.subplots(1, 2, figsize=(10, 3.6))
    kinds = list(dict.fromkeys(row["text"] for row in record["lengths"]))
    for kind, colour in zip(kinds, COLOURS.values(), strict=False):
        rows = [row for row in record["lengths"] if row["text"] == kind]
        sizes = [row["size"] for row in rows]
        seconds = [row["labelling_seconds"] + row["JSON_seconds"] for row in rows]
        panels[0].plot(sizes, seconds, "o-", color=colour, ms=4, label=kind)
        panels[1].plot(sizes, [row["peak_MB"] for row in rows], "o-", color=colour, ms=4, label=kind)
    for axes, title in zip(panels, ("seconds, labelling and JSON", "peak memory (MB)"), strict=True):
        axes.set(xscale="log", yscale="log", xlabel="words of one text", ylabel=title)
        axes.grid(alpha=0.3)
        _plain_numbers(axes, sorted({row["size"] for row in record["lengths"]}))
        for name, style in (("service", ":"), ("library", "--")):
            words = record["limits"][name]["words"]
            axes.axvline(words, color="#333333", lw=1, ls=style, label=f"limit, {name}: {words:,} words")
    panels[0].legend(fontsize=7)
    return save_picture(figure, path)


def draw_learning_curve(path: Path) -> Path | None:
    """Accuracy by the number of training texts, a panel for each domain."""
    domains = ("sentfin", "finegrained")
    records = {domain: record for domain in domains if (record := read_record(f"learning-curve-{domain}"))}
    if not records:
        return None
    figure, panels = plt.subplots(1, len(records), figsize=(5 * len(records), 3.6), squeeze=False)
    for axes, (domain, record) in zip(panels[0], records.items(), strict=True):
        rows = record["rows"]
        sizes = [row["texts"] for row in rows]
        systems = [name for name in rows[0] if name.endswith("_accuracy")]
        for name, colour in zip(systems, COLOURS.values(), strict=False):
            means = [100 * row[name] for row in rows]
            spread = [100 * row[f"{name}_deviation"] for row in rows]
            label = name.removesuffix("_accuracy").replace("_", " ")
            axes.errorbar(sizes, means, spread, fmt="o-", color=colour, ms=4, capsize=3, label=label)
        axes.set(xscale="log", xlabel="training texts", title=domain)
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(alpha=0.3)
    panels[0][0].set_ylabel("accuracy (%)")
    panels[0][0].legend(fontsize=8)
    return save_picture(figure, path)


def _plain_numbers(axes: Axes, ticks: Sequence[float]) -> None:
    """Numbers as people write them, at the places that were measured."""
    axes.set_xticks(ticks, [f"{tick:,g}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def draw_scale_plan(path: Path) -> Path | None:
    """How long each kind of work takes by the number of nodes, as if there were nothing else."""
    costs = read_record("scale-costs")
    if not costs:
        return None
    nodes = [10 ** (k / 4) for k in range(17)]
    plans = [Plan(nodes=round(number)) for number in nodes]
    lines: dict[str, list[float]] = defaultdict(list)
    for plan in plans:
        for row in limit_rows(plan, costs):
            lines[row["work"]].append(row["seconds"])
    figure, axes = plt.subplots(figsize=(7, 4.2))
    # Lines that lie on each other are both seen if their styles differ.
    for (name, seconds), style in zip(lines.items(), cycle(("-", "--", ":")), strict=False):
        axes.plot([plan.nodes for plan in plans], seconds, label=name, linewidth=1.5, linestyle=style)
    axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel="seconds")
    axes.set_title(f"{Plan.sentences:,} sentences with phrases, {Plan.cores} cores per node", fontsize=11)
    axes.legend(fontsize=7)
    axes.grid(alpha=0.3)
    return save_picture(figure, path)


def draw_text_stages(path: Path) -> Path | None:
    """A bar for each version on a CPU, and one for the GPU if it is measured, divided into stages."""
    cpu, gpu = read_record("text-in-turns"), read_record("text-on-gpu-one-thread")
    if not cpu or "stages" not in cpu:
        return None
    bars = {f"one core, {row['version']}": row for row in cpu["stages"]}
    if gpu and "stages" in gpu:
        bars["GPU, host's time"] = gpu["stages"]["us"]
    stages = [name for name in cpu["stages"][0] if name not in ("version", "sentences")]
    colours = ("#9d9d9d", "#f58518", "#e45756", "#72b7b2", "#4c78a8", "#b279a2", "#54a24b")
    figure, axes = plt.subplots(figsize=(8, 0.9 + 0.6 * len(bars)))
    left = [0.0] * len(bars)
    for stage, colour in zip(stages, colours, strict=True):
        widths = [float(row[stage]) for row in bars.values()]
        axes.barh([*bars], widths, left=left, color=colour, label=stage)
        left = [before + width for before, width in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("microseconds per sentence")
    axes.legend(ncols=4, fontsize=8, loc="lower center", bbox_to_anchor=(0.45, 1.0), frameon=False)
    return save_picture(figure, path)


def save_picture(figure: plt.Figure, path: Path) -> Path:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path


if __name__ == "__main__":
    main()
