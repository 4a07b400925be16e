"""`lexitree trees`: files of trees in; a check, another form, statistics or drawings out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from lexitree.cli.options import EncodingOption, JsonOption, OnErrorOption, OutputOption, flag

if TYPE_CHECKING:
    from lexitree.trees.tree import Tree

app = typer.Typer(
    no_args_is_help=True,
    help="""Trees: check files, convert and binarize them, count what is in them, draw them.

    Files are brackets (one tree a line or spread over lines) or, by their ending, .jsonl; .gz is unpacked. Reading is
    streaming, so the size of a file does not matter.
    """,
)

TreesArgument = Annotated[
    list[Path],
    typer.Argument(help="Files of trees; - is standard input.", show_default=False),
]
FormatOption = Annotated[Literal["brackets", "jsonl"], typer.Option("--to", help="The form of the output.")]


@app.command()
def check(files: TreesArgument, encoding: EncodingOption = "utf-8", on_error: OnErrorOption = "skip") -> None:
    """Read files and list every malformed tree with its place; exit with 1 if there is one.

    Example: lexitree trees check train.txt
    """
    from lexitree.cli.console import messages, output, show_error
    from lexitree.cli.streams import stream_trees
    from lexitree.trees.brackets import ReadReport

    report = ReadReport()
    num_trees = sum(1 for _ in stream_trees(files, encoding, on_error, report))
    for error in report.errors:
        show_error(error)
    if report.num_errors > len(report.errors):
        messages.print(f"... and {report.num_errors - len(report.errors):,} more")
    output.print(f"{num_trees:,} good trees, {report.num_errors:,} malformed")
    if not num_trees and not report.num_errors:
        messages.print("[yellow]there is nothing in there[/yellow]")
    if report.num_errors:
        raise typer.Exit(1)


@app.command()
def convert(
    files: TreesArgument,
    to: FormatOption = "jsonl",
    output: OutputOption = None,
    strip_traces: Annotated[bool, flag("--strip-traces", text="Drop -NONE- leaves.")] = False,
    strip_function_tags: Annotated[
        bool, flag("--strip-function-tags", text="Cut NP-SBJ-1 down to NP.")
    ] = False,
    collapse: Annotated[bool, flag("--collapse", text="Join unary chains: S over VP becomes S+VP.")] = False,
    expand: Annotated[bool, flag("--expand", text="Undo --collapse.")] = False,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
) -> None:
    """Write trees in another form: brackets or JSON Lines, without traces, with unary chains joined.

    Example: lexitree trees convert wsj.mrg --strip-traces --strip-function-tags -o wsj.jsonl
    """
    from lexitree.corpora.treebank import Strip, strip_trees
    from lexitree.trees.binarize import collapse_unary, expand_unary

    strip: list[Strip] = []
    if strip_traces:
        strip.append("traces")
    if strip_function_tags:
        strip.append("function-tags")
    changes: list[Callable[[Iterable[Tree]], Iterable[Tree]]] = [lambda trees: strip_trees(trees, strip)]
    if collapse:
        changes.append(lambda trees: map(collapse_unary, trees))
    if expand:
        changes.append(lambda trees: map(expand_unary, trees))
    _pass_through(files, changes, to, output, encoding, on_error)


@app.command()
def binarize(
    files: TreesArgument,
    direction: Annotated[
        Literal["left", "right", "head"],
        typer.Option(
            "--direction", "-d", help="Which child stays innermost: the first, the last, or the head."
        ),
    ] = "right",
    undo: Annotated[bool, flag("--undo", text="Take the nodes labelled @X out again.")] = False,
    to: FormatOption = "brackets",
    output: OutputOption = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
) -> None:
    """Split phrases of three and more parts into pairs, or put them together again.

    The new nodes inside an NP are labelled @NP, so --undo gives back exactly what was there.

    Example: lexitree trees binarize penn.txt --direction head -o binary.txt
    """
    from lexitree.trees.binarize import binarize as split_wide
    from lexitree.trees.binarize import unbinarize

    def change(trees: Iterable[Tree]) -> Iterator[Tree]:
        for tree in trees:
            yield unbinarize(tree) if undo else split_wide(tree, direction)

    _pass_through(files, [change], to, output, encoding, on_error)


def _pass_through(
    files: list[Path],
    changes: list[Callable[[Iterable[Tree]], Iterable[Tree]]],
    to: Literal["brackets", "jsonl"],
    output: Path | None,
    encoding: str,
    on_error: Literal["raise", "skip"],
) -> None:
    """Read trees, change them one after the other, and write them."""
    from lexitree.cli.streams import open_output, show_skipped, stream_trees
    from lexitree.trees.brackets import ReadReport, write_trees
    from lexitree.trees.jsonl import write_json_lines

    report = ReadReport()
    trees: Iterable[Tree] = stream_trees(files, encoding, on_error, report)
    for change in changes:
        trees = change(trees)
    with open_output(output) as write:
        (write_json_lines if to == "jsonl" else write_trees)(trees, write)
    show_skipped(report)


@app.command()
def statistics(
    files: TreesArgument,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    as_json: JsonOption = False,
) -> None:
    """Count trees, nodes, words and labels, and show how long, deep and wide the trees are.

    Example: lexitree trees statistics train.txt dev.txt
    """
    from rich.table import Table

    from lexitree.cli.console import output
    from lexitree.cli.streams import show_skipped, stream_trees
    from lexitree.trees.brackets import ReadReport
    from lexitree.trees.statistics import tree_statistics

    report = ReadReport()
    counted = tree_statistics(stream_trees(files, encoding, on_error, report)).as_dict()
    if as_json:
        typer.echo(json.dumps(counted, indent=2, ensure_ascii=False))
    else:
        table = Table(show_header=False)
        for key, value in counted.items():
            table.add_row(key.replace("_", " ").removeprefix("num "), _shown(value))
        output.print(table)
    show_skipped(report)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, dict):
        pairs = list(cast(dict[str, int], value).items())
        shown = ", ".join(f"{key or '(none)'}: {count:,}" for key, count in pairs[:12])
        return shown + (f", ... {len(pairs) - 12} more" if len(pairs) > 12 else "")
    return f"{value:,}" if isinstance(value, int) else str(value)


@app.command()
def draw(
    files: TreesArgument,
    number: Annotated[int, typer.Option("--number", "-n", help="How many trees.", min=1)] = 1,
    first: Annotated[int, typer.Option(help="The first tree to draw, counted from 1.", min=1)] = 1,
    heads: Annotated[bool, flag("--heads", text="Show head words by Collins' rules.")] = False,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
) -> None:
    """Draw trees in the terminal, with a colour for each label.

    Example: lexitree trees draw penn.txt --heads
    """
    import itertools

    from lexitree.cli.console import show_tree
    from lexitree.cli.streams import show_skipped, stream_trees
    from lexitree.trees.brackets import ReadReport
    from lexitree.trees.draw import head_notes
    from lexitree.trees.head_rules import head_words

    report = ReadReport()
    trees = stream_trees(files, encoding, on_error, report)
    for tree in itertools.islice(trees, first - 1, first - 1 + number):
        notes = head_notes(tree, head_words(tree).tolist()) if heads else None
        show_tree(tree, notes, tree.labels)
    show_skipped(report)
