"""Record a run of `lexitree parser train` in results/NAME.json: scores, command, data, machine.

python paper/scripts/record_parser.py runs/parser --name parser
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import root_path  # noqa: F401
from result_records import describe_code, machine_of_run, write_record


def record_parser(folder: Path, name: str) -> Path:
    """Write the record of a finished run."""
    path = folder / "result.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    machine = machine_of_run(result["environment"])
    device = "cuda" if machine["gpu"] == result["environment"]["device"] else "cpu"
    finished = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC)
    record = {
        "command": f"lexitree parser train --recipe recipes/parsing/{name}.toml -o runs/{name} --device {device}",
        **describe_code(),
        "date": finished.date().isoformat(),
        "data": result["checksums"],
        "machine": machine,
        "seeds": [result["recipe"]["training"]["seed"]],
        "rows": [score_row(treebank, scores) for treebank, scores in result["test"].items()],
        **{key: value for key, value in result.items() if key not in ("checksums", "environment", "test")},
    }
    return write_record(name, record)


def score_row(treebank: str, scores: Mapping[str, Any]) -> dict[str, Any]:
    """What is shown of one test treebank, in percent."""
    return {
        "treebank": treebank,
        "sentences": scores["sentences"],
        "style": scores["style"] or "none",
        "f1": percent(scores["f1"]),
        "precision": percent(scores["precision"]),
        "recall": percent(scores["recall"]),
        "f1_without_style": percent(scores["generic_f1"]),
        "tags": percent(scores["tags"]),
        "complete_match": percent(scores["complete_match"]),
        f"oracle_f1_of_{scores['k']}": percent(scores["oracle_f1"]),
    }


def percent(share: float) -> float:
    return round(100 * share, 2)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the run's directory")
    parser.add_argument("--name", required=True, help="the record's name, which is the recipe's")
    options = parser.parse_args()
    try:
        path = record_parser(options.folder, options.name)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"results/{path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
