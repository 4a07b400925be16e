"""`lexitree analyze`: compare trained models, plot accuracies and learning curves, and judge learned heads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from lexitree.cli.console import output as screen
from lexitree.cli.console import show_skipped
from lexitree.cli.options import (
    BackendOption,
    CorpusArgument,
    DataOption,
    DeviceOption,
    EncodingOption,
    JsonOption,
    ModelArgument,
    OnErrorOption,
    SplitName,
    SplitOption,
    StripTracesOption,
)
from lexitree.settings import MAX_BATCH, MAX_COUNT, MAX_SEED
from lexitree_paper.cli.analysis_tables import (
    show_curves,
    show_lengths,
    show_overlap,
    show_pair,
    show_scores,
    show_slices,
)

if TYPE_CHECKING:
    from lexitree.errors import OnError
    from lexitree.evaluation.answers import SystemAnswers
    from lexitree.models.classifier import TreeClassifier
    from lexitree.trees.tree import Tree

app = typer.Typer(
    no_args_is_help=True,
    help="""Analyses: compare models, plot accuracy by length and learning curves, judge learned heads.

    A system is a saved model, the folder of a run, or the folder of runs with several seeds; write NAME=PATH to
    choose what it is called. Plots need the extra plots (matplotlib).
    """,
)

SystemsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SYSTEM", help="Saved models, runs, or folders of several seeds; NAME=PATH gives a name."
    ),
]
PlotOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Draw the plot into this file: .svg, .png or .pdf.")
]


@app.command()
def compare(
    systems: SystemsArgument,
    corpus: CorpusArgument,
    split: SplitOption = "test",
    examples: Annotated[
        int, typer.Option(help="Number of example sentences of each kind.", min=0, max=MAX_COUNT)
    ] = 5,
    resamples: Annotated[
        int, typer.Option(help="Number of bootstrap resamples.", min=1, max=MAX_BATCH)
    ] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.", min=0, max=MAX_SEED)] = 0,
    data: DataOption = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Compare systems on the same sentences; the first is the baseline.

    [bold]Two models:[/bold]  lexitree analyze compare runs/contree runs/bicontree sst

    [bold]With names:[/bold]  lexitree analyze compare ConTree=runs/a BiConTree=runs/b sst --split dev

    Shows root accuracies; how sure the difference to the baseline is, by paired bootstrap over sentences (p is
    two-sided; where both always agree it is 1); accuracy by gold label, with negation (not, no, n't, none), above 30
    words and by length; who is right where; and the sentences that one gets right and the other wrong, surest first.
    With several seeds a sentence counts with the share of the seeds that are right. The bootstrap is about these
    trained models and says nothing of their recipes; with several seeds of each, a second table compares the recipes.
    """
    from lexitree_paper.analyze.comparison import compare_systems

    found = _collect(systems, corpus, split, data, encoding, on_error, device, backend)
    comparison = compare_systems(found, num_examples=examples, num_resamples=resamples, seed=seed)
    if as_json:
        typer.echo(json.dumps(comparison.as_dict(), indent=2, ensure_ascii=False))
        return
    screen.print(f"{comparison.num_sentences:,} sentences")
    show_scores(comparison)
    show_slices("by gold label", comparison.classes)
    show_slices("by kind of sentence", comparison.hard_sentences)
    show_lengths(comparison.lengths)
    for pair in comparison.pairs:
        show_pair(pair)


@app.command()
def phrases(
    systems: SystemsArgument,
    corpus: CorpusArgument,
    split: SplitOption = "test",
    data: DataOption = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Accuracy on phrases of two words or more, and where composition is hard.

    Example: lexitree analyze phrases ConTree=runs/a BiConTree=runs/b sst --split dev

    The slices are those of SentiBERT (Yin et al. 2020). Local difficulty is the number of a phrase's two parts that
    have another label than the phrase; negations (not, no, n't, none) are counted in the whole sentence. A phrase
    "X but Y" whose parts X and Y have different labels is right if all three are.
    """
    from lexitree_paper.analyze.phrase_slices import collect_phrases, slice_phrases

    trees = _read_trees(corpus, split, data, encoding, on_error)
    found = [
        collect_phrases(name, _load_models(folder, device, backend), trees)
        for name, folder in map(parse_named_folder, systems)
    ]
    slices = slice_phrases(found, trees)
    if as_json:
        typer.echo(json.dumps([part.as_dict() for part in slices], indent=2, ensure_ascii=False))
    else:
        show_slices("", slices, what="phrases", score="phrase accuracy")


@app.command()
def length(
    systems: SystemsArgument,
    corpus: CorpusArgument,
    output: PlotOption = None,
    split: SplitOption = "test",
    words: Annotated[int, typer.Option(help="Width of a bin, in words.", min=1, max=MAX_COUNT)] = 5,
    data: DataOption = None,
    encoding: EncodingOption = "utf-8",
    on_error: OnErrorOption = "raise",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Root accuracy by sentence length: a table, and a plot with --output.

    Example: lexitree analyze length ConTree=runs/a BiConTree=runs/b sst -o length.svg

    Sentences are grouped in bins of five words (see --words); empty bins are skipped.
    """
    from lexitree.views.plots import require_plots
    from lexitree_paper.analyze.comparison import accuracy_by_length
    from lexitree_paper.analyze.curves import plot_lengths

    if output is not None:
        # Fail at once, not after all models have answered.
        require_plots(output)
    found = _collect(systems, corpus, split, data, encoding, on_error, device, backend)
    bins = accuracy_by_length(found, words_per_bin=words)
    if output is not None:
        plot_lengths(bins, output)
    if as_json:
        typer.echo(json.dumps([part.as_dict() for part in bins], indent=2, ensure_ascii=False))
    else:
        show_lengths(bins)


@app.command()
def heads(
    model: ModelArgument,
    trees: Annotated[Path, typer.Argument(help="A file of trees with Penn labels.")],
    same_as: Annotated[
        Path | None,
        typer.Option(
            help="Trees of the same sentences, line by line: skip those with other brackets.",
            show_default=False,
        ),
    ] = None,
    strip_traces: StripTracesOption = False,
    encoding: EncodingOption = "utf-8",
    device: DeviceOption = "auto",
    backend: BackendOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """How often the learned head of a phrase is its head by Collins' rules.

    [bold]On SST:[/bold]  lexitree analyze heads runs/sst/model dev.tags --same-as dev.txt

    [bold]On a treebank:[/bold]  lexitree analyze heads runs/sst/model wsj.mrg --strip-traces

    The learned head of a phrase is that of the child whose head vector is closer by cosine. Trees are made binary as
    the model reads them (a node labelled @X is a part of an X); a phrase is an inner node, so it has two or more
    words. Shares are given for all of them, for those that are phrases of the treebank, and for whole sentences.
    Beside them stands what one would get by always taking the left child, the right one, or either by chance.
    """
    from lexitree.corpora.treebank import chosen_strips
    from lexitree.saving.pretrained import from_pretrained
    from lexitree_paper.analyze.head_overlap import model_overlap, read_penn_trees

    loaded = from_pretrained(model, device=device, backend=backend)
    strip = chosen_strips(traces=strip_traces, function_tags=False)
    kept, num_left_out = read_penn_trees(trees, same_as=same_as, encoding=encoding, strip=strip)
    overlap = model_overlap(loaded, kept)
    if as_json:
        values = {**overlap.as_dict(), "num_left_out": num_left_out}
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))
    else:
        show_overlap(overlap, num_left_out)


@app.command()
def curves(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN", help="Folders of runs, or of several seeds; NAME=PATH gives a name."),
    ],
    output: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learning curves of runs: loss and development accuracy by epoch, with the spread over seeds.

    Example: lexitree analyze curves ConTree=runs/a BiConTree=runs/b -o curves.svg

    Reads the metrics.jsonl of each run, even while it is running. For several seeds it shows the mean and, as a band,
    one standard deviation to each side.
    """
    from lexitree.views.plots import require_plots
    from lexitree_paper.analyze.curves import plot_curves, read_curve

    if output is not None:
        require_plots(output)
    found = [read_curve(folder, name) for name, folder in map(parse_named_folder, runs)]
    if output is not None:
        plot_curves(found, output)
    if as_json:
        typer.echo(json.dumps([curve.as_dict() for curve in found], indent=2, ensure_ascii=False))
    else:
        show_curves(found)


def _collect(
    systems: Sequence[str],
    corpus: str,
    split: SplitName,
    data: Path | None,
    encoding: str,
    on_error: OnError,
    device: str,
    backend: str,
) -> list[SystemAnswers]:
    """The answers of all systems to a split."""
    from lexitree.evaluation.answers import collect_answers

    trees = _read_trees(corpus, split, data, encoding, on_error)
    return [
        collect_answers(name, _load_models(folder, device, backend), trees)
        for name, folder in map(parse_named_folder, systems)
    ]


def _read_trees(
    corpus: str, split: SplitName, data: Path | None, encoding: str, on_error: OnError
) -> list[Tree]:
    from lexitree.corpora.named import read_split
    from lexitree.trees.brackets import ReadReport

    report = ReadReport()
    options: dict[str, Any] = {"encoding": encoding, "on_error": on_error, "strip": []}
    trees, _ = read_split(corpus, split, None, default="root", data=data, options=options, report=report)
    read = list(trees)
    show_skipped(report.num_errors, report.errors)
    return read


def _load_models(folder: str, device: str, backend: str) -> Iterator[TreeClassifier]:
    """The models of a system, one at a time."""
    from lexitree.learning.run_folder import model_folders
    from lexitree.saving.pretrained import from_pretrained

    for path in model_folders(folder):
        yield from_pretrained(path, device=device, backend=backend)


class NamedFolder(NamedTuple):
    """A folder and its name in tables and plots."""

    name: str
    folder: str


def parse_named_folder(text: str) -> NamedFolder:
    """Read `NAME=FOLDER`; a folder alone is its own name, without `model` at its end."""
    from lexitree.saving.model_folder import MODEL_FOLDER

    name, sign, folder = text.partition("=")
    if sign and name and folder and "/" not in name and not Path(text).exists():
        return NamedFolder(name, folder)
    path = Path(text)
    return NamedFolder(str(path.parent if path.name == MODEL_FOLDER and path.parent.name else path), text)
