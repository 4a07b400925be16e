"""The pages name what there is: every public name, and only commands that were run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import lexitree

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(bash|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PROMPTS = {"bash": "", "console": "$ "}
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
    for path in (ROOT / "results").glob("*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        commands.add(record["command"])
        commands.update(step["command"] for step in record.get("steps", {}).values())
    return commands


def test_the_api_page_has_every_public_name() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", page))
    assert set(lexitree.__all__) - named == set()


def test_the_first_column_of_the_api_page_has_only_public_names() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    assert len(cells) > 20
    assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} <= set(lexitree.__all__)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_was_run(page: Path) -> None:
    unknown = {
        command for command in commands_of(page) - recorded_commands() if not DOWNLOADS.fullmatch(command)
    }
    assert unknown == set()


def test_commands_are_found_at_all() -> None:
    assert len(commands_of(ROOT / "README.md")) > 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(
        r"`((?:ops|models|levelwise|scripts|recipes|benchmarks|examples|results)/[\w./-]*)`", text
    )
    places = (ROOT, ROOT / "src" / "lexitree", ROOT / "src" / "lexitree" / "ops")
    assert [name for name in named if not any((place / name).exists() for place in places)] == []
