"""`lexitree rerank heads`: a reranker and Penn trees in, its learned head words out, beside Collins' rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from lexitree.cli.options import (
    BackendOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    OnErrorOption,
    RerankerArgument,
)


def heads_command(
    reranker: RerankerArgument,
    trees: Annotated[Path, typer.Argument(help="A file of trees with Penn labels; - reads standard input.")],
    beside: Annotated[
        str | None,
        typer.Option(help="Another model with heads, such as one for sentiment, to be set beside it."),
    ] = None,
    draw: Annotated[int, typer.Option(help="Draw so many of the trees with their learned heads.", min=0)] = 0,
    as_json: JsonOption = False,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
) -> None:
    """The head words that a reranker has learned: drawn, and how often they are those of Collins' rules.

    [bold]Look at one:[/bold]  echo "(S (NP (DT the) (NN film)) (VP (VBZ works)))" | lexitree rerank heads RERANKER -
    --draw 1

    A phrase is a node with two or more words; see `lexitree analyze heads`. Traces are taken off first.
    """
    from lexitree.analysis.head_overlap import model_overlap, reranker_overlap
    from lexitree.cli.analysis_tables import show_overlap
    from lexitree.cli.console import show_skipped
    from lexitree.cli.rerank_tables import draw_heads
    from lexitree.corpora.treebank import strip_trees
    from lexitree.errors import FileError
    from lexitree.ops.devices import choose_device
    from lexitree.pipeline.inputs import read_tree_files
    from lexitree.saving.pretrained import from_pretrained
    from lexitree.tasks.rerank.saved_reranker import load_reranker
    from lexitree.trees.brackets import ReadReport

    report = ReadReport()
    chosen = choose_device(device)
    found = list(strip_trees(read_tree_files([trees], encoding, on_error, report), ["traces"]))
    show_skipped(report.num_errors, report.errors)
    if not found:
        raise FileError(trees, "has no trees")
    model = load_reranker(reranker, device=chosen, backend=backend).model
    overlaps = {"reranker": reranker_overlap(model, found)}
    if beside is not None:
        overlaps[beside] = model_overlap(from_pretrained(beside, device=chosen, backend=backend), found)
    if as_json:
        typer.echo(json.dumps({name: overlap.as_dict() for name, overlap in overlaps.items()}, indent=2))
        return
    draw_heads(model, found[:draw])
    for name, overlap in overlaps.items():
        show_overlap(overlap, 0, title=f"{name}: heads")
