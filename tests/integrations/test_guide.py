"""The programs of the guide's pages on other tools and on columns print what their comments say."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
SECTIONS = [
    (title, section)
    for page in ("columns.md", "integrations.md")
    for title, section in re.findall(
        r"^## ([^\n]+)\n(.*?)(?=^## |\Z)",
        (GUIDE / page).read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    if "```python" in section
]
NEEDED = {
    "Batches of columns": ("datasets", "lexitree.integrations.labeller"),
    "scikit-learn": ("sklearn", "lexitree.sklearn"),
    "spaCy": ("spacy", "lexitree.integrations.spacy_component"),
}
"""By section: the package that its program needs, and the module that an installed package's entry point names."""


def test_every_section_is_run() -> None:
    assert [title for title, _ in SECTIONS] == list(NEEDED)


@pytest.mark.slow
@pytest.mark.parametrize(("title", "section"), SECTIONS, ids=[title for title, _ in SECTIONS])
def test_the_program_prints_what_the_page_says(
    title: str, section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, module = NEEDED[title]
    pytest.importorskip(package, reason=f"{package} is not installed")
    importlib.import_module(module)
    monkeypatch.chdir(tmp_path)
    code = "".join(re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    assert printed.getvalue().splitlines() == re.findall(r"^# (.*)$", code, re.MULTILINE)
