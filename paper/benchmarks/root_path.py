"""Put the programs of the repository's root, `benchmarks/` and `scripts/`, on the path of imports."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

for _folder in ("", "benchmarks", "scripts"):
    if str(ROOT / _folder) not in sys.path:
        sys.path.append(str(ROOT / _folder))
