"""A tree in a file has no more words and nodes than can be labelled in bounded memory, whatever the format."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lexitree.corpora.treebank import read_any
from lexitree.errors import InputError
from lexitree.trees.brackets import ReadReport
from lexitree.trees.tree import Tree
from lexitree.trees.tree_limits import MAX_NODES, MAX_WORDS
from tests.command import run_command


def write_brackets(folder: Path, num_words: int) -> Path:
    path = folder / "trees.txt"
    path.write_text(f"(X a b)\n(X {'w ' * num_words})\n(X c d)\n")
    return path


def write_indented_brackets(folder: Path, num_words: int) -> Path:
    path = folder / "trees.mrg"
    lines = "\n".join("  (X w w w w w w w w w w)" for _ in range(num_words // 10))
    rest = "  (X" + " w" * (num_words % 10) + ")" if num_words % 10 else ""
    path.write_text(f"(X\n  (X a b))\n(X\n{lines}\n{rest})\n(X\n  (X c d))\n")
    return path


def write_json_lines(folder: Path, num_words: int) -> Path:
    path = folder / "trees.jsonl"
    small = {"words": ["a"], "phrases": [{"start": 0, "end": 1, "label": "X"}]}
    phrases = [{"start": 0, "end": num_words, "label": ""}]
    phrases += [{"start": word, "end": word + 1, "label": ""} for word in range(num_words)]
    large = {"words": ["w"] * num_words, "phrases": phrases}
    path.write_text("".join(json.dumps(each) + "\n" for each in (small, large, small)))
    return path


def write_dependencies(folder: Path, num_words: int) -> Path:
    (folder / "trees.dparents").write_text(f"0\n{'0 ' + '1 ' * (num_words - 1)}\n0\n")
    path = folder / "trees.toks"
    path.write_text(f"a\n{'w ' * num_words}\nc\n")
    return path


def write_sentences(folder: Path, num_words: int) -> Path:
    path = folder / "trees.tsv"
    path.write_text(f"X\ta\nX\t{'w ' * num_words}\nX\tc\n")
    return path


WRITERS = [write_brackets, write_indented_brackets, write_json_lines, write_dependencies, write_sentences]
each_writer = pytest.mark.parametrize("write", WRITERS)
Write = Callable[[Path, int], Path]


@each_writer
def test_the_largest_tree_is_read_and_a_larger_one_is_refused(tmp_path: Path, write: Write) -> None:
    assert [tree.num_words for tree in read_any(write(tmp_path, MAX_WORDS))][1] == MAX_WORDS
    path, report = write(tmp_path, MAX_WORDS + 1), ReadReport()
    with pytest.raises(InputError, match=f"more than {MAX_WORDS:,} words") as caught:
        list(read_any(path))
    assert caught.value.place.line >= 2
    assert caught.value.place.path.startswith(str(path.with_suffix("")))
    assert "--on-error skip" in caught.value.remedy
    assert len(str(caught.value)) < 1_000
    assert len(list(read_any(path, on_error="skip", report=report))) == 2
    assert report.num_errors == 1


@each_writer
def test_a_huge_phrase_is_refused_at_once(tmp_path: Path, write: Write) -> None:
    path = write(tmp_path, 250_000 if write is write_json_lines else 1_000_000)
    began = time.process_time()
    with pytest.raises(InputError, match="words"):
        list(read_any(path))
    assert time.process_time() - began < 5  # about one second at most; labelling it takes minutes


def unary_chains(num_nodes: int) -> Iterator[str]:
    yield "(X " * (num_nodes - 1) + "(X w" + ")" * num_nodes


def test_nodes_are_bounded_too(tmp_path: Path) -> None:
    """Phrases of one part have no end."""
    path = tmp_path / "trees.txt"
    path.write_text("".join(unary_chains(MAX_NODES)))
    assert next(read_any(path)).num_nodes == MAX_NODES
    path.write_text("".join(unary_chains(MAX_NODES + 1)))
    with pytest.raises(InputError, match=f"more than {MAX_NODES:,} nodes") as caught:
        list(read_any(path))
    assert "--on-error skip" in caught.value.remedy
    path = tmp_path / "trees.jsonl"
    phrase = {"start": 0, "end": 1, "label": ""}
    path.write_text(json.dumps({"words": ["w"], "phrases": [phrase] * (MAX_NODES + 1)}))
    with pytest.raises(InputError, match=f"more than {MAX_NODES:,} nodes"):
        list(read_any(path))


def test_trees_that_are_made_in_python_have_no_limit() -> None:
    assert Tree.flat(["w"] * (MAX_WORDS + 1)).num_words == MAX_WORDS + 1


def test_a_huge_phrase_is_not_labelled(saved_model: Path, tmp_path: Path) -> None:
    path, out = write_brackets(tmp_path, 1_000_000), tmp_path / "out.jsonl"
    began = time.monotonic()
    done = run_command("predict", saved_model, path, "-o", out, max_address_space=3 << 30)
    assert (done.returncode, out.exists()) == (1, False)
    assert f"{path}:2:" in done.stderr
    assert f"more than {MAX_WORDS:,} words" in done.stderr
    done = run_command(
        "predict", saved_model, path, "-o", out, "--on-error", "skip", max_address_space=3 << 30
    )
    assert done.returncode in (0, 3)
    assert len(out.read_text().splitlines()) == 2
    assert time.monotonic() - began < 60


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["flat", "deep"])
def test_the_largest_trees_are_labelled_in_bounded_memory(
    saved_model: Path, tmp_path: Path, shape: str
) -> None:
    path, out = tmp_path / "trees.txt", tmp_path / "out.jsonl"
    deep = "(X w " * (MAX_WORDS - 1) + "(X w" + ")" * MAX_WORDS
    path.write_text(f"(X {'w ' * MAX_WORDS})\n" if shape == "flat" else deep)
    done = run_command("predict", saved_model, path, "-o", out, max_address_space=3 << 30, timeout=300)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(out.read_text())["words"]) == MAX_WORDS
