"""Shared by the corpus writers: reproducible random choices, and a command that writes or checks generated files."""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import root_path  # noqa: F401
from known_phrases import Dice

__all__ = ["Dice", "split", "write_or_check"]

FOLDER = Path(__file__).resolve().parents[2] / "src" / "lexitree" / "corpora" / "embedded"

Item = TypeVar("Item")


def split(
    items: Sequence[Item],
    words_of: Callable[[Item], Sequence[str]],
    label_of: Callable[[Item], str],
    room: Mapping[tuple[str, str], int],
    least_in_train: int,
) -> dict[str, list[Item]]:
    """Fill dev and test, which take `room[split, label]` of each label, with items whose words remain at
    least `least_in_train` times in train, where the rest goes.
    """
    left_for_train = Counter(word for item in items for word in words_of(item))
    splits: dict[str, list[Item]] = {"train": [], "dev": [], "test": []}
    for item in items:
        needed = Counter(words_of(item))
        is_common = all(left_for_train[word] - count >= least_in_train for word, count in needed.items())
        label = label_of(item)
        open_splits = [
            name
            for name in ("dev", "test")
            if sum(label_of(other) == label for other in splits[name]) < room[name, label]
        ]
        if is_common and open_splits:
            left_for_train.subtract(needed)
            splits[open_splits[0]].append(item)
        else:
            splits["train"].append(item)
    return splits


def write_or_check(description: str, render: Callable[[], Mapping[str, str]]) -> int:
    """Command line of a corpus writer; returns its exit status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a file would change")
    check_only = parser.parse_args().check
    status = 0
    for name, text in render().items():
        path = FOLDER / name
        if not check_only:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        elif not path.exists() or path.read_bytes() != text.encode():
            print(f"{path} is not what this script writes", file=sys.stderr)
            status = 1
    return status
