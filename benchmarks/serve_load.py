"""Measure `lexitree serve` over HTTP: capacity, latency by rate, and what happens at three times its capacity.

    LEXITREE_DATA=data python benchmarks/serve_load.py --output results/serve-load.json

The service is started as a user starts it. The texts are sentences of SST as people would write them. Throughput is
measured in turns with `pipe.stream` on the same texts. The generator shares the machine with the service; the record
tells how much processor time it took. If `wrk` is installed, it measures single texts once more.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import lexitree
from environment import describe_run
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.text import detokenize
from lexitree.trees.brackets import read_trees

sys.path.append(str(Path(__file__).resolve().parents[1]))

from tests.server.load_loops import (
    closed_loop,
    counted,
    milliseconds,
    no_garbage_collection,
    open_loop,
    series,
    statuses,
    watching,
)
from tests.server.raw_http import Answer, ConnectionPool, request_bytes
from tests.server.service_process import HOST, ServiceProcess

SPLITS = ("train", "dev", "test")
DELIBERATE = {"200", "429", "503", "504"}
"""Statuses that an overloaded service may give."""
WARM_UP_TEXTS = 500
SEED = 1
Row = dict[str, Any]
WRK_SCRIPT = """
local bodies = {}
for line in io.lines("%s") do bodies[#bodies + 1] = line end
local number = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
  number = number %% #bodies + 1
  return wrk.format(nil, nil, nil, bodies[number])
end
"""


def main() -> None:
    options = parse_options()
    load = os.getloadavg()[0]
    folder = Path(os.environ["LEXITREE_DATA"]) / "sst"
    described = describe_run({f"sst/{split}.txt": folder / f"{split}.txt" for split in SPLITS})
    texts = read_texts(folder, options.texts)
    with (
        lexitree.load(options.model, device="cpu") as pipe,
        ServiceProcess(models=options.model, workers=options.workers) as service,
    ):
        measured = measure(options, pipe, service, texts)
        service.stop()
        measured["unhandled_exceptions"] = len(service.unhandled())
    record = {
        **described,
        "what": f"`lexitree serve` with {options.model} and {options.workers} worker(s), asked over HTTP",
        "seeds": [SEED],
        "note": f"When it began, the machine had a load of {load:.1f}; service and load generator share its cores.",
        **measured,
    }
    if options.output:
        options.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    sys.exit("\n".join(shortfalls(record)) or None)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="sentiment", help="a saved model, or one that comes with lexitree")
    parser.add_argument("--workers", type=int, default=1, help="processes of the service")
    parser.add_argument("--texts", type=int, default=4000, help="texts of a round")
    parser.add_argument("--rounds", type=int, default=5, help="how often each throughput is measured")
    parser.add_argument("--batch", type=int, default=32, help="texts of a large request")
    parser.add_argument("--batch-clients", type=int, default=8, help="clients that send large requests")
    parser.add_argument("--clients", type=int, default=64, help="clients that send single texts")
    parser.add_argument(
        "--rates", type=float, nargs="+", default=[0.25, 0.5, 0.75, 0.9], help="shares of the capacity"
    )
    parser.add_argument("--rate-seconds", type=float, default=60, help="how long each rate is kept up")
    parser.add_argument("--overload", type=float, default=3, help="multiple of the capacity")
    parser.add_argument("--overload-seconds", type=float, default=300)
    parser.add_argument("--bucket-seconds", type=float, default=5, help="resolution of the plot of overload")
    parser.add_argument("--output", type=Path, help="write the record to this JSON file")
    return parser.parse_args()


def measure(
    options: argparse.Namespace, pipe: TextPipeline, service: ServiceProcess, texts: Sequence[str]
) -> Row:
    singles = [request_bytes("/v1/label", {"text": text}) for text in texts]
    batches = [
        request_bytes("/v1/label", {"texts": list(texts[start : start + options.batch])})
        for start in range(0, len(texts), options.batch)
    ]
    found: Row = measure_capacity(options, pipe, service, texts, singles, batches)
    _, _, capacity = found["capacity"]
    if wrk := run_wrk(options, service, texts):
        found["capacity"].append(wrk)
    found["latency"] = [
        asyncio.run(measure_rate(options, service, singles, share, capacity["texts_per_second"]))
        for share in options.rates
    ]
    rate = options.overload * capacity["texts_per_second"]
    found |= asyncio.run(measure_overload(options, service, singles, rate))
    return found


def measure_capacity(
    options: argparse.Namespace,
    pipe: TextPipeline,
    service: ServiceProcess,
    texts: Sequence[str],
    singles: Sequence[bytes],
    batches: Sequence[bytes],
) -> Row:
    """Texts per second of `pipe.stream` and of the service, in turns, so that a busy minute falls on all."""
    labels = [document.label for document in pipe.stream(texts)]

    def over_http(requests: Sequence[bytes], clients: int) -> Callable[[], list[Answer | None]]:
        return lambda: asyncio.run(send(service, requests, clients))

    over_http(singles[:WARM_UP_TEXTS], options.clients)()
    ways: dict[tuple[int, int], Callable[[], list[Answer | None]]] = {
        (0, 0): lambda: [None for _ in pipe.stream(texts)],
        (options.batch, options.batch_clients): over_http(batches, options.batch_clients),
        (1, options.clients): over_http(singles, options.clients),
    }
    speeds: dict[tuple[int, int], list[float]] = {way: [] for way in ways}
    generator: list[float] = []
    num_wrong = 0
    for _ in range(options.rounds):
        for way, run in ways.items():
            start, used = time.perf_counter(), time.process_time()
            with no_garbage_collection():
                answers = run()
            seconds = time.perf_counter() - start
            speeds[way].append(len(texts) / seconds)
            if any(way):
                generator.append((time.process_time() - used) / seconds)
                num_wrong += count_wrong(answers, labels)
            print(f"{way}: {speeds[way][-1]:.0f} texts per second", flush=True)
    return {
        "capacity": list(capacity_rows(speeds)),
        "wrong_answers": num_wrong,
        "generator_processor_share": max(generator),
    }


async def send(service: ServiceProcess, requests: Sequence[bytes], clients: int) -> list[Answer | None]:
    async with ConnectionPool(HOST, service.port) as pool:
        return await closed_loop(pool, requests, clients)


def count_wrong(answers: Sequence[Answer | None], labels: Sequence[str | None]) -> int:
    """How many texts have no answer, or another label than the library gives."""
    given: list[str | None] = []
    for answer in answers:
        if answer is None or answer.status != 200:
            return len(labels)
        value = answer.json()
        given += [each["label"] for each in value.get("documents") or [value["document"]]]
    return sum(ours != theirs for ours, theirs in zip(given, labels[: len(given)], strict=True))


def capacity_rows(speeds: dict[tuple[int, int], list[float]]) -> Iterator[Row]:
    base = speeds[0, 0]
    for (size, clients), values in speeds.items():
        row: Row = {"way": "`pipe.stream`" if not size else f"requests of {size} text{'s' * (size > 1)}"}
        if size:
            row["clients"] = clients
        row |= {
            "rounds": len(values),
            "texts_per_second": statistics.median(values),
            "lowest": min(values),
            "highest": max(values),
        }
        if size:
            shares = [value / other for value, other in zip(values, base, strict=True)]
            row |= {
                "share": statistics.median(shares),
                "lowest_share": min(shares),
                "highest_share": max(shares),
            }
        yield row


def run_wrk(options: argparse.Namespace, service: ServiceProcess, texts: Sequence[str]) -> Row | None:
    """The throughput of single texts by another program; None if it is not installed."""
    program = shutil.which("wrk")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        bodies, script = Path(folder, "bodies"), Path(folder, "texts.lua")
        bodies.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        script.write_text(WRK_SCRIPT % bodies, encoding="utf-8")
        command = [program, "-t1", f"-c{options.clients}", "-d20s", "-s", str(script)]
        finished = subprocess.run(
            [*command, f"http://{HOST}:{service.port}/v1/label"], capture_output=True, text=True, check=True
        )
    speed = next(line for line in finished.stdout.splitlines() if line.startswith("Requests/sec"))
    print(finished.stdout, flush=True)
    return {
        "way": "requests of 1 text, sent by `wrk`",
        "clients": options.clients,
        "rounds": 1,
        "texts_per_second": float(speed.split()[1]),
    }


async def measure_rate(
    options: argparse.Namespace,
    service: ServiceProcess,
    requests: Sequence[bytes],
    share: float,
    capacity: float,
) -> Row:
    """The latency of single texts that come at a share of the capacity."""
    async with ConnectionPool(HOST, service.port) as pool:
        with no_garbage_collection():
            samples = await open_loop(pool, requests, share * capacity, options.rate_seconds, Random(SEED))
    accepted = [sample for sample in samples if sample.status == 200]
    row = {
        "capacity_share": share,
        "requests_per_second": share * capacity,
        "seconds": options.rate_seconds,
        "requests": len(samples),
        "other_answers": len(samples) - len(accepted),
        **milliseconds(accepted),
        "slowest_ms": 1000 * max((sample.seconds for sample in accepted), default=0.0),
    }
    print(json.dumps(row), flush=True)
    return row


async def measure_overload(
    options: argparse.Namespace, service: ServiceProcess, requests: Sequence[bytes], rate: float
) -> Row:
    """What becomes of single texts that come faster than the service can label them."""
    before, counts, used = service.vitals(), counted(service), time.process_time()
    async with ConnectionPool(HOST, service.port) as pool, watching(service) as watched:
        with no_garbage_collection():
            samples = await open_loop(pool, requests, rate, options.overload_seconds, Random(SEED))
    accepted = [sample for sample in samples if sample.status == 200]
    shed = [sample for sample in samples if sample.status == 429]
    memory = [mib for _, mib in watched.memory]
    half = len(memory) // 2
    row = {
        "requests_per_second": rate,
        "seconds": options.overload_seconds,
        "accepted_per_second": len(accepted) / options.overload_seconds,
        **milliseconds(accepted),
        "shed_p99_ms": milliseconds(shed)["p99_ms"],
        "live_p99_ms": milliseconds(watched.live)["p99_ms"],
        "memory_first_half_mib": max(memory[: half + 1]),
        "memory_second_half_mib": max(memory[half:]),
    }
    details = {
        "memory_before_mib": before.memory_mib,
        "counted_by_the_service": dict(counted(service) - counts),
        "most_threads": watched.threads,
        "most_sockets": watched.sockets,
        "generator_processor_share": (time.process_time() - used) / options.overload_seconds,
    }
    print(json.dumps(row), flush=True)
    return {
        "overload": [row],
        "overload_details": details,
        "overload_answers": [{"asked": "/v1/label", **statuses(samples)}]
        + [
            {"asked": path, **statuses(polls)}
            for path, polls in (("/live", watched.live), ("/ready", watched.ready))
        ],
        "overload_series": series(samples, watched, options.overload_seconds, options.bucket_seconds),
    }


def shortfalls(record: Row) -> Iterator[str]:
    """What is not as a service should be, for people who wait at a terminal."""
    for row, needed in zip(record["capacity"][1:3], (0.85, 0.6), strict=True):
        if row["share"] < needed:
            yield f"{row['way']}: {row['share']:.0%} of `pipe.stream`, not {needed:.0%}"
    for row in record["latency"]:
        if row["capacity_share"] == 0.5 and not (row["p99_ms"] and row["p99_ms"] < 250):
            yield f"at half of the capacity, p99 is {row['p99_ms']} ms"
    labels, live, _ = record["overload_answers"]
    if unexpected := labels.keys() - DELIBERATE - {"asked"}:
        yield f"under overload there were answers of other kinds: {sorted(unexpected)}"
    if {**record["overload_details"]["counted_by_the_service"], "asked": labels["asked"]} != labels:
        yield "the metrics of the service tell other numbers of requests"
    if live.keys() - {"200", "asked"}:
        yield f"/live was not always 200: {live}"
    if (
        record["overload"][0]["memory_second_half_mib"]
        > 1.05 * record["overload"][0]["memory_first_half_mib"]
    ):
        yield "memory grew under overload"
    for name in ("wrong_answers", "unhandled_exceptions"):
        if record[name]:
            yield f"{name.replace('_', ' ')}: {record[name]}"


def read_texts(folder: Path, number: int) -> list[str]:
    """The sentences of SST's trees as people would write them: shuffled, and repeated where more are asked for."""
    texts = [detokenize(tree.words) for split in SPLITS for tree in read_trees(folder / f"{split}.txt")]
    Random(1).shuffle(texts)
    return list(itertools.islice(itertools.cycle(texts), number))


if __name__ == "__main__":
    main()
