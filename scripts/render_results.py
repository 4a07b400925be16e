"""Fill the blocks between `<!-- results: NAME -->` and `<!-- /results -->` of README and docs from records.

    python scripts/render_results.py            # fill the blocks
    python scripts/render_results.py --check    # exit 1 if a file is not up to date

NAME is a record, `NAME:TABLE` one of the tables of a record, `tour/STEP`, `plugin/STEP`, `service/STEP` or
`data-parallel/STEP` (a command with its output), `file/NAME` (a file of the tour), `example/FILE`, or a table that is
counted from the package or put together from several records: limits, embedded-corpora, speed, robustness,
scale-assumptions, scale-plan, scale-limits. Blocks whose names begin with `paper/`, and the pages of paper/, are left
to paper/scripts/render_pages.py.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from markdown_text import fence, make_table, show_cell
from record_tables import NOT_MEASURED, render_record, render_robustness, render_speed
from result_records import ROOT, read_record
from scale_tables import render_scale_assumptions, render_scale_limits, render_scale_plan

BLOCK = re.compile(r"(<!-- results: (?P<name>\S+) -->\n).*?(<!-- /results -->)", re.DOTALL)
PAPER = "paper/"
"""How the names of blocks begin that only the paper's package can fill."""

Render = Callable[[str], str | None]
"""Returns the content of a block by its name; None leaves it as it is."""


def pages() -> list[Path]:
    """The files that may hold blocks."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def render_page(text: str, render: Render) -> str:
    """The text with every block filled again."""

    def fill(block: re.Match[str]) -> str:
        content = render(block["name"])
        return block[0] if content is None else f"{block[1]}{content}\n{block[3]}"

    return BLOCK.sub(fill, text)


def render_block(name: str) -> str | None:
    """The content of a block of the product's pages."""
    if name.startswith(PAPER):
        return None
    kind, slash, rest = name.partition("/")
    if slash:
        return _PREFIXED[kind](rest)
    if name in _COUNTED:
        return _COUNTED[name]()
    name, _, table = name.partition(":")
    record = read_record(name)
    return render_record(record, table) if record and (not table or table in record) else NOT_MEASURED


def render_step(name: str, record: str = "tour") -> str:
    """A command of the tour, or of another record of commands, and what it printed."""
    steps = (read_record(record) or {}).get("steps", {})
    if name not in steps:
        return NOT_MEASURED
    output = steps[name]["output"]
    return fence("console", f"$ {steps[name]['command']}" + (f"\n{output}" if output else ""))


def render_file(name: str) -> str:
    """A file that the tour works on."""
    files = (read_record("tour") or {}).get("files", {})
    return fence("toml" if name.endswith(".toml") else "text", files[name].rstrip("\n"))


def render_example(name: str) -> str:
    """A program of examples/, or another file there."""
    text = (ROOT / "examples" / name).read_text(encoding="utf-8")
    return fence("toml" if name.endswith(".toml") else "python", text.rstrip("\n"))


def render_embedded_corpora() -> str:
    """The sizes of the embedded corpora, counted."""
    from lexitree.corpora.named import load_corpus

    rows: list[list[str]] = []
    for name in ("mini-reviews", "mini-questions"):
        corpus = load_corpus(name)
        for split in corpus.splits:
            counts = corpus.counts(split)
            labels = ", ".join(
                f"{corpus.label_set.name_of(label)} {num}" for label, num in counts.root_labels.items()
            )
            rows.append(
                [
                    name,
                    split,
                    f"{counts.num_trees:,}",
                    f"{counts.num_words:,}",
                    f"{counts.num_labelled:,}",
                    labels,
                ]
            )
    return make_table(
        ["corpus", "split", "sentences", "words", "labelled nodes", "labels of the sentences"], rows
    )


def render_limits() -> str:
    """The limits of the library and of a service, with what they are about."""
    from lexitree.limits import Limits

    columns = [Limits().as_dict(), Limits.for_service().as_dict()]
    rows = [
        [f"`{each.name}`", each.setting.help, *(show_cell(column, each.name) for column in columns)]
        for each in Limits.describe()
    ]
    return make_table(["limit", "what it is about", "`Limits()`", "`Limits.for_service()`"], rows)


_PREFIXED: dict[str, Callable[[str], str]] = {
    "tour": render_step,
    "plugin": partial(render_step, record="plugin"),
    "service": partial(render_step, record="service-tour"),
    "data-parallel": partial(render_step, record="data-parallel"),
    "file": render_file,
    "example": render_example,
}

_COUNTED: dict[str, Callable[[], str]] = {
    "speed": render_speed,
    "robustness": render_robustness,
    "limits": render_limits,
    "embedded-corpora": render_embedded_corpora,
    "scale-assumptions": render_scale_assumptions,
    "scale-plan": render_scale_plan,
    "scale-limits": render_scale_limits,
}


def main() -> int:
    return run([(path, render_block) for path in pages()], about=__doc__)


def run(todo: Sequence[tuple[Path, Render]], about: str | None) -> int:
    """Fill the blocks of pages, each by its function, or check them, as the command line says."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a file is stale")
    check_only = parser.parse_args().check
    stale: list[str] = []
    for path, render in todo:
        text = path.read_text(encoding="utf-8")
        rendered = render_page(text, render)
        if rendered != text:
            stale.append(str(path.relative_to(ROOT)))
            if not check_only:
                path.write_text(rendered, encoding="utf-8")
    if check_only and stale:
        print(f"not up to date with the records: {', '.join(stale)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
