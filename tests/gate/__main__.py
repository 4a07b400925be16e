"""The gate: compares the answers, gradients and times of this checkout with those of commit 5f42adee.

    make gate                                                    # answers and gradients, with LEXITREE_DATA
    make gate-times                                              # times, in turns
    python tests/gate answers --sentences 200 --ways kernels     # a quick look
    python tests/gate prepare FOLDER                             # for a machine without the history and the data
    python FOLDER/gate answers --folder FOLDER --device cuda     # there

Both checkouts read the yardstick's weights. The yardstick's answers are kept in .cache/gate. Values are compared, not
the names under which a version gives them: `adapter.py` asks this checkout, and follows its changes.

Exit status: 0 if nothing differs, 1 if something does, 2 if nothing could be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import checkouts
from checkouts import CACHE, COMMIT, HERE, Checkouts, GateError, ask, compile_kernels
from compare import Report
from inputs import checksum, part_of
from times import measure_times
from ways import GPU_GRADIENTS, GRADIENTS, WAYS, Session, Way


def main() -> int:
    options = parse_options()
    try:
        if options.command == "prepare":
            found = checkouts.checkouts_of_history()
            checkouts.prepare(found, find_inputs(found, options), Path(options.place))
            return 0
        folder = options.folder and options.folder.resolve()
        found = checkouts.prepared_checkouts(folder) if folder else checkouts.checkouts_of_history()
        if options.present:
            found = replace(found, present=options.present.resolve())
        cache = folder / ".cache" if folder else CACHE
        inputs = shortened(folder / "inputs.json" if folder else find_inputs(found, options), cache, options)
        if options.command == "times":
            measure_times(found, inputs, options)
            return 0
        return compare(found, inputs, cache, options)
    except GateError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", nargs="?", default="answers", choices=["answers", "times", "prepare"])
    parser.add_argument("place", nargs="?", help="the folder to prepare")
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("LEXITREE_DATA"), help="default: LEXITREE_DATA"
    )
    parser.add_argument("--folder", type=Path, help="a folder made by `prepare`")
    parser.add_argument("--present", type=Path, help="another checkout than this one: its folder src")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--sentences", type=int, help="so many of each kind, for a quick look")
    parser.add_argument("--ways", nargs="+", choices=[*WAYS, "gradients"], help="ways to run (default: all)")
    parser.add_argument("--cores", type=int, default=2, help="processes at a time")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each time")
    parser.add_argument("--times", nargs="+", help="the times to measure, by their names (default: all)")
    options = parser.parse_args()
    if (options.command == "prepare") != (options.place is not None):
        parser.error("prepare needs a folder, and the other commands take none")
    return options


def find_inputs(found: Checkouts, options: argparse.Namespace) -> Path:
    """The sentences and trees, made once for a data folder."""
    if options.data is None or not (Path(options.data) / "sst" / "dev.txt").is_file():
        raise GateError(
            "there is nothing to compare: LEXITREE_DATA does not lead to the data (--data FOLDER)"
        )
    whole = CACHE / "inputs.json"
    wanted = json.loads((HERE / "checksums.json").read_text())["inputs"]
    if not whole.is_file() or checksum(json.loads(whole.read_text(encoding="utf-8"))) != wanted:
        whole.parent.mkdir(parents=True, exist_ok=True)
        ask(found, {"task": "inputs", "data": options.data, "to": whole, "is_yardstick": True})
        made = checksum(json.loads(whole.read_text(encoding="utf-8")))
        if made != wanted:
            raise GateError(
                f"{options.data} has other sentences than the gate was made for (checksum {made})"
            )
    return whole


def shortened(whole: Path, cache: Path, options: argparse.Namespace) -> Path:
    """The inputs, or as many of each kind as the options say."""
    if options.sentences is None:
        return whole
    cache.mkdir(parents=True, exist_ok=True)
    small = cache / f"inputs.{options.sentences}.json"
    chosen = part_of(json.loads(whole.read_text(encoding="utf-8")), options.sentences)
    small.write_text(json.dumps(chosen), encoding="utf-8")
    return small


def compare(found: Checkouts, inputs: Path, cache: Path, options: argparse.Namespace) -> int:
    """Compare all ways; print what differs, and return the exit status."""
    began = time.monotonic()
    asked = options.ways or [*WAYS, "gradients"]
    ways = [way for name, way in WAYS.items() if name in asked and way.device == options.device]
    gradients = GPU_GRADIENTS if options.device == "cuda" else GRADIENTS
    gradients = gradients if "gradients" in asked else ()
    if any(way.kernels for way in (*ways, *gradients)):
        for source in (found.yardstick, found.present):
            compile_kernels(source)
    reports: dict[str, Report] = {}
    with tempfile.TemporaryDirectory(prefix="gate-") as folder:
        session = Session(found, inputs, Path(folder), cache, options.cores)
        started = [(way, session.start(way)) for way in ways]
        for each, work in [(each, session.start_gradients(each)) for each in gradients]:
            work.result()
            reports[each.name] = session.compare_gradients(each)
        for way, both in started:
            for work in both:
                work.result()
            reports[way.name] = session.compare(way)
    for name, report in reports.items():
        show(name, report, WAYS.get(name))
    busy = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    print(f"Compared with {COMMIT} in {time.monotonic() - began:.0f} seconds, {busy:.0f} of a processor.")
    if not reports:
        raise GateError("no way to run was asked for")
    return 0 if all(report.passes for report in reports.values()) else 1


def show(name: str, report: Report, way: Way | None) -> None:
    """Print what was compared, and everything that differs."""
    share = f", one of {way.step} texts" if way and way.step > 1 else ""
    print(f"{name}{share}: {'same' if report.passes else 'DIFFERENT'}")
    for kind, number in report.counts.items():
        notes = [f"{number:,} compared"]
        if kind in report.largest:
            notes.append(f"largest difference {report.largest[kind]:.1e}")
        notes.append(f"{report.ties[kind]} ties" if report.ties[kind] else "")
        notes.append(f"{report.differences[kind]:,} DIFFER" if report.differences[kind] else "")
        print(f"  {kind}: {', '.join(filter(None, notes))}")
    for line in report.listed:
        print(f"  - {line}")


if __name__ == "__main__":
    sys.exit(main())
