"""The pages name what there is: every public name, only commands that were run, and what code prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import lexitree
from lexitree import files
from lexitree.corpora import tables
from lexitree.trees import bracket_parser, jsonl, tree_limits

ROOT = Path(__file__).parent.parent
PAPER = ROOT / "paper"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    PAPER / "README.md",
    *sorted((PAPER / "docs").rglob("*.md")),
]
FENCE = re.compile(r"^```(bash|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PYTHON_FENCE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"^ *print\(.*\n((?:# .*\n)+)", re.MULTILINE)
PROMPTS = {"bash": "", "console": "$ "}
ROOMS = "|".join(path.name for path in (ROOT / "src" / "lexitree").iterdir() if path.is_dir())
DOWNLOADS = re.compile(r"lexitree data fetch [a-z0-9-]+")
"""These need a network, so no record holds their output."""


def commands_of(page: Path) -> set[str]:
    """The `lexitree` command lines in the page's code blocks."""
    commands: set[str] = set()
    for language, text in FENCE.findall(page.read_text(encoding="utf-8")):
        prompt = PROMPTS[language]
        lines = [line.removeprefix(prompt) for line in text.splitlines() if line.startswith(prompt)]
        commands.update(line for line in lines if re.search(r"(^|[| ])lexitree ", line))
    return commands


def recorded_commands() -> set[str]:
    commands: set[str] = set()
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "results").glob("*.json")]
    for path in (PAPER / "results").glob("*.jsonl"):
        texts += path.read_text(encoding="utf-8").splitlines()
    for record in map(json.loads, texts):
        commands.add(record["command"])
        commands.update(step["command"] for step in record.get("steps", {}).values())
    return commands


def test_the_api_page_documents_every_public_name_once() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    documented = re.findall(r"^::: lexitree\.(\w+)$", page, re.MULTILINE)
    assert sorted([*documented, "__version__"]) == sorted(lexitree.__all__)


@pytest.mark.parametrize("name", [name for name in lexitree.__all__ if name != "__version__"])
def test_every_public_name_has_a_docstring(name: str) -> None:
    assert (getattr(lexitree, name).__doc__ or "").strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_was_run(page: Path) -> None:
    unknown = {
        command for command in commands_of(page) - recorded_commands() if not DOWNLOADS.fullmatch(command)
    }
    assert unknown == set()


def test_commands_are_found_at_all() -> None:
    assert sum(len(commands_of(page)) for page in PAGES) > 40


def test_functions_beside_the_equations_are_there() -> None:
    """The page of the model says of each name in which file it is."""
    page = (ROOT / "docs" / "model.md").read_text(encoding="utf-8")
    pairs = re.findall(r"`([\w.]+)` in\s`(\w+/[\w/]+\.py)`", page)
    assert len(pairs) > 12
    sources = {file: (ROOT / "src" / "lexitree" / file).read_text(encoding="utf-8") for _, file in pairs}
    missing = [
        (name, file)
        for name, file in pairs
        if not re.search(rf"(def|class) {name.rpartition('.')[2]}\b", sources[file])
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(
        rf"`((?:{ROOMS}|src|tests|scripts|recipes|benchmarks|examples|results|paper)/[\w./-]*)`", text
    )
    places = (ROOT, ROOT / "src" / "lexitree", PAPER)
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


def printing_blocks() -> Iterator[tuple[str, str, list[str]]]:
    """The Python blocks that say in comments what they print: page and number, code, and the lines."""
    for page in PAGES:
        blocks = PYTHON_FENCE.findall(page.read_text(encoding="utf-8"))
        for number, code in enumerate(blocks, 1):
            printed = PRINTED.findall(code)
            lines = [line.removeprefix("# ") for comment in printed for line in comment.splitlines()]
            if lines:
                yield f"{page.stem}-{number}", code, lines


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        pytest.param(code, lines, id=name, marks=pytest.mark.slow if "sklearn" in code else ())
        for name, code, lines in printing_blocks()
    ],
)
def test_python_prints_what_the_page_says(
    code: str, lines: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE):
        pytest.importorskip(package)
    monkeypatch.chdir(ROOT / "examples")
    exec(compile(code, "page", "exec"), {"__name__": "page"})
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == lines


def test_blocks_that_print_are_found_at_all() -> None:
    assert len(list(printing_blocks())) >= 5


def test_the_page_of_texts_names_the_limits() -> None:
    page = (ROOT / "docs" / "guide" / "text.md").read_text(encoding="utf-8")
    table = page.partition("### Limits of the input")[2].partition("\n## ")[0]
    bounds = [
        files.MAX_LINE_CHARACTERS,
        tables.MAX_RECORD_CHARACTERS,
        jsonl.MAX_JSON_CHARACTERS,
        tables.MAX_JSON_DEPTH,
        bracket_parser.MAX_TREE_CHARACTERS,
        tree_limits.MAX_WORDS,
        tree_limits.MAX_NODES,
        tables.MAX_BLANK_LINES,
        tables.MAX_BLANK_CHARACTERS,
    ]
    found = re.findall(r"\b([\d,]+) (?:characters|levels|words|nodes|lines)", table)
    assert [int(number.replace(",", "")) for number in found] == bounds
