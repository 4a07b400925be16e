"""`lexitree train`: train a classifier and print its scores."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from lexitree.cli.console import parse_seeds
from lexitree.cli.options import (
    BACKEND_HELP,
    DelimiterOption,
    LabelColumnOption,
    QuietOption,
    ResumeOption,
    RunFolderOption,
    SetOption,
    TextColumnOption,
    column_values,
    complete_corpora,
    help_settings,
    plan_recipe,
)
from lexitree.cli.train_runs import run_classifier
from lexitree.settings import MAX_PROCESSES

_DATA, _TRAINING, _MACHINE = "Data", "Model and training", "Machine"
"""The panels of the help page."""


def _setting(*names: str, text: str, panel: str, envvar: str | None = None) -> Any:
    """An option for a setting; if it is not given, the recipe decides."""
    return typer.Option(*names, help=text, rich_help_panel=panel, envvar=envvar, show_default=False)


_Corpus = Annotated[
    str | None,
    typer.Argument(
        help="A table of texts with labels (.csv, .tsv, .jsonl, .parquet), a corpus by name (see"
        " `lexitree data list`), or a folder or file of trees. Default: mini-reviews.",
        autocompletion=complete_corpora,
    ),
]
_Data = Annotated[
    Path | None, _setting(text="Folder with downloaded corpora.", panel=_DATA, envvar="LEXITREE_DATA")
]
_Parser = Annotated[
    str | None,
    _setting(text="Learn from the trees of this parser. Default for a table: builtin.", panel=_DATA),
]
_Encoding = Annotated[str | None, _setting(text="Encoding of the data; never guessed.", panel=_DATA)]
_Recipe = Annotated[
    Path | None,
    typer.Option(
        "--recipe",
        help="Settings: a TOML file, or a recipe by name such as everyday; other options override them.",
        show_default=False,
    ),
]
_Start = Annotated[
    str | None,
    _setting(
        "--from",
        text="Start from this model, such as sentiment, with small steps: for few texts.",
        panel=_TRAINING,
    ),
]
_Vectors = Annotated[
    Path | None,
    _setting(text="Word vectors: GloVe text (.txt .gz .zip), word2vec .bin or .npz.", panel=_DATA),
]
_Encoder = Annotated[
    str | None,
    _setting(
        text="Transformer that reads the words: minilm, mpnet, a folder, or a name on the Hugging Face hub.",
        panel=_DATA,
    ),
]
_Model = Annotated[
    str | None, _setting("--model", "-m", text="See `lexitree models`. Default: bicontree.", panel=_TRAINING)
]
_Epochs = Annotated[
    int | None, _setting(text="Passes over the training trees. Default: 30.", panel=_TRAINING)
]
_BatchSize = Annotated[int | None, _setting(text="Trees per update. Default: 25.", panel=_TRAINING)]
_Seeds = Annotated[
    str | None,
    _setting(
        *("--seeds", "--seed", "-s"),
        text="One seed or several: 3, 1,2,5 or 1-5. Default: 1.",
        panel=_TRAINING,
    ),
]
_Jobs = Annotated[
    int | None,
    typer.Option(
        help="Seeds trained at the same time. Default: one per core.",
        min=1,
        max=MAX_PROCESSES,
        rich_help_panel=_MACHINE,
    ),
]
_Processes = Annotated[
    int | None,
    typer.Option(
        help="Processes that train one seed together, each on a part of every batch and, on GPUs, each on one of"
        " them. For several machines, see torchrun. Default: one process.",
        min=1,
        max=MAX_PROCESSES,
        rich_help_panel=_MACHINE,
        show_default=False,
    ),
]
_Threads = Annotated[
    int, typer.Option(help="CPU threads of each run.", min=1, max=MAX_PROCESSES, rich_help_panel=_MACHINE)
]
_Device = Annotated[str, typer.Option(help="auto, cpu or cuda.", rich_help_panel=_MACHINE)]
_Backend = Annotated[str, typer.Option(help=BACKEND_HELP, rich_help_panel=_MACHINE)]
_Precision = Annotated[
    Literal["float32", "tf32"],
    typer.Option(help="Full precision, or faster and less exact on a GPU (tf32).", rich_help_panel=_MACHINE),
]


def train_command(
    folder: RunFolderOption,
    corpus: _Corpus = None,
    recipe: _Recipe = None,
    assignments: SetOption = None,
    list_settings: Annotated[bool, help_settings("lexitree.tasks.classify.recipe:Recipe")] = False,
    resume: ResumeOption = False,
    quiet: QuietOption = False,
    text: TextColumnOption = None,
    label: LabelColumnOption = None,
    delimiter: DelimiterOption = None,
    data: _Data = None,
    encoding: _Encoding = None,
    parser: _Parser = None,
    vectors: _Vectors = None,
    encoder: _Encoder = None,
    start: _Start = None,
    model: _Model = None,
    epochs: _Epochs = None,
    batch_size: _BatchSize = None,
    seeds: _Seeds = None,
    jobs: _Jobs = None,
    processes: _Processes = None,
    threads: _Threads = 1,
    device: _Device = "auto",
    backend: _Backend = "auto",
    precision: _Precision = "float32",
) -> None:
    """Train a model, keep the best epoch by development accuracy, and score it on the test split.

    [bold]Your own texts:[/bold]  lexitree train tickets.csv --text comment --label kind -o runs/tickets

    [bold]Few of them:[/bold]  lexitree train tickets.csv --from sentiment -o runs/tickets

    [bold]On the embedded treebank:[/bold]  lexitree train mini-reviews -o runs/mini --epochs 10

    [bold]The paper's model on SST, three seeds:[/bold]  lexitree train sst -o runs/sst --vectors glove.840B.300d.zip
    --seeds 1-3

    [bold]Your own treebank:[/bold]  lexitree train my-trees/ -o runs/mine  (train.txt, dev.txt, test.txt in brackets)

    [bold]Any other setting:[/bold]  lexitree train sst -o runs/sst --set model.hidden=75
    --set training.averaging=0.999

    --resume continues a run that was interrupted at any moment, and ends with the same weights.
    """
    from lexitree.tasks.classify.recipe import Recipe, find_recipe
    from lexitree.tasks.classify.starting import fine_tuning_recipe

    default = fine_tuning_recipe(start) if start else Recipe()
    planned = plan_recipe(
        find_recipe(recipe) if recipe else default,
        {
            "corpus": corpus,
            "data": data,
            "encoding": encoding,
            **{f"table.{name}": value for name, value in column_values(text, label, delimiter).items()},
            "start": start,
            "parser": parser,
            "vectors": vectors,
            "encoder.name": encoder,
            "model.model": model,
            "training.epochs": epochs,
            "training.batch_size": batch_size,
        },
        assignments,
    )
    numbers = parse_seeds(seeds) if seeds else [planned.training.seed]
    run = partial(
        run_classifier,
        planned,
        numbers,
        folder,
        jobs=jobs,
        quiet=quiet,
        device=device,
        backend=backend,
        threads=threads,
        precision=precision,
        resume=resume,
    )
    if processes is None:
        run()
    else:
        from lexitree.learning.launching import launch_processes

        launch_processes(processes, run)
