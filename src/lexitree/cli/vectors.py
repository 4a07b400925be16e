"""`lexitree vectors`: reduce word-vector files to the words of some trees, and report their coverage."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lexitree.cli.console import output, progress_bars, show_skipped, show_table
from lexitree.cli.options import DataOption, EncodingOption, JsonOption, Lookup, OnErrorOption
from lexitree.files import choose_format
from lexitree.settings import MAX_COUNT, MAX_SIZE

if TYPE_CHECKING:
    from lexitree.errors import OnError
    from lexitree.lexicon.vector_streams import WordVectors
    from lexitree.lexicon.vocabulary import CoverageReport
    from lexitree.trees.brackets import ReadReport
    from lexitree.trees.tree import Tree

app = typer.Typer(
    no_args_is_help=True,
    help="""Reduce word-vector files to the words of your trees, and report their coverage.

    Supported: GloVe and fastText text (.txt, .vec) and word2vec binary (.bin), also compressed (.gz, .zip), and .npz.
    A word is looked up as written, then in lower case; otherwise it is unknown and gets the mean of all vectors.
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
        help="A file (brackets, .jsonl or .tsv), a folder or the name of a corpus; may be repeated.",
        show_default=False,
    ),
]
VectorsOutputOption = Annotated[
    Path, typer.Option("--output", "-o", help="The .npz file to write.", show_default=False)
]
DimOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MAX_SIZE,
        help="Dimension of the vectors, if it cannot be inferred; also selects a file of a .zip.",
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
        typer.Option(
            "--float16/--float32", metavar="", help="Halve the file size; numbers keep three digits."
        ),
    ] = False,
    dim: DimOption = None,
    data: DataOption = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
) -> None:
    """Keep only the vectors that some trees need, so that training starts within a second.

    The file is read as a stream and never unpacked: memory grows with the words that are kept, not with the file.
    Both the written and the lower-case form of every word are kept.

    Example: lexitree vectors filter glove.840B.300d.zip -t train.txt -t dev.txt -t test.txt -o glove.sst.npz
    """
    from lexitree.lexicon.vector_npz import write_vectors_npz
    from lexitree.lexicon.vocabulary import UNK, Vocabulary, coverage

    choose_format(path, {"npz": (".npz",)}, can_compress=False)
    counts = count_source_words(trees, data, encoding, on_error)
    kept = _read_wanted(vectors, counts, dim, on_error)
    write_vectors_npz(path, kept, float16=float16)
    report = coverage(counts, Vocabulary(word for word in kept.words if word != UNK))
    typer.echo(f"{path}: {len(kept):,} of {kept.num_read:,} vectors, {kept.dim} dimensions")
    shares = f"{report.tokens.covered:.2%} of the running words, {report.types.covered:.2%} of the distinct"
    typer.echo(f"covered: {shares}; `lexitree vectors coverage` shows which are missing")


@app.command("extend")
def extend(
    vectors: VectorsArgument,
    encoder: Annotated[
        str,
        typer.Option(
            help="Transformer that tells the new vectors: a directory, or a short name such as minilm.",
            show_default=False,
        ),
    ],
    path: VectorsOutputOption,
    trees: Annotated[
        list[str] | None, typer.Option("--trees", "-t", help="Trees whose words are added; may be repeated.")
    ] = None,
    texts: Annotated[
        list[Path] | None,
        typer.Option(help="A table of texts (.tsv, .csv, .jsonl) whose words are added; may be repeated."),
    ] = None,
    lookup: Annotated[
        Lookup, typer.Option(help="How words will be looked up: the setting model.lookup.")
    ] = "folded",
    min_count: Annotated[
        int, typer.Option(min=1, max=MAX_COUNT, help="Leave out words that are rarer than this.")
    ] = 2,
    whole_words: Annotated[
        bool, typer.Option(help="Also add all words that the transformer has as one piece.")
    ] = True,
    float16: Annotated[
        bool, typer.Option("--float16/--float32", metavar="", help="Halve the file size.")
    ] = True,
    data: DataOption = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
) -> None:
    """Add vectors of words that a file lacks, such as lol and yay, and of emoji and hashtags.

    A linear map, fitted to words of the file, takes what a transformer makes of a word into the space of the vectors.
    Use the result to train a model with model.lookup=folded (or typed). Give training data only.

    Example: lexitree vectors extend glove.npz --encoder minilm --texts train.tsv -o glove.extended.npz
    """
    from lexitree.lexicon.vector_extension import extend_vectors
    from lexitree.lexicon.vector_files import read_vectors
    from lexitree.lexicon.vector_npz import write_vectors_npz
    from lexitree.models.lone_words import LoneWordReader

    choose_format(path, {"npz": (".npz",)}, can_compress=False)
    counts = count_source_words(trees or (), data, encoding, on_error)
    counts += count_text_words(texts or (), encoding, on_error)
    reader = LoneWordReader(encoder)
    found = extend_vectors(
        read_vectors(vectors, on_error=on_error),
        counts,
        reader.features,
        lookup=lookup,
        min_count=min_count,
        more=reader.whole_words if whole_words else (),
    )
    write_vectors_npz(path, found.vectors, float16=float16)
    typer.echo(f"{path}: {len(found.vectors):,} vectors, {found.vectors.dim} dimensions")
    typer.echo(f"added: {found.num_mapped:,} from the transformer, {found.num_composed:,} from other words")
    typer.echo(f"mean cosine of held-out words with their own vectors: {found.similarity:.3f}")


@app.command("coverage")
def show_coverage(
    vectors: VectorsArgument,
    trees: TreesOption,
    num_unknown: Annotated[
        int,
        typer.Option(
            "--unknown", min=0, max=MAX_COUNT, help="Number of unknown words to show, most frequent first."
        ),
    ] = 20,
    as_json: JsonOption = False,
    dim: DimOption = None,
    data: DataOption = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
) -> None:
    """Show how many words of some trees have a vector: as written, in lower case only, or not at all.

    Example: lexitree vectors coverage glove.sst.npz --trees sst
    """
    from lexitree.lexicon.vocabulary import UNK, Vocabulary, coverage

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
    """Count the words of all files and corpora."""
    from lexitree.errors import FileError
    from lexitree.lexicon.vocabulary import count_words
    from lexitree.trees.brackets import ReadReport

    counts: Counter[str] = Counter()
    for source in sources:
        report = ReadReport()
        found = count_words(_trees_of(source, data, encoding, on_error, report))
        if not found:
            raise FileError(source, "contains no trees")
        counts += found
        show_skipped(report.num_errors, report.errors)
    return counts


def count_text_words(tables: Sequence[Path], encoding: str, on_error: OnError) -> Counter[str]:
    """Count the words of tables of texts."""
    from lexitree.corpora.text_files import read_texts
    from lexitree.text import tokenize

    counts: Counter[str] = Counter()
    for table in tables:
        for row in read_texts(table, encoding=encoding, on_error=on_error).rows:
            counts.update(token.form for token in tokenize(row.text))
    return counts


def _trees_of(
    source: str, data: Path | None, encoding: str, on_error: OnError, report: ReadReport
) -> Iterator[Tree]:
    """Yield the trees of a file, or of all splits of a folder or a named corpus."""
    from lexitree.corpora.corpus import SPLITS
    from lexitree.corpora.named import find_entry, find_path, load_corpus
    from lexitree.corpora.treebank import find_split_file, read_any

    if find_entry(source):
        # The other settings are for files, which may be given as well.
        corpus = load_corpus(source, data=data)
        yield from chain.from_iterable(corpus.splits.values())
        return
    path = find_path(source)
    files = [find_split_file(path, split) for split in SPLITS] if path.is_dir() else [path]
    for file in filter(None, files):
        yield from read_any(file, encoding=encoding, on_error=on_error, report=report)


def _read_wanted(path: Path, counts: Counter[str], dim: int | None, on_error: OnError) -> WordVectors:
    """Read the vectors of the counted words with a progress bar."""
    from lexitree.lexicon.vector_files import vectors_for

    with progress_bars() as show_progress:
        progress = partial(show_progress, path.name)
        vectors = vectors_for(counts, path, dim=dim, on_error=on_error, progress=progress)
    show_skipped(vectors.num_skipped, vectors.errors, what="rows")
    return vectors


def _print_report(report: CoverageReport) -> None:
    rows: list[list[str]] = []
    kinds: tuple[tuple[Literal["exact", "lower", "unknown"], str], ...] = (
        ("exact", "as written"),
        ("lower", "in lower case"),
        ("unknown", "not at all"),
    )
    for kind, shown in kinds:
        cells: list[str] = []
        for counts in (report.types, report.tokens):
            cells += [f"{getattr(counts, kind):,}", f"{counts.share(kind):.2%}"]
        rows.append([shown, *cells])
    show_table(("found", "distinct words", "", "running words", ""), rows)
    if report.most_frequent_unknown:
        unknown = ", ".join(f"{word} ({count})" for word, count in report.most_frequent_unknown)
        output.print(f"Most frequent unknown words: {unknown}", markup=False)
