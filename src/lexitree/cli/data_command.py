"""`lexitree data`: list, download and inspect corpora."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lexitree.cli.console import progress_bars, show_skipped, show_table
from lexitree.cli.options import (
    DataOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    OnErrorOption,
    OneSentenceOption,
    ParserOption,
    StripTagsOption,
    StripTracesOption,
    complete_corpora,
    complete_downloads,
)

if TYPE_CHECKING:
    from lexitree.corpora.corpus import Corpus
    from lexitree.corpora.locations import Package
    from lexitree.corpora.named import CorpusEntry

app = typer.Typer(
    no_args_is_help=True,
    help="""List, download and inspect corpora.

    Two small corpora, mini-reviews and mini-questions, are part of lexitree. Others are searched for in the folder
    given by --data, in the one given by the variable LEXITREE_DATA, and among the downloads. To use your own
    treebank, give its path instead of a name.
    """,
)


@app.command("list")
def list_corpora(data: DataOption = None, as_json: JsonOption = False) -> None:
    """List all corpora: what they are, their licence, and where they are or how to get them.

    Example: lexitree data list
    """
    from lexitree.corpora.locations import PACKAGES
    from lexitree.corpora.named import CORPORA

    rows = [_describe_entry(entry, data) for _, entry in CORPORA.working()]
    named = {row["fetch"] for row in rows}
    rows += [_describe_package(package, data) for package in PACKAGES.values() if package.name not in named]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    cells = [(row["name"], row["what"], row["licence"], row["found"] or row["how_to_get"]) for row in rows]
    show_table(("name", "what", "licence", "where, or how to get it"), cells, numbers=())


@app.command("fetch")
def fetch_corpus(
    name: Annotated[
        str,
        typer.Argument(
            help="sst, trec, glove-840b or glove-6b.", show_default=False, autocompletion=complete_downloads
        ),
    ],
    into: Annotated[
        Path | None,
        typer.Option(help="Destination folder; by default your cache folder.", show_default=False),
    ] = None,
) -> None:
    """Download a corpus or word vectors and verify the checksum.

    An interrupted download is resumed when the command is run again. Complete files are not downloaded again.

    Example: lexitree data fetch sst
    """
    from lexitree.corpora.download import fetch

    with progress_bars() as show_progress:
        fetched = fetch(name, into, progress=show_progress)
    done = "already downloaded, checksums verified" if fetched.already_there else "downloaded and verified"
    typer.echo(f"{fetched.name}: {done}")
    for path in fetched.paths:
        typer.echo(f"  {path}")


@app.command("parse")
def parse_corpora(
    corpora: Annotated[
        list[str],
        typer.Argument(
            help="Folders or files of texts, by path or below the data folder: tables, and .spans.jsonl.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder to write; each corpus gets a folder in it.")
    ],
    parser: ParserOption = None,
    one_sentence: OneSentenceOption = False,
    data: DataOption = None,
    encoding: EncodingOption = "utf-8",
    device: DeviceOption = "auto",
) -> None:
    """Parse texts beforehand, with their labels and spans, for training on another machine.

    Example: lexitree data parse domains/goemotions domains/mams -o runs/domains
    """
    from lexitree.corpora.text_tables import TableSettings
    from lexitree.tasks.classify.annotated_trees import PARSED_SUFFIX, find_annotated, write_parsed

    settings = TableSettings(layout="one" if one_sentence else "text")
    for files in [find_annotated(corpus, data) for corpus in corpora]:
        folder = output / files.name
        folder.mkdir(parents=True, exist_ok=True)
        for split in files.splits:
            texts = files.read(split, settings, parser=parser or "", encoding=encoding, device=device)
            path = folder / f"{split}{PARSED_SUFFIX}.gz"
            write_parsed(texts, path)
            num_trees = sum(len(text.trees) for text in texts)
            typer.echo(f"{path}: {len(texts):,} texts, {num_trees:,} trees")


@app.command("show")
def show_corpus(
    corpus: Annotated[
        str,
        typer.Argument(
            help="A name from `lexitree data list`, or a file or folder.",
            show_default=False,
            autocompletion=complete_corpora,
        ),
    ],
    data: DataOption = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    strip_traces: StripTracesOption = False,
    strip_function_tags: StripTagsOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show the contents of a corpus: trees, nodes and labels of every split, and what was inferred.

    Examples: lexitree data show mini-reviews; lexitree data show my/treebank --json
    """
    from lexitree.corpora.named import load_corpus
    from lexitree.corpora.treebank import chosen_strips

    strip = chosen_strips(traces=strip_traces, function_tags=strip_function_tags)
    loaded = load_corpus(corpus, data=data, encoding=encoding, on_error=on_error, strip=strip)
    if as_json:
        typer.echo(json.dumps(_describe_corpus(loaded), indent=2, ensure_ascii=False))
        return
    typer.echo(f"{loaded.name}: {loaded.inference}")
    if loaded.about:
        typer.echo(loaded.about)
    if loaded.label_set.finer:
        typer.echo(f"Training labels count {loaded.label_set.describe_finer()}.")
    _show_splits(loaded)
    _show_labels(loaded)
    show_skipped(loaded.num_skipped, loaded.skipped)


def _describe_corpus(corpus: Corpus) -> dict[str, Any]:
    """Return what `show` prints as plain data."""
    from dataclasses import asdict

    return {
        "name": corpus.name,
        "about": corpus.about,
        "inference": corpus.inference,
        "supervision": corpus.supervision,
        **corpus.label_set.as_dict(),
        "num_skipped": corpus.num_skipped,
        "skipped": [f"{error.place}: {error.problem}" for error in corpus.skipped],
        "splits": {split: asdict(corpus.counts(split)) for split in corpus.splits},
    }


def _describe_entry(entry: CorpusEntry, data: Path | None) -> dict[str, str]:
    from lexitree.corpora.named import CORPORA, EMBEDDED, find_corpus
    from lexitree.errors import CorpusNotFoundError

    row = {"name": entry.name, "what": entry.what, "licence": entry.licence}
    if entry.package == EMBEDDED:
        package = CORPORA.source(entry.name)
        found = "part of lexitree" if package is None else f"in {package}"
        return {**row, "found": found, "fetch": "", "how_to_get": ""}
    try:
        found = str(find_corpus(entry.name, data))
    except CorpusNotFoundError:
        found = ""
    if entry.how_to_get:
        return {**row, "found": found, "fetch": "", "how_to_get": entry.how_to_get}
    return {**row, "found": found, **_fetched_as(entry.package)}


def _describe_package(package: Package, data: Path | None) -> dict[str, str]:
    from lexitree.corpora.locations import data_folders

    # By name only: verifying the checksums would read gigabytes.
    paths = [folder.path / file.path for folder in data_folders(data) for file in package.local_files]
    found = next((str(path) for path in paths if path.is_file()), "")
    row = {"name": package.name, "what": package.what, "licence": package.licence}
    return {**row, "found": found, **_fetched_as(package.name)}


def _fetched_as(name: str) -> dict[str, str]:
    return {"fetch": name, "how_to_get": f"lexitree data fetch {name}"}


def _show_splits(corpus: Corpus) -> None:
    rows: list[list[str]] = []
    for split in corpus.splits:
        counts = corpus.counts(split)
        sizes = (counts.num_trees, counts.num_words, counts.num_nodes, counts.num_labelled)
        rows.append([split, *(f"{size:,}" for size in sizes)])
    show_table(("split", "trees", "words", "nodes", "labelled nodes"), rows)


def _show_labels(corpus: Corpus) -> None:
    """Show the label frequencies of roots and, if phrases are labelled too, of all nodes.

    If the training split has finer labels than the others, cells of labels that a split cannot have are empty.
    """

    counts = {split: corpus.counts(split) for split in corpus.splits}
    kinds_shown = ("roots", "nodes") if corpus.supervision == "all" else ("roots",)
    columns = [f"{split} {kind}" for split in counts for kind in kinds_shown]
    rows: list[list[str]] = []
    for label in dict.fromkeys((*corpus.label_set.trained_ids, *corpus.labels)):
        cells: list[str] = []
        for split_counts in counts.values():
            kinds = (split_counts.root_labels, split_counts.node_labels)[: len(kinds_shown)]
            cells += [f"{kind[label]:,}" if label in kind else "" for kind in kinds]
        rows.append([corpus.label_set.describe(label), *cells])
    show_table(("label", *columns), rows)
