"""`lexitree vectors`: word vectors and trees in; a small file of just their words, or a report, out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lexitree.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table

    from lexitree.lexicon import CoverageReport, WordVectors

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
    list[Path],
    typer.Option("--trees", "-t", help="A bracket file; give the option once for each.", show_default=False),
]
EncodingOption = Annotated[str, typer.Option(help="The encoding of the bracket files; never guessed.")]
OnErrorOption = Annotated[
    Literal["raise", "skip"],
    typer.Option(help="A malformed row or tree: stop there (raise), or leave it out and count it (skip)."),
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
    output: Annotated[Path, typer.Option("--output", "-o", help="The .npz to write.", show_default=False)],
    float16: Annotated[
        bool,
        typer.Option("--float16/--float32", metavar="", help="Half the size; the numbers keep three digits."),
    ] = False,
    dim: DimOption = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
) -> None:
    """Keep only the vectors that your trees need, so that training starts in a second.

    The file is read as a stream: GloVe 840B (5.6 GB unpacked) needs under 200 MB of memory and no unpacking.
    Both the written and the lower-case form of every word are kept.

    Example: lexitree vectors filter glove.840B.300d.zip -t train.txt -t dev.txt -t test.txt -o glove.sst.npz
    """
    from lexitree.errors import FileError
    from lexitree.lexicon import Vocabulary, coverage, write_vectors_npz
    from lexitree.lexicon.vocabulary import UNK

    if output.suffix != ".npz":
        raise FileError(output, "the name of the output must end in .npz")
    counts = _count_words(trees, encoding, on_error)
    kept = _read_wanted(vectors, counts, dim, on_error)
    write_vectors_npz(output, kept, float16=float16)
    report = coverage(counts, Vocabulary(word for word in kept.words if word != UNK))
    typer.echo(f"{output}: {len(kept):,} of {kept.num_read:,} vectors of {kept.dim} numbers")
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
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
) -> None:
    """Show how many words of your trees have a vector: as written, in lower case only, or not at all.

    Example: lexitree vectors coverage glove.sst.npz --trees test.txt
    """
    from lexitree.lexicon import Vocabulary, coverage
    from lexitree.lexicon.vocabulary import UNK

    counts = _count_words(trees, encoding, on_error)
    kept = _read_wanted(vectors, counts, dim, on_error)
    vocabulary = Vocabulary(word for word in kept.words if word != UNK)
    report = coverage(counts, vocabulary, num_shown=num_unknown)
    if as_json:
        source = {"vectors": str(vectors), "dim": kept.dim, "num_read": kept.num_read}
        typer.echo(json.dumps({**source, **report.as_dict()}, indent=2))
        return
    _print_report(report)


def _count_words(paths: Sequence[Path], encoding: str, on_error: Literal["raise", "skip"]) -> Counter[str]:
    """The words of all bracket files with their counts."""
    from lexitree.errors import FileError
    from lexitree.lexicon import count_words
    from lexitree.trees.brackets import ReadReport, read_trees

    counts: Counter[str] = Counter()
    for path in paths:
        report = ReadReport()
        counts += count_words(read_trees(path, encoding=encoding, on_error=on_error, report=report))
        if not report.num_trees:
            raise FileError(path, "holds no trees")
        _warn_skipped(f"{path}: trees", len(report.errors), report.errors)
    return counts


def _read_wanted(
    path: Path, counts: Counter[str], dim: int | None, on_error: Literal["raise", "skip"]
) -> WordVectors:
    """The vectors of the counted words, read with a progress bar."""
    from lexitree.lexicon import vectors_for

    with _progress_bar(path.name) as show_progress:
        vectors = vectors_for(counts, path, dim=dim, on_error=on_error, progress=show_progress)
    _warn_skipped(f"{path}: rows", vectors.num_skipped, vectors.errors)
    return vectors


def _warn_skipped(what: str, num_skipped: int, errors: Sequence[Exception]) -> None:
    if num_skipped:
        typer.echo(f"{what} left out: {num_skipped:,}", err=True)
        for error in errors[:5]:
            typer.echo(f"  {str(error).splitlines()[0]}", err=True)


@contextmanager
def _progress_bar(name: str) -> Generator[Callable[[int, int], None]]:
    """A bar on the terminal (nothing is drawn elsewhere), told the bytes done and the bytes in all."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(name, total=None)

        def show_progress(num_done: int, num_total: int) -> None:
            progress.update(task, completed=num_done, total=num_total)

        yield show_progress


def _print_report(report: CoverageReport) -> None:
    from rich.console import Console

    console = Console()
    console.print(_coverage_table(report))
    if report.most_frequent_unknown:
        unknown = ", ".join(f"{word} ({count})" for word, count in report.most_frequent_unknown)
        console.print(f"Most frequent unknown words: {unknown}", markup=False, highlight=False)


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
