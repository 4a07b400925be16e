"""`lexitree trees`: check, convert, count, score and draw files of trees."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from lexitree.cli.console import (
    messages,
    percent,
    printable,
    show_error,
    show_skipped,
    show_table,
    show_tree,
)
from lexitree.cli.console import output as screen
from lexitree.cli.options import (
    Direction,
    EncodingOption,
    JsonOption,
    OnErrorOption,
    OutputOption,
    StripTagsOption,
    StripTracesOption,
    flag,
)
from lexitree.errors import OnError
from lexitree.files import BRACKET_SUFFIXES, JSON_LINES_SUFFIXES, choose_format
from lexitree.settings import MAX_COUNT

if TYPE_CHECKING:
    from lexitree.errors import InputError, TreeError
    from lexitree.evaluation.bracket_figures import Matches
    from lexitree.evaluation.bracket_score import BracketScores
    from lexitree.trees.tree import Tree

    Change = Callable[[Tree], Tree | None]

app = typer.Typer(
    no_args_is_help=True,
    help="""Check, convert, binarize, count, score and draw trees.

    Files contain brackets, with trees on one or several lines, or JSON Lines (.jsonl); .gz is decompressed. Trees are
    read as a stream, so files may be of any size.
    """,
)

TreesArgument = Annotated[
    list[Path],
    typer.Argument(help="Files of trees; - is standard input.", show_default=False),
]
Format = Literal["brackets", "jsonl"]
FormatOption = Annotated[
    Format | None,
    typer.Option("--to", help="Output format. By default, the ending of the output file decides."),
]


@app.command()
def check(files: TreesArgument, encoding: EncodingOption = "utf-8", on_error: OnErrorOption = "skip") -> None:
    """Check files and list every malformed tree; exit with status 1 if there are any.

    Example: lexitree trees check train.txt
    """
    from lexitree.pipeline.inputs import read_tree_files
    from lexitree.trees.brackets import ReadReport

    report = ReadReport()
    num_trees = sum(1 for _ in read_tree_files(files, encoding, on_error, report))
    for error in report.errors:
        show_error(error)
    if report.num_errors > len(report.errors):
        messages.print(f"... and {report.num_errors - len(report.errors):,} more")
    screen.print(f"{num_trees:,} good trees, {report.num_errors:,} malformed")
    if not num_trees and not report.num_errors:
        messages.print("[yellow]no trees found[/yellow]")
    if report.num_errors:
        raise typer.Exit(1)


@app.command()
def convert(
    files: TreesArgument,
    to: FormatOption = None,
    output: OutputOption = None,
    strip_traces: StripTracesOption = False,
    strip_function_tags: StripTagsOption = False,
    collapse: Annotated[bool, flag("--collapse", text="Join unary chains: S over VP becomes S+VP.")] = False,
    expand: Annotated[bool, flag("--expand", text="Undo --collapse.")] = False,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
) -> None:
    """Convert trees to brackets or JSON Lines; optionally remove traces and function tags or join unary chains.

    Example: lexitree trees convert wsj.mrg --strip-traces --strip-function-tags -o wsj.jsonl

    Without --to and an output file, JSON Lines are printed.
    """
    from lexitree.trees import brackets as penn
    from lexitree.trees.binarize import collapse_unary, expand_unary

    asked: list[tuple[bool, Change]] = [
        (strip_traces, penn.strip_traces),
        (strip_function_tags, penn.strip_function_tags),
        (collapse, collapse_unary),
        (expand, expand_unary),
    ]
    changes = [change for is_asked, change in asked if is_asked]
    _pass_through(files, changes, _choose_format(output, to, "jsonl"), output, encoding, on_error)


@app.command()
def binarize(
    files: TreesArgument,
    direction: Annotated[
        Direction,
        typer.Option(
            "--direction",
            "-d",
            help="Which child becomes the innermost: the first (left), the last (right) or the head, as in SST.",
        ),
    ] = "right",
    undo: Annotated[bool, flag("--undo", text="Remove nodes labelled @X.")] = False,
    to: FormatOption = None,
    output: OutputOption = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
) -> None:
    """Split phrases of three or more children into pairs, or undo that.

    Nodes inserted into an NP are labelled @NP, so that --undo restores the original exactly.

    Example: lexitree trees binarize penn.txt --direction head -o binary.txt
    """
    from lexitree.trees.binarize import binarize as split_wide
    from lexitree.trees.binarize import unbinarize

    change = unbinarize if undo else partial(split_wide, direction=direction)
    _pass_through(files, [change], _choose_format(output, to, "brackets"), output, encoding, on_error)


def _choose_format(output: Path | None, asked: Format | None, default: Format) -> Format:
    endings: dict[str, tuple[str, ...]] = {"brackets": BRACKET_SUFFIXES, "jsonl": JSON_LINES_SUFFIXES}
    return cast(Format, choose_format(output, endings, asked=asked, default=default, option="--to"))


def _pass_through(
    files: list[Path],
    changes: Sequence[Change],
    to: Format,
    output: Path | None,
    encoding: str,
    on_error: OnError,
) -> None:
    """Read trees, apply the changes to each, and write them."""
    from lexitree.corpora.treebank import read_any
    from lexitree.errors import TreeError
    from lexitree.trees.brackets import ReadReport
    from lexitree.writing import open_output

    report = ReadReport()
    with open_output(output) as write:
        for path in files:
            num_before = report.num_trees + report.num_errors
            for tree in read_any(path, encoding=encoding, on_error=on_error, report=report):
                try:
                    line = _changed_line(tree, changes, to)
                except TreeError as error:
                    number = report.num_trees + report.num_errors - num_before
                    report.num_trees -= 1
                    report.note(_place_error(error, path, number, tree), on_error)
                else:
                    write(line)
    show_skipped(report.num_errors, report.errors)


def _changed_line(tree: Tree, changes: Sequence[Change], to: Format) -> str:
    """Return the line of a tree after all changes; an empty string if no word remains."""
    from lexitree.trees.brackets import tree_to_brackets
    from lexitree.trees.jsonl import tree_to_json

    changed: Tree | None = tree
    for change in changes:
        changed = change(changed) if changed is not None else None
    if changed is None:
        return ""
    if to == "jsonl":
        return json.dumps(tree_to_json(changed), ensure_ascii=False) + "\n"
    return tree_to_brackets(changed) + "\n"


def _place_error(error: TreeError, path: Path, number: int, tree: Tree) -> InputError:
    """Locate the error by file, by the number of the tree (malformed ones included) and by its words."""
    from lexitree.corpora.corpus import sentence_of
    from lexitree.errors import InputError, Place
    from lexitree.files import display_name

    place = Place(f"{display_name(path)}, tree {number}")
    return InputError(place, f"{error.message} (sentence: {sentence_of(tree, 8)})", remedy=error.remedy)


@app.command()
def statistics(
    files: TreesArgument,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    as_json: JsonOption = False,
) -> None:
    """Show the number of trees, nodes, words and labels, and the length, depth and width of the trees.

    Example: lexitree trees statistics train.txt dev.txt
    """
    from lexitree.pipeline.inputs import read_tree_files
    from lexitree.trees.brackets import ReadReport
    from lexitree.trees.statistics import tree_statistics

    report = ReadReport()
    counted = tree_statistics(read_tree_files(files, encoding, on_error, report)).as_dict()
    if as_json:
        typer.echo(json.dumps(counted, indent=2, ensure_ascii=False))
    else:
        rows = [(key.replace("_", " ").removeprefix("num "), _shown(value)) for key, value in counted.items()]
        show_table(("what", "value"), rows, numbers=(), has_header=False)
    show_skipped(report.num_errors, report.errors)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, dict):
        pairs = list(cast(dict[str, int], value).items())
        shown = ", ".join(f"{key or '(none)'}: {count:,}" for key, count in pairs[:12])
        return shown + (f", ... {len(pairs) - 12} more" if len(pairs) > 12 else "")
    return f"{value:,}" if isinstance(value, int) else str(value)


@app.command()
def score(
    gold: Annotated[Path, typer.Argument(help="Gold trees; - is standard input.", show_default=False)],
    guessed: Annotated[
        Path, typer.Argument(help="Trees of the same sentences, in the same order.", show_default=False)
    ],
    by_label: Annotated[bool, flag("--by-label", text="Add the scores of each label.")] = False,
    by_length: Annotated[bool, flag("--by-length", text="Add the scores by sentence length.")] = False,
    tags: Annotated[
        Literal["gold", "own"],
        typer.Option(
            help="What marks punctuation, which does not count: the gold tags, or each tree's own, as in evalb."
        ),
    ] = "gold",
    as_json: JsonOption = False,
    encoding: EncodingOption = "utf-8",
    on_error: Annotated[
        OnError,
        typer.Option(help="On sentences whose words differ: stop (raise), or skip and report (skip)."),
    ] = "raise",
) -> None:
    """Compare the trees of two files: labelled precision, recall and F1 as evalb computes them.

    Function tags, traces, punctuation and ROOT do not count.

    Example: lexitree trees score gold.txt mine.txt --by-label
    """
    from lexitree.evaluation.tree_files import score_tree_files

    scores = score_tree_files(gold, guessed, tags=tags, on_error=on_error, encoding=encoding)
    if as_json:
        typer.echo(json.dumps(scores.as_dict(), indent=2, ensure_ascii=False))
    else:
        _show_scores(scores, by_label=by_label, by_length=by_length)
    for fault in scores.faults:
        messages.out(printable(f"not counted: {fault.problem}"), highlight=False)


def _show_scores(scores: BracketScores, *, by_label: bool, by_length: bool) -> None:
    overall = scores.overall
    screen.print(
        f"{overall.num_valid:,} sentences:  F1 [bold]{percent(overall.f1)}[/bold]"
        f"  precision {percent(overall.precision)}  recall {percent(overall.recall)}"
        f"  exact {percent(overall.complete_match)}  tags {percent(overall.tagging_accuracy)}"
    )
    shown: list[tuple[str, Sequence[tuple[str, Matches]]]] = []
    if by_label:
        shown.append(("label", [(each.label, each) for each in scores.by_label]))
    if by_length:
        lengths = [(f"{each.first}-{each.last} words", each.score) for each in scores.by_length()]
        shown.append(("length", lengths))
    for title, rows in shown:
        show_table(
            [title, "gold", "guessed", "matched", "precision", "recall", "F1"],
            [
                [printable(name), *(f"{count:,}" for count in (each.gold, each.guessed, each.matched))]
                + [percent(share) for share in (each.precision, each.recall, each.f1)]
                for name, each in rows
            ],
        )


@app.command()
def draw(
    files: TreesArgument,
    number: Annotated[
        int, typer.Option("--number", "-n", help="Number of trees to draw.", min=1, max=MAX_COUNT)
    ] = 1,
    first: Annotated[int, typer.Option(help="First tree to draw, counted from 1.", min=1, max=MAX_COUNT)] = 1,
    heads: Annotated[bool, flag("--heads", text="Show head words, found by Collins' rules.")] = False,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
) -> None:
    """Draw trees in the terminal, with one colour per label.

    Example: lexitree trees draw penn.txt --heads
    """
    import itertools

    from lexitree.pipeline.inputs import read_tree_files
    from lexitree.results.labelled_tree import LabelledTree
    from lexitree.trees.brackets import ReadReport
    from lexitree.trees.head_rules import head_words

    report = ReadReport()
    trees = read_tree_files(files, encoding, on_error, report)
    for tree in itertools.islice(trees, first - 1, first - 1 + number):
        show_tree(LabelledTree.from_tree(tree, head_words(tree)) if heads else tree)
    show_skipped(report.num_errors, report.errors)
