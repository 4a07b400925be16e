"""Reads a sentence a line and answers each with a tree that branches to the right: a parser for `--parser command:`."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    for line in sys.stdin:
        *words, last = line.split()
        opened = "".join(f"(X (Y {word}) " for word in words)
        print(f"{opened}(Y {last}){')' * len(words)}", flush=True)
