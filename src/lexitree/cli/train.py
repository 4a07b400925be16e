"""`lexitree train`: options in, runs with their progress and a table of scores out."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lexitree.cli.console import choose_device, messages, output, parse_seeds, percent
from lexitree.cli.options import OnError, flag

if TYPE_CHECKING:
    from lexitree.corpora.corpus import Corpus
    from lexitree.training.recipe import Recipe

# The panels of the help page.
CORPUS, WORDS, MODEL, TRAINING, MACHINE = "Corpus", "Word vectors", "Model", "Training", "Machine"

Supervision = Literal["all", "root"]
Direction = Literal["left", "right", "head"]


def train_command(
    folder: Annotated[
        Path, typer.Option("--output", "-o", help="Where the run goes: checkpoint, metrics, model.")
    ],
    corpus: Annotated[
        str | None,
        typer.Argument(
            help="A corpus by name (see `lexitree data list`), or a folder or file: brackets, .jsonl, or"
            " .tsv with label<TAB>sentence. Default: mini-reviews."
        ),
    ] = None,
    recipe: Annotated[Path | None, typer.Option(help="A TOML recipe; options given here change it.")] = None,
    resume: Annotated[bool, flag("--resume", text="Go on with a run that was cut.")] = False,
    quiet: Annotated[bool, flag("--quiet", "-q", text="No progress, only the result.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="The folder with real corpora.", envvar="LEXITREE_DATA", rich_help_panel=CORPUS),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            help="How the files are encoded; never guessed. Default: utf-8.", rich_help_panel=CORPUS
        ),
    ] = None,
    on_error: Annotated[
        OnError | None,
        typer.Option(
            help="A malformed tree: stop there (raise), or leave it out and list it (skip). Default: raise.",
            rich_help_panel=CORPUS,
        ),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(
            help="Word vectors: GloVe text (.txt .gz .zip), word2vec .bin, .npz. Default: random.",
            rich_help_panel=WORDS,
        ),
    ] = None,
    all_vectors: Annotated[
        bool, flag("--all-vectors", text="Keep the vectors of words not in the corpus.", panel=WORDS)
    ] = False,
    min_count: Annotated[
        int | None,
        typer.Option(
            help="Without vectors: rarer training words are unknown. Default: 1.", rich_help_panel=WORDS
        ),
    ] = None,
    word_size: Annotated[
        int | None,
        typer.Option(
            help="Without vectors: the size of a word's vector. Default: 300.", rich_help_panel=WORDS
        ),
    ] = None,
    freeze_words: Annotated[
        bool, flag("--freeze-words", text="Do not train the word vectors.", panel=WORDS)
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", help="See `lexitree models`. Default: bicontree.", rich_help_panel=MODEL
        ),
    ] = None,
    heads: Annotated[
        str | None,
        typer.Option(
            metavar="<G|L|R|A>",
            help="Heads: learned gate, left, right, average. Default: G.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    hidden: Annotated[
        int | None, typer.Option(help="The state's size. Default: 150.", rich_help_panel=MODEL)
    ] = None,
    output_size: Annotated[
        int | None,
        typer.Option(help="The size of the layer before the labels. Default: 128.", rich_help_panel=MODEL),
    ] = None,
    dropout: Annotated[
        float | None, typer.Option(help="Dropout on the word vectors. Default: 0.5.", rich_help_panel=MODEL)
    ] = None,
    supervision: Annotated[
        Supervision | None,
        typer.Option(
            help="Learn from all phrases or from whole sentences. Default: as the labels of the corpus stand.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    binarization: Annotated[
        Direction | None,
        typer.Option(help="How wide phrases are split. Default: right.", rich_help_panel=MODEL),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="How often every tree is seen. Default: 30.", rich_help_panel=TRAINING)
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(help="Trees an update; the authors take 1. Default: 25.", rich_help_panel=TRAINING),
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Adam's step size. Default: 0.001.", rich_help_panel=TRAINING)
    ] = None,
    decay: Annotated[
        float | None,
        typer.Option(help="Weight decay for each sentence. Default: 1e-6.", rich_help_panel=TRAINING),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds",
            "--seed",
            "-s",
            help="One seed or several: 3, 1,2,5 or 1-5. Default: 1.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Seeds trained at the same time. Default: one a core.", min=1, rich_help_panel=MACHINE
        ),
    ] = None,
    threads: Annotated[
        int, typer.Option(help="CPU threads of each run.", min=1, rich_help_panel=MACHINE)
    ] = 1,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.", rich_help_panel=MACHINE)] = "auto",
    backend: Annotated[
        str,
        typer.Option(help="The implementation: auto, levelwise or reference.", rich_help_panel=MACHINE),
    ] = "auto",
) -> None:
    """Train a model, keep the best epoch by development accuracy, and score it on the test split.

    [bold]On the embedded treebank:[/bold]  lexitree train mini-reviews -o runs/mini --epochs 10

    [bold]The paper's model on SST, three seeds:[/bold]  lexitree train sst -o runs/sst --vectors glove.840B.300d.zip
    --seeds 1-3

    [bold]Your own treebank:[/bold]  lexitree train my-trees/ -o runs/mine  (train.txt, dev.txt, test.txt in brackets)

    A run can be killed at any moment; the same command with --resume goes on, and ends with the same weights.
    """
    changes = {
        "corpus": corpus,
        "data": data,
        "encoding": encoding,
        "on_error": on_error,
        "vectors": vectors,
        "all_vectors": all_vectors or None,
        "min_count": min_count,
    }
    model_changes = {
        "model": model,
        "head_method": heads.upper() if heads else None,
        "hidden": hidden,
        "word_size": word_size,
        "output": output_size,
        "dropout": dropout,
        "supervision": supervision,
        "binarization": binarization,
    }
    training_changes = {
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "decay": decay,
        "train_words": False if freeze_words else None,
    }
    planned = _plan(recipe, changes, model_changes, training_changes)
    numbers = parse_seeds(seeds) if seeds else [planned.training.seed]
    options = {
        "device": choose_device(device),
        "backend": backend,
        "threads": threads,
        "resume": resume,
    }
    if len(numbers) == 1:
        _train_one(planned.with_seed(numbers[0]), folder, options, quiet)
    else:
        _train_several(planned, numbers, folder, jobs, options, quiet)


def _plan(
    path: Path | None, changes: dict[str, Any], model: dict[str, Any], training: dict[str, Any]
) -> Recipe:
    """The recipe of a file, or the default one, with the options that were given."""
    from lexitree.training.recipe import Recipe, read_recipe

    recipe = read_recipe(path) if path else Recipe()
    given = {key: str(value) if isinstance(value, Path) else value for key, value in _given(changes).items()}
    return dataclasses.replace(
        recipe,
        **given,
        model={**recipe.model, **_given(model)},
        training=dataclasses.replace(recipe.training, **_given(training)),
    )


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def _train_one(recipe: Recipe, folder: Path, options: dict[str, Any], quiet: bool) -> None:
    from lexitree.cli.progress import TrainingProgress
    from lexitree.training.run import load_recipe_corpus, train

    corpus = load_recipe_corpus(recipe)
    if not quiet:
        _describe(corpus, options)
    if quiet:
        result = train(recipe, folder, corpus=corpus, **options)
    else:
        with TrainingProgress(recipe.training.epochs) as progress:
            observer = progress.observer(recipe.training.seed)
            result = train(recipe, folder, corpus=corpus, observer=observer, **options)
    scores = result.as_dict()
    output.print(
        f"best epoch {scores['best_epoch']}:  dev root {percent(scores['dev_root'])}"
        f" phrase {percent(scores['dev_phrase'])}  |  test root {percent(scores['test_root'])}"
        f" phrase {percent(scores['test_phrase'])}  |  {scores['seconds']:.0f} s"
    )
    output.print(f"model: {folder / 'model'}", soft_wrap=True)


def _describe(corpus: Corpus, options: dict[str, Any]) -> None:
    sizes = ", ".join(f"{len(trees):,} {split}" for split, trees in corpus.splits.items())
    messages.print(
        f"[bold]{corpus.name}[/bold]: {sizes} trees; {corpus.inference or corpus.supervision}", soft_wrap=True
    )
    for error in corpus.skipped[:10]:
        messages.out(f"skipped: {error.place}: {error.problem}", highlight=False)
    if len(corpus.skipped) > 10:
        messages.print(f"... and {len(corpus.skipped) - 10} more malformed trees skipped")
    backend = "levelwise" if options["backend"] == "auto" else options["backend"]
    messages.print(f"running the {backend} backend on {options['device']}")


def _train_several(
    recipe: Recipe, seeds: list[int], folder: Path, jobs: int | None, options: dict[str, Any], quiet: bool
) -> None:
    from rich.table import Table

    from lexitree.cli.progress import TrainingProgress
    from lexitree.training.seeds import SCORES, seed_folder, train_seeds

    if quiet:
        summary = train_seeds(recipe, seeds, folder, jobs=jobs, **options)
    else:
        with TrainingProgress(recipe.training.epochs) as progress:
            summary = train_seeds(recipe, seeds, folder, jobs=jobs, on_event=progress.on_event, **options)
    table = Table(title=f"{recipe.corpus}, {len(seeds)} seeds")
    for column in ("seed", "epoch", *(score.replace("_", " ") for score in SCORES), "s"):
        table.add_column(column, justify="right")
    for seed, result in summary.results.items():
        scores = [percent(result[score]) for score in SCORES]
        table.add_row(str(seed), str(result["best_epoch"]), *scores, f"{result['seconds']:.0f}")
    spreads = [summary.spread(score) for score in SCORES]
    cells = [f"{percent(spread.mean)} ± {percent(spread.deviation)}" if spread else "–" for spread in spreads]
    table.add_section()
    table.add_row("mean", "", *cells, "")
    output.print(table)
    output.print(
        f"best model by development accuracy: {seed_folder(folder, summary.best_seed) / 'model'}",
        soft_wrap=True,
    )
