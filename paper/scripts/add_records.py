"""Add records that programs wrote as JSON files to those of the paper, each under the name of its file.

python paper/scripts/add_records.py runs/reranking-speed.json
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))

from lexitree_paper.run_records import save_record
from result_records import PAPER_RESULTS, faults


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+", help="such as runs/NAME.json")
    for path in parser.parse_args().files:
        record = json.loads(path.read_text(encoding="utf-8"))
        if wrong := faults(record):
            print(f"{path}: {'; '.join(wrong)}", file=sys.stderr)
            return 1
        save_record(PAPER_RESULTS, path.stem, record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
