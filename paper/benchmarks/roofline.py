"""Measure the roofline of the matrix product that a tree LSTM computes at every level.

    python paper/benchmarks/roofline.py --output results/roofline-cpu.json
    python paper/benchmarks/roofline.py --device cuda --output results/roofline-gpu.json

The gates of a level of `width` nodes are one product, [width, 2 hidden] by [2 hidden, 5 hidden]. How fast it can
be depends on the width: a narrow level reads a whole matrix of weights for a few nodes. The ceilings are measured as
well: a large product, and the reading of numbers that fit into the caches, as the weights do, or do not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import root_path  # noqa: F401
from environment import describe_run

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
FLOAT_BYTES = 4


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu", help="cpu (one thread) or cuda")
    parser.add_argument("--hidden", type=int, default=150)
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ceilings = measure_ceilings(options.device)
    print("ceilings: " + ", ".join(f"{name} {value:,.0f}" for name, value in ceilings.items()))
    rows = [measure_level(width, options.hidden, options.device) for width in WIDTHS]
    for row in rows:
        print(
            f"{row['width']:>6} nodes  {row['flops_per_byte']:7.2f} FLOP/byte  {row['us']:9.2f} us"
            f"  {row['gflops']:10.1f} GFLOP/s"
        )
    if options.output:
        record = {
            **describe_run({}),
            "what": f"the gate product of a level by its width, {options.device}, float32",
            "seeds": [],
            "device": options.device,
            "hidden": options.hidden,
            "ceilings": ceilings,
            "rows": rows,
        }
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def measure_ceilings(device: str) -> dict[str, float]:
    """What the device does at best."""
    is_gpu = device == "cuda"
    size = 8192 if is_gpu else 2048
    left, right = (torch.randn(size, size, device=device) for _ in range(2))
    out = torch.empty_like(left)
    seconds = median_seconds(lambda: torch.mm(left, right, out=out), device)
    ceilings = {
        "gflops": 2 * size**3 / seconds / 1e9,
        "memory_gbytes": read_rate((1 << 29) if is_gpu else (1 << 27), device),
    }
    # What fits a GPU's cache is read in less than the time of a launch.
    return ceilings if is_gpu else {**ceilings, "cache_gbytes": read_rate(1 << 17, device)}


def read_rate(count: int, device: str) -> float:
    """Gigabytes a second of reading so many numbers, by the product of a vector with itself."""
    numbers = torch.randn(count, device=device)
    return count * FLOAT_BYTES / median_seconds(lambda: torch.dot(numbers, numbers), device) / 1e9


def measure_level(width: int, hidden: int, device: str) -> dict[str, Any]:
    states = torch.randn(width, 2 * hidden, device=device)
    weight = torch.randn(2 * hidden, 5 * hidden, device=device)
    out = torch.empty(width, 5 * hidden, device=device)
    seconds = median_seconds(lambda: torch.mm(states, weight, out=out), device)
    flops = 2 * width * weight.numel()
    moved = FLOAT_BYTES * (states.numel() + weight.numel() + out.numel())
    return {
        "width": width,
        "flops_per_byte": flops / moved,
        "us": 1e6 * seconds,
        "gflops": flops / seconds / 1e9,
    }


def median_seconds(work: Callable[[], Tensor], device: str, repeats: int = 15) -> float:
    """The median over some rounds, each long enough for the clock; a GPU is waited for after each round."""
    inner = 1
    while run(work, inner, device) < 2e-3:
        inner *= 2
    return statistics.median(run(work, inner, device) / inner for _ in range(repeats))


def run(work: Callable[[], Tensor], times: int, device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(times):
        work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
