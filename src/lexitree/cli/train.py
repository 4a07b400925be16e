"""`lexitree train`: options in, runs with their progress and a table of scores out."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexitree.cli import train_options as asked
from lexitree.cli.console import parse_seeds
from lexitree.cli.train_runs import train_one, train_several

if TYPE_CHECKING:
    from lexitree.tasks.classify.recipe import Recipe


def train_command(
    folder: asked.Folder,
    corpus: asked.Corpus = None,
    recipe: asked.Recipe = None,
    resume: asked.Resume = False,
    quiet: asked.Quiet = False,
    data: asked.Data = None,
    encoding: asked.Encoding = None,
    on_error: asked.OnError = None,
    strip_traces: asked.StripTraces = False,
    strip_function_tags: asked.StripFunctionTags = False,
    parser: asked.Parser = None,
    parses: asked.Parses = None,
    vectors: asked.Vectors = None,
    all_vectors: asked.AllVectors = False,
    vector_length: asked.VectorLength = None,
    min_count: asked.MinCount = None,
    word_size: asked.WordSize = None,
    encoder: asked.Encoder = None,
    encoder_revision: asked.EncoderRevision = None,
    encoder_layers: asked.EncoderLayers = None,
    encoder_rate: asked.EncoderRate = None,
    layer_decay: asked.LayerDecay = None,
    freeze_words: asked.FreezeWords = False,
    model: asked.Model = None,
    heads: asked.Heads = None,
    hidden: asked.Hidden = None,
    output_size: asked.OutputSize = None,
    dropout: asked.Dropout = None,
    state_dropout: asked.StateDropout = None,
    weight_dropout: asked.WeightDropout = None,
    supervision: asked.Supervision = None,
    binarization: asked.Binarization = None,
    separate_topdown_inputs: asked.SeparateTopdownInputs = False,
    bias_init: asked.BiasInit = None,
    epochs: asked.Epochs = None,
    batch_size: asked.BatchSize = None,
    learning_rate: asked.LearningRate = None,
    schedule: asked.Schedule = None,
    warm_up: asked.WarmUp = None,
    clip: asked.Clip = None,
    decay: asked.Decay = None,
    decay_kind: asked.DecayKind = None,
    word_rate: asked.WordRate = None,
    root_weight: asked.RootWeight = None,
    averaging: asked.Averaging = None,
    teacher: asked.Teacher = None,
    teacher_trees: asked.TeacherTrees = None,
    teacher_weight: asked.TeacherWeight = None,
    seeds: asked.Seeds = None,
    jobs: asked.Jobs = None,
    threads: asked.Threads = 1,
    device: asked.Device = "auto",
    backend: asked.Backend = "auto",
    precision: asked.Precision = "float32",
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
        "teacher": teacher,
        "teacher_trees": tuple(teacher_trees) if teacher_trees else None,
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
        "teacher_weight": teacher_weight,
        "train_words": False if freeze_words else None,
    }
    from lexitree.ops.devices import choose_device

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
    from lexitree.tasks.classify.recipe import Recipe

    recipe = Recipe.from_toml(path) if path else Recipe()
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
