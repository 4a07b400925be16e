"""Record the timeline of one training step on a GPU, kernel by kernel.

python paper/benchmarks/gpu_profile.py --output results/gpu-profile.json     # real SST, through LEXITREE_DATA
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

import root_path  # noqa: F401
from environment import corpus_files, describe_run
from gpu_speed import PRODUCTS, build, shuffled
from lexitree.corpora.named import load_corpus
from lexitree.learning.optimizer import LazyAdam
from lexitree.tasks.classify.recipe import TrainingConfig
from lexitree.tasks.classify.steps import make_step


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", default="sst")
    parser.add_argument("--model", default="bicontree")
    parser.add_argument("--batch-size", type=int, default=25)
    parser.add_argument("--precision", choices=[*PRODUCTS], default="float32")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    options = parser.parse_args()
    torch.set_float32_matmul_precision(PRODUCTS[options.precision])
    kernels = trace_step(options)
    start, end = kernels[0]["start_us"], max(kernel["start_us"] + kernel["us"] for kernel in kernels)
    totals: dict[str, list[float]] = defaultdict(list)
    for kernel in kernels:
        totals[kernel["name"]].append(kernel["us"])
    print(f"one step: {end - start:.0f} us, {len(kernels)} kernels")
    for name, times in sorted(totals.items(), key=lambda item: -sum(item[1])):
        print(f"  {sum(times):8.1f} us  {len(times):3} x  {name}")
    if options.output:
        record = {
            **describe_run(corpus_files(options.corpus)),
            "what": "the kernels of one recorded training step",
            "seeds": [1],
            "model": options.model,
            "batch_size": options.batch_size,
            "precision": options.precision,
            "kernels": [{**kernel, "start_us": round(kernel["start_us"] - start, 2)} for kernel in kernels],
        }
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def trace_step(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Every kernel of the last of some replays of the same batch: name, stream, start and duration."""
    corpus = load_corpus(options.corpus)
    model, examples = build(corpus, options.model, "fused")
    step = make_step(model.train(), LazyAdam(model, TrainingConfig()))
    batch = next(shuffled(examples, options.batch_size, seed=1))
    for _ in range(3):
        step(batch)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(3):
            step(batch)
        torch.cuda.synchronize()
    events = sorted(
        (event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA),
        key=lambda event: event.time_range.start,
    )
    # A step starts with the copy of its batch from the place where it waited.
    starts = [number for number, event in enumerate(events) if "Memcpy DtoD" in event.name]
    last = events[starts[-1] :]
    return [
        {
            "name": event.name[:80],
            "stream": event.device_resource_id,
            "start_us": float(event.time_range.start),
            "us": float(event.time_range.elapsed_us()),
        }
        for event in last
    ]


if __name__ == "__main__":
    main()
