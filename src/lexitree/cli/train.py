"""`lexitree train`: options in, runs with their progress and a table of scores out."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lexitree.cli.console import choose_device, parse_seeds
from lexitree.cli.options import (
    BACKEND_HELP,
    BiasInit,
    DecayKind,
    Direction,
    LayerChoice,
    Parses,
    Schedule,
    Supervision,
    flag,
)
from lexitree.cli.train_runs import train_one, train_several
from lexitree.errors import OnError

if TYPE_CHECKING:
    from lexitree.training.recipe import Recipe

# The panels of the help page.
CORPUS, WORDS, MODEL, TRAINING, MACHINE = "Corpus", "Word vectors", "Model", "Training", "Machine"


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
            help="What is malformed: stop there (raise), or leave it out and list it (skip). Default: raise.",
            rich_help_panel=CORPUS,
        ),
    ] = None,
    strip_traces: Annotated[
        bool, flag("--strip-traces", text="Drop the -NONE- leaves of Penn trees.", panel=CORPUS)
    ] = False,
    strip_function_tags: Annotated[
        bool, flag("--strip-function-tags", text="Cut labels such as NP-SBJ-1 down to NP.", panel=CORPUS)
    ] = False,
    parser: Annotated[
        str | None,
        typer.Option(
            help="Learn from a parser's trees of the same sentences, such as builtin. Default: the corpus's own.",
            rich_help_panel=CORPUS,
        ),
    ] = None,
    parses: Annotated[
        Parses | None,
        typer.Option(
            help="Its trees instead of the corpus's own (replace), or beside them in training (add)."
            " Default: replace.",
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
    vector_length: Annotated[
        float | None,
        typer.Option(
            help="Scale the vectors to this length. Default: 0, as they are.", rich_help_panel=WORDS
        ),
    ] = None,
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
    encoder: Annotated[
        str | None,
        typer.Option(
            help="A transformer that reads the words: minilm, a folder, or a name of the Hugging Face hub;"
            " --vectors then stand beside. Default: none.",
            rich_help_panel=WORDS,
        ),
    ] = None,
    encoder_revision: Annotated[
        str | None,
        typer.Option(
            help="A branch, tag or commit of the hub. Default: its main one.", rich_help_panel=WORDS
        ),
    ] = None,
    encoder_layers: Annotated[
        LayerChoice | None,
        typer.Option(
            help="Take the last states of its pieces, or a learned mix of all layers. Default: last.",
            rich_help_panel=WORDS,
        ),
    ] = None,
    encoder_rate: Annotated[
        float | None,
        typer.Option(help="Its step size; 0: it is not trained. Default: 3e-5.", rich_help_panel=WORDS),
    ] = None,
    layer_decay: Annotated[
        float | None,
        typer.Option(
            help="The step size of a layer, as a share of that of the layer above. Default: 1.",
            rich_help_panel=WORDS,
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
        typer.Option(
            help="The size of the layer before the labels; 0: none. Default: 128.", rich_help_panel=MODEL
        ),
    ] = None,
    dropout: Annotated[
        float | None, typer.Option(help="Dropout on the word vectors. Default: 0.5.", rich_help_panel=MODEL)
    ] = None,
    state_dropout: Annotated[
        float | None,
        typer.Option(help="Dropout on the states before the labels. Default: 0.", rich_help_panel=MODEL),
    ] = None,
    weight_dropout: Annotated[
        float | None,
        typer.Option(help="Dropout on the weights between states. Default: 0.", rich_help_panel=MODEL),
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
        typer.Option(
            help="What wide phrases are built around: their first part, last or head. Default: right.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    separate_topdown_inputs: Annotated[
        bool,
        flag(
            "--separate-topdown-inputs",
            text="Top-down, left and right children get input weights of their own, as the paper's equations"
            " have it and its parameter counts have not.",
            panel=MODEL,
        ),
    ] = False,
    bias_init: Annotated[
        BiasInit | None, typer.Option(help="How biases start. Default: uniform.", rich_help_panel=MODEL)
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
    schedule: Annotated[
        Schedule | None,
        typer.Option(
            help="Keep the step sizes, or let them fall along a line to zero. Default: constant.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    warm_up: Annotated[
        float | None,
        typer.Option(
            help="The share of the updates in which step sizes rise from zero. Default: 0.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    clip: Annotated[
        float | None,
        typer.Option(
            help="Cut the norm of gradients down to this. Default: 0, never.", rich_help_panel=TRAINING
        ),
    ] = None,
    decay: Annotated[
        float | None,
        typer.Option(help="Weight decay for each sentence. Default: 1e-6.", rich_help_panel=TRAINING),
    ] = None,
    decay_kind: Annotated[
        DecayKind | None,
        typer.Option(
            help="Shrink the weights as the authors' code does (decoupled), or by a term of the loss (l2)."
            " Default: decoupled.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    word_rate: Annotated[
        float | None,
        typer.Option(
            help="The word vectors' step size, as a share of the learning rate. Default: 1.",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    root_weight: Annotated[
        float | None,
        typer.Option(
            help="How much a whole sentence counts beside its phrases. Default: 1.", rich_help_panel=TRAINING
        ),
    ] = None,
    averaging: Annotated[
        float | None,
        typer.Option(
            help="Keep a moving average of the weights instead of the last ones: 0.999 remembers about 1,000"
            " updates. Default: 0.",
            rich_help_panel=TRAINING,
        ),
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
        typer.Option(help=BACKEND_HELP, rich_help_panel=MACHINE),
    ] = "auto",
    precision: Annotated[
        Literal["float32", "tf32"],
        typer.Option(help="Exact, or faster on a GPU with fewer digits (tf32).", rich_help_panel=MACHINE),
    ] = "float32",
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
        "strip_traces": strip_traces or None,
        "strip_function_tags": strip_function_tags or None,
        "parser": parser,
        "parses": parses,
        "vectors": vectors,
        "all_vectors": all_vectors or None,
        "vector_length": vector_length,
        "min_count": min_count,
    }
    encoder_changes = {"name": encoder, "revision": encoder_revision, "layers": encoder_layers}
    model_changes = {
        "model": model,
        "head_method": heads.upper() if heads else None,
        "hidden": hidden,
        "word_size": word_size,
        "output": output_size,
        "dropout": dropout,
        "state_dropout": state_dropout,
        "weight_dropout": weight_dropout,
        "supervision": supervision,
        "binarization": binarization,
        "share_topdown_inputs": False if separate_topdown_inputs else None,
        "bias_init": bias_init,
    }
    training_changes = {
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "schedule": schedule,
        "warm_up": warm_up,
        "clip": clip,
        "encoder_rate": encoder_rate,
        "layer_decay": layer_decay,
        "decay": decay,
        "decay_kind": decay_kind,
        "word_rate": word_rate,
        "root_weight": root_weight,
        "averaging": averaging,
        "train_words": False if freeze_words else None,
    }
    planned = _plan(recipe, changes, encoder_changes, model_changes, training_changes)
    numbers = parse_seeds(seeds) if seeds else [planned.training.seed]
    options = {
        "device": choose_device(device),
        "backend": backend,
        "threads": threads,
        "precision": precision,
        "resume": resume,
    }
    if len(numbers) == 1:
        train_one(planned.with_seed(numbers[0]), folder, options, quiet)
    else:
        train_several(planned, numbers, folder, jobs, options, quiet)


def _plan(
    path: Path | None,
    changes: dict[str, Any],
    encoder: dict[str, Any],
    model: dict[str, Any],
    training: dict[str, Any],
) -> Recipe:
    """The recipe of a file, or the default one, with the options that were given."""
    from lexitree.training.recipe import Recipe, read_recipe

    recipe = read_recipe(path) if path else Recipe()
    given = {key: str(value) if isinstance(value, Path) else value for key, value in _given(changes).items()}
    return dataclasses.replace(
        recipe,
        **given,
        encoder={**recipe.encoder, **_given(encoder)},
        model={**recipe.model, **_given(model)},
        training=dataclasses.replace(recipe.training, **_given(training)),
    )


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}
