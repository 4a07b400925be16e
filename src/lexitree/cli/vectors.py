"""`lexitree vectors`: word vectors and trees in; a small file of just their words, or a report, out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lexitree.cli.console import messages, output, show_skipped
from lexitree.cli.options import DataOption, EncodingOption, JsonOption, OnErrorOption

if TYPE_CHECKING:
    from rich.table import Table

    from lexitree.errors import OnError
    from lexitree.lexicon import CoverageReport, WordVectors
    from lexitree.trees.brackets import ReadReport
    from lexitree.trees.tree import Tree

app = typer.Typer(
    no_args_is_help=True,
    help="""Word vectors: cut a large file down to the words of your trees, and see how many words it knows.

    Files: GloVe and fastText text (.txt, .vec), word2vec binary (.bin), either packed (.gz, .zip), and .npz.
    A word of a tree is looked up as it is written, else in lower case; else it is unknown and gets the mean.
    """,
)

VectorsArgument = Annotated[
    Path,
    typer.Argument(help="Word vectors: .txt, .vec, .bin (also .gz or .zip) or .npz.", show_default=False),
]
TreesOption = Annotated[
    list[str],
    typer.Option(
        "--trees",
        "-t",
        help="A file (brackets, .jsonl or .tsv), a folder or a corpus by name; give the option once for each.",
        show_default=False,
    ),
]
VectorsOutputOption = Annotated[
    Path, typer.Option("--output", "-o", help="The .npz to write.", show_default=False)
]
DimOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="The length of a vector, where the first rows mislead; chooses among the files of a .zip.",
        show_default=False,
    ),
]


@app.command("filter")
def filter_vectors(
    vectors: VectorsArgument,
    trees: TreesOption,
    path: VectorsOutputOption,
    float16: Annotated[
        bool,
        typer.Option("--float16/--float32", metavar="", help="Half the size; the numbers keep three digits."),
    ] = False,
    dim: DimOption = None,
    data: DataOption = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
) -> None:
    """Keep only the vectors that your trees need, so that training starts in a second.

    The file is read as a stream: memory grows with the words kept, not with the file; nothing is unpacked.
    Both the written and the lower-case form of every word are kept.

    Example: lexitree vectors filter glove.840B.300d.zip -t train.txt -t dev.txt -t test.txt -o glove.sst.npz
    """
    from lexitree.errors import FileError
    from lexitree.lexicon import Vocabulary, write_vectors_npz
    from lexitree.lexicon import vocabulary as coverage
    from lexitree.lexicon.vocabulary import UNK

    if path.suffix != ".npz":
        raise FileError(path, "the name of the output must end in .npz")
    counts = count_source_words(trees, data, encoding, on_error)
    kept = _read_wanted(vectors, counts, dim, on_error)
    write_vectors_npz(path, kept, float16=float16)
    report = coverage(counts, Vocabulary(word for word in kept.words if word != UNK))
    typer.echo(f"{path}: {len(kept):,} of {kept.num_read:,} vectors of {kept.dim} numbers")
    shares = f"{report.tokens.covered:.2%} of the running words, {report.types.covered:.2%} of the distinct"
    typer.echo(f"covered: {shares}; `lexitree vectors coverage` shows which are missing")


@app.command("coverage")
def show_coverage(
    vectors: VectorsArgument,
    trees: TreesOption,
    num_unknown: Annotated[
        int, typer.Option("--unknown", min=0, help="How many of the most frequent unknown words to show.")
    ] = 20,
    as_json: JsonOption = False,
    dim: DimOption = None,
    data: DataOption = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
) -> None:
    """Show how many words of your trees have a vector: as written, in lower case only, or not at all.

    Example: lexitree vectors coverage glove.sst.npz --trees sst
    """
    from lexitree.lexicon import Vocabulary
    from lexitree.lexicon import vocabulary as coverage
    from lexitree.lexicon.vocabulary import UNK

    counts = count_source_words(trees, data, encoding, on_error)
    kept = _read_wanted(vectors, counts, dim, on_error)
    vocabulary = Vocabulary(word for word in kept.words if word != UNK)
    report = coverage(counts, vocabulary, num_shown=num_unknown)
    if as_json:
        source = {"vectors": str(vectors), "dim": kept.dim, "num_read": kept.num_read}
        typer.echo(json.dumps({**source, **report.as_dict()}, indent=2))
        return
    _print_report(report)


def count_source_words(
    sources: Sequence[str], data: Path | None, encoding: str, on_error: OnError
) -> Counter[str]:
    """The words of all files and corpora with their counts."""
    from lexitree.errors import FileError
    from lexitree.lexicon import count_words
    from lexitree.trees.brackets import ReadReport

    counts: Counter[str] = Counter()
    for source in sources:
        report = ReadReport()
        found = count_words(_trees_of(source, data, encoding, on_error, report))
        if not found:
            raise FileError(source, "holds no trees")
        counts += found
        show_skipped(report.num_errors, report.errors)
    return counts


def _trees_of(
    source: str, data: Path | None, encoding: str, on_error: OnError, report: ReadReport
) -> Iterator[Tree]:
    """The trees of a file, or of all splits of a folder or of a corpus that goes by a name."""
    from lexitree.corpora import SPLITS, load_corpus
    from lexitree.corpora.named import find_entry, find_path
    from lexitree.corpora.treebank import find_split_file, read_any

    if find_entry(source):
        # The other settings are for files, of which there may be some beside it.
        corpus = load_corpus(source, data=data)
        yield from chain.from_iterable(corpus.splits.values())
        return
    path = find_path(source)
    files = [find_split_file(path, split) for split in SPLITS] if path.is_dir() else [path]
    for file in filter(None, files):
        yield from read_any(file, encoding=encoding, on_error=on_error, report=report)


def _read_wanted(path: Path, counts: Counter[str], dim: int | None, on_error: OnError) -> WordVectors:
    """The vectors of the counted words, read with a progress bar."""
    from lexitree.lexicon import vectors_for

    with progress_bar(path.name) as show_progress:
        vectors = vectors_for(counts, path, dim=dim, on_error=on_error, progress=show_progress)
    show_skipped(vectors.num_skipped, vectors.errors, what="rows")
    return vectors


@contextmanager
def progress_bar(name: str) -> Generator[Callable[[int, int], None]]:
    """A bar on the terminal (nothing is drawn elsewhere), told the bytes done and the bytes in all."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=messages, transient=True, disable=not messages.is_terminal) as progress:
        task = progress.add_task(name, total=None)

        def show_progress(num_done: int, num_total: int) -> None:
            progress.update(task, completed=num_done, total=num_total)

        yield show_progress


def _print_report(report: CoverageReport) -> None:
    output.print(_coverage_table(report))
    if report.most_frequent_unknown:
        unknown = ", ".join(f"{word} ({count})" for word, count in report.most_frequent_unknown)
        output.print(f"Most frequent unknown words: {unknown}", markup=False)


def _coverage_table(report: CoverageReport) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE)
    table.add_column("found")
    table.add_column("distinct words", justify="right")
    table.add_column("", justify="right")
    table.add_column("running words", justify="right")
    table.add_column("", justify="right")
    kinds: tuple[tuple[Literal["exact", "lower", "unknown"], str], ...] = (
        ("exact", "as written"),
        ("lower", "in lower case"),
        ("unknown", "not at all"),
    )
    for kind, shown in kinds:
        cells: list[str] = []
        for counts in (report.types, report.tokens):
            cells += [f"{getattr(counts, kind):,}", f"{counts.share(kind):.2%}"]
        table.add_row(shown, *cells)
    return table
