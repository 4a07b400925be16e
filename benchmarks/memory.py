"""Record in results/memory.json how much memory `lexitree predict` holds over a million rows of Parquet.

    python benchmarks/memory.py                    # about ten minutes on a free core
    python benchmarks/memory.py --rows 20000 --name memory-trial

The rows have one or two words, so that a million of them does not take an hour. Among them are a missing text, an
empty one and one of 5 MB, beyond the limits, all in the second tenth of the file. Memory is read twice a second; the
record has the highest of each tenth. The exit status is 1 if a row is lost, or if memory grows after these.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

sys.path.append(str(Path(__file__).resolve().parents[1] / "scripts"))

from result_records import describe_run, write_record

WORDS = ("good", "bad", "dull", "fun", "great", "film", "plot", "slow", "warm", "funny", "never", "again")
GROUPS = 10
"""Row groups of the file: each is a part of the output."""
LARGE = "word " * 1_000_000
MAX_GROWTH = 0.05
"""How much higher the highest memory of the last three tenths may be than that of the third to fifth."""
SECONDS_BETWEEN_LOOKS = 0.5


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--model", default="sentiment")
    parser.add_argument("--name", default="memory", help="the name of the record")
    options = parser.parse_args()
    record: dict[str, Any] = {
        **describe_run({}),
        "what": f"memory of `lexitree predict` over {options.rows:,} rows of Parquet",
        "seeds": [1],
        "model": options.model,
    }
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder, "texts.parquet"), Path(folder, "out")
        write_texts(source, options.rows)
        command = [sys.executable, "-m", "lexitree", "predict", str(source), "--column", "text"]
        command += ["--model", options.model, "--device", "cpu", "--errors", "-o", f"{output}/"]
        start = time.monotonic()
        looks = list(watch(subprocess.Popen(command), output / source.name))
        record["seconds"] = round(time.monotonic() - start)
        record["rows"] = highest_by_part(looks, options.rows)
        record["problems"] = [*lost_rows(source, output), *growth(record["rows"])]
    print(write_record(options.name, record).name, *record["problems"], sep="\n")
    return bool(record["problems"])


def write_texts(path: Path, num_rows: int) -> None:
    rng = random.Random(1)
    texts: list[str | None] = [" ".join(rng.choices(WORDS, k=rng.randint(1, 2))) for _ in range(num_rows)]
    for row, text in zip(odd_rows(num_rows), (None, "", LARGE), strict=True):
        texts[row] = text
    table = pa.table({"id": range(num_rows), "text": texts})
    parquet.write_table(table, path, row_group_size=-(-num_rows // GROUPS))


def odd_rows(num_rows: int) -> list[int]:
    """The rows of the missing, the empty and the large text."""
    return [num_rows // 8, num_rows // 8 + 1, num_rows // 7]


def watch(process: subprocess.Popen[bytes], parts: Path) -> Iterator[tuple[int, float]]:
    """The number of parts that are written and the memory (MiB), again and again until the process ends."""
    while process.poll() is None:
        yield len(list(parts.glob("part-*.parquet"))), resident_mib(process.pid)
        time.sleep(SECONDS_BETWEEN_LOOKS)
    if process.returncode:
        sys.exit(f"lexitree predict ended with {process.returncode}")


def resident_mib(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        # It has ended since.
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def highest_by_part(looks: list[tuple[int, float]], num_rows: int) -> list[dict[str, Any]]:
    highest = dict.fromkeys(range(GROUPS), 0.0)
    for part, mebibytes in looks:
        # After the last part, the process only ends.
        if part in highest:
            highest[part] = max(highest[part], mebibytes)
    return [
        {"texts": (part + 1) * num_rows // GROUPS, "highest_memory_mib": mebibytes}
        for part, mebibytes in highest.items()
    ]


def lost_rows(source: Path, output: Path) -> Iterator[str]:
    given, found = parquet.read_table(source), parquet.read_table(output)
    for name in ("id", "text"):
        if not found[name].equals(given[name]):
            yield f"the column {name} is not that of the input"
    without = [row for row, label in enumerate(found["label"].to_pylist()) if label is None]
    if without != odd_rows(len(given)):
        yield f"rows without a label are {without[:10]}, and should be {odd_rows(len(given))}"
    if found["error"].null_count != len(given) - 1:
        yield "there should be one error, that of the text of 5 MB"


def growth(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Whether memory grows after the large text."""
    highest = [row["highest_memory_mib"] for row in rows]
    before, after = max(highest[2:5]), max(highest[7:])
    if after > (1 + MAX_GROWTH) * before:
        yield f"memory has grown from {before:.0f} to {after:.0f} MiB"


if __name__ == "__main__":
    sys.exit(main())
