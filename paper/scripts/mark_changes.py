"""Mark records from machines without the history whose sources were not those of the commit that they name.

python paper/scripts/mark_changes.py results/sst-contree.json results/trec-ten/*.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import root_path  # noqa: F401
from result_records import hidden_changes, write_file


def main() -> None:
    for path in map(Path, sys.argv[1:]):
        if mark_changes(path):
            print(f"{path.name}: +changes")


def mark_changes(path: Path) -> bool:
    """Let the record say `+changes`, as it would if its machine had had the history; return whether it had to."""
    record = json.loads(path.read_text(encoding="utf-8"))
    if not hidden_changes(record["commit"], record.get("source")):
        return False
    write_file(path, {**record, "commit": record["commit"] + "+changes"})
    return True


if __name__ == "__main__":
    main()
