"""`lexitree rerank heads`, and the tables that the rerank commands print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lexitree.cli.console import output, percent, show_skipped, show_table, show_tree
from lexitree.cli.options import (
    BackendOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    OnErrorOption,
)
from lexitree.errors import FileError
from lexitree.settings import MAX_COUNT
from lexitree_paper.cli.analysis_tables import show_overlap

if TYPE_CHECKING:
    from lexitree_paper.rerank.scores import RerankScores

RerankerArgument = Annotated[
    str, typer.Argument(metavar="RERANKER", help="The directory of a saved reranker.")
]
FEWEST_BRACKETS = 10
"""A label that is rarer in the gold trees has no row of its own."""


def show_scores(scores: RerankScores, base_weight: float) -> None:
    """Show the reranker between its bounds."""
    chosen, bounds = scores.chosen, scores.bounds
    at_random = (bounds.random.f1, bounds.random.precision, bounds.random.recall)
    rows = [["at random", *map(percent, at_random), "–"]]
    choices = {"the parser's": bounds.first, "the reranker's": chosen, "the best (oracle)": bounds.best}
    for name, figures in choices.items():
        values = (figures.f1, figures.precision, figures.recall, figures.overall.complete_match)
        rows.append([name, *map(percent, values)])
    title = f"{chosen.overall.num_sentences:,} sentences, up to {scores.k} candidates each"
    show_table(("choice", "F1", "precision", "recall", "complete"), rows, title=title)
    test = scores.significance
    output.print(
        f"{100 * scores.gap_closed:.1f} % of the way from the parser to the oracle;"
        f" difference {100 * test.difference:+.2f} (95 % between {100 * test.low:+.2f} and {100 * test.high:+.2f}),"
        f" p {test.shown_p()}; the parser's score counts {base_weight:g} times",
        soft_wrap=True,
    )


def show_details(scores: RerankScores) -> None:
    """Show F1 by sentence length and by label, beside the parser's."""
    lengths = [(f"{row['first']}–{row['last']}", row["sentences"], row) for row in scores.by_length()]
    labels = [(row["label"], row["gold"], row) for row in scores.by_label() if row["gold"] >= FEWEST_BRACKETS]
    for title, kinds, found in (
        ("by sentence length", ("words", "sentences"), lengths),
        (f"by label, from {FEWEST_BRACKETS} on", ("label", "in gold trees"), labels),
    ):
        rows = [
            (name, f"{count:,}", percent(row["first_f1"]), percent(row["f1"])) for name, count, row in found
        ]
        show_table((*kinds, "the parser's F1", "the reranker's F1"), rows, title=title)


def heads_command(
    reranker: RerankerArgument,
    trees: Annotated[Path, typer.Argument(help="A file of trees with Penn labels; - reads standard input.")],
    beside: Annotated[
        str | None,
        typer.Option(help="Another model with heads, such as one for sentiment, to compare with."),
    ] = None,
    draw: Annotated[
        int, typer.Option(help="Number of trees to draw with their learned heads.", min=0, max=MAX_COUNT)
    ] = 0,
    as_json: JsonOption = False,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
) -> None:
    """Draw the head words that a reranker has learned, and count how often they are those of Collins' rules.

    [bold]Look at one:[/bold]  echo "(S (NP (DT the) (NN film)) (VP (VBZ works)))" | lexitree rerank heads RERANKER -
    --draw 1

    A phrase is a node with two or more words; see `lexitree analyze heads`. Traces are removed first.
    """
    from lexitree.corpora.treebank import strip_trees
    from lexitree.pipeline.inputs import read_tree_files
    from lexitree.results.labelled_tree import LabelledTree
    from lexitree.saving.pretrained import from_pretrained
    from lexitree.trees.brackets import ReadReport
    from lexitree_paper.analyze.head_overlap import find_reranker_heads, model_overlap, reranker_overlap
    from lexitree_paper.rerank.reranker import load_reranker

    report = ReadReport()
    found = list(strip_trees(read_tree_files([trees], encoding, on_error, report), ["traces"]))
    show_skipped(report.num_errors, report.errors)
    if not found:
        raise FileError(trees, "has no trees")
    model = load_reranker(reranker, device=device, backend=backend).model
    overlaps = {"reranker": reranker_overlap(model, found)}
    if beside is not None:
        overlaps[beside] = model_overlap(from_pretrained(beside, device=device, backend=backend), found)
    if as_json:
        typer.echo(json.dumps({name: overlap.as_dict() for name, overlap in overlaps.items()}, indent=2))
        return
    for headed in find_reranker_heads(model, found[:draw]):
        show_tree(LabelledTree.from_tree(headed.source, headed.source_heads()))
    for name, overlap in overlaps.items():
        show_overlap(overlap, 0, title=f"{name}: heads")
