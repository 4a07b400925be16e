"""Measure `lexitree drivers` on real texts, record it in results/drivers.json, and take the picture of the guide.

    LEXITREE_DATA=data python paper/scripts/record_drivers.py

The picture needs Chromium; without it, only the record is written.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import root_path  # noqa: F401
from result_records import DATA_VARIABLE, ROOT, describe_run, write_record

NUM_ROWS = 2000
NUM_RUNS = 3
SEED = 1
TEXTS = {"hutto-nyt": "sentences of newspapers", "pros-cons": "short reviews of products"}
PICTURE = ROOT / "docs" / "images" / "drivers.png"


def source_of(name: str) -> Path:
    return Path(os.environ[DATA_VARIABLE], "domains", name, "train.tsv.gz")


def write_table(name: str, path: Path) -> None:
    """Some rows of a set, drawn at random, as CSV."""
    with gzip.open(source_of(name), "rt", encoding="utf-8") as lines:
        texts = [line.rstrip("\n").partition("\t")[2] for line in lines]
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = ([text] for text in random.Random(SEED).sample(texts, NUM_ROWS))
        csv.writer(stream).writerows([["comment"], *rows])


def run_drivers(table: Path, output: Path) -> float:
    """The seconds that the command takes, its start included."""
    options = ["--column", "comment", "-o", output.name]
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "lexitree", "drivers", table.name, *options], check=True, cwd=table.parent
    )
    return time.perf_counter() - start


def take_picture(page: Path) -> None:
    """The top of a page, as a browser shows it."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        print("no Chromium here: the picture stays as it is", file=sys.stderr)
        return
    options = [
        "--headless=new",
        "--no-sandbox",
        "--hide-scrollbars",
        f"--user-data-dir={page.parent / 'profile'}",
    ]
    shot = [f"--screenshot={PICTURE}", "--window-size=1000,800", page.as_uri()]
    subprocess.run([browser, *options, *shot], check=True, capture_output=True)


def main() -> int:
    # The picture changes a file of the repository.
    described = describe_run({f"domains/{name}/train.tsv.gz": source_of(name) for name in TEXTS})
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, what in TEXTS.items():
            table, page = Path(folder, f"{name}.csv"), Path(folder, f"{name}.html")
            write_table(name, table)
            seconds = sorted(run_drivers(table, page) for _ in range(NUM_RUNS))
            run_drivers(table, page.with_suffix(".json"))
            found = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
            rows.append(
                {
                    "texts": what,
                    "rows": NUM_ROWS,
                    "drivers": len(found["drivers"]),
                    "seconds": round(seconds[NUM_RUNS // 2], 1),
                    "all seconds": [round(each, 1) for each in seconds],
                }
            )
            print(rows[-1])
        take_picture(page)
    record = {
        "what": f"the time of `lexitree drivers TABLE --column comment -o report.html` on {NUM_ROWS:,} texts, with"
        f" the start of the program; the median of {NUM_RUNS} runs",
        **described,
        "seeds": [SEED],
        "rows": rows,
    }
    print(write_record("drivers", record))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
