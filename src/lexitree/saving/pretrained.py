"""How a classifier is saved, and `from_pretrained` to load one."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from lexitree.batch.tree_examples import TreeKind
from lexitree.errors import ConfigError, ModelFileError
from lexitree.models.array_classifier import ArrayClassifier
from lexitree.models.catalog import encoder_class
from lexitree.models.classifier import TreeClassifier
from lexitree.models.guesses import VectorGuesser
from lexitree.models.model_config import ModelConfig
from lexitree.models.transformer import TransformerLexicon, table_of
from lexitree.models.word_table import Lexicon, WordTable
from lexitree.saving.card import Card
from lexitree.saving.classifier_entries import (
    ENCODER,
    READING,
    describe_encoder,
    needed_plugins,
    plugins_entry,
    read_reading,
    refuse_missing_plugins,
)
from lexitree.saving.model_folder import (
    CLASSIFIER,
    CONFIG_FILE,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    ModelFolder,
)
from lexitree.saving.model_kinds import ModelKind, ModelParts
from lexitree.saving.saved_encoder import encoder_entry, encoder_writer, open_saved_encoder
from lexitree.saving.torch_weights import (
    empty_table,
    fill_weights,
    read_tensors,
    saved_tensors,
    without_weights,
)

PREFIX = "lexicon.encoder."
"""The prefix of a transformer's weights among those of a model."""

_TABLES = ("lexicon.vectors", "lexicon.table.vectors", "lexicon.guesser.group_vectors")

_WHAT_IT_READS: dict[TreeKind, tuple[str, str]] = {
    "constituency": ("phrase of a constituency tree", 'lexitree.tree_from_brackets("(_ (_ A) (_ film))")'),
    "dependency": (
        "word of a dependency tree, with what depends on it",
        'lexitree.DependencyTree.from_parents(["A", "film"], [1, -1])',
    ),
}
"""What is labelled, and an example."""


def from_pretrained(
    name: str | Path | ModelFolder,
    *,
    device: str | torch.device = "auto",
    backend: str = "auto",
    revision: str | None = None,
) -> TreeClassifier:
    """Load a classifier.

    Args:
        name: The name of a shipped model, a folder, or `owner/name` on the Hugging Face hub.
        device: Where the model computes; `auto` is a GPU if there is one.
        backend: The implementation of the recurrences; see `lexitree.ops`.
        revision: The branch, tag or commit on the hub.

    Raises:
        ModelFileError: If the model is missing, damaged or not a classifier.
    """
    return KIND.load(name, device=device, revision=revision, backend=backend)


def copy_to_torch(model: ArrayClassifier) -> TreeClassifier:
    """Build a model of NumPy arrays in torch, on the CPU."""
    words = model.lexicon
    # Tensors created in inference mode could not be used in training later.
    with torch.inference_mode(False):
        tensors = {name: torch.from_numpy(table.all()) for name, table in model.weights.items()}
        guesser = words.guesser and VectorGuesser(
            torch.from_numpy(words.guesser.group_vectors.all()),
            torch.from_numpy(words.guesser.projection),
            torch.from_numpy(words.guesser.mean),
        )
        table = WordTable(words.vocabulary, torch.from_numpy(words.table.all()), guesser)
        with without_weights():
            copy = TreeClassifier(model.config, table)
        fill_weights(copy, tensors, present="lexicon.")
    copy.reading, copy.training_record = model.reading, model.training_record
    return copy.eval()


def _take_apart(model: TreeClassifier | ArrayClassifier, training: Mapping[str, Any]) -> ModelParts:
    if isinstance(model, ArrayClassifier):
        model = copy_to_torch(model)
    lexicon = model.lexicon
    transformer = lexicon if isinstance(lexicon, TransformerLexicon) else None
    words = table_of(lexicon)
    if transformer is words is None:
        raise ConfigError(f"a model with a {type(lexicon).__name__} cannot be saved in this format")
    entry = None if transformer is None else encoder_entry(transformer)
    own = {name: tensor for name, tensor in saved_tensors(model).items() if not name.startswith(PREFIX)}
    return ModelParts(
        settings=model.config.as_dict(),
        card=_card(model, training, entry),
        tensors={WEIGHTS_FILE: own},
        tables=_TABLES,
        vocabularies={} if words is None else {VOCABULARY_FILE: words.vocabulary},
        entries={
            **({} if entry is None else {ENCODER: entry}),
            **({} if model.reading is None else {READING: {"format": 1, **model.reading.as_dict()}}),
            **plugins_entry(model.config),
        },
        write_encoder=encoder_writer(transformer) if transformer and entry and entry["saved"] else None,
    )


def _card(
    model: TreeClassifier, training: Mapping[str, Any], encoder_values: Mapping[str, Any] | None
) -> Card:
    config, encoder = model.config, encoder_class(model.config.model)
    labelled, example = _WHAT_IT_READS[encoder.tree_kind]
    facts = [
        f"labels: {', '.join(config.label_set.names)}",
        *([_describe_finer(config)] if config.finer_labels else []),
        f"state size {config.hidden}, word vectors {config.word_size}, head method {config.head_method}",
    ]
    facts += [f"needs the {kind} {name} of {source}" for kind, name, source in needed_plugins(config)]
    parameters = f"{model.num_parameters():,} parameters without the word vectors"
    if encoder_values:
        facts.append(f"words are read by a transformer: {describe_encoder(encoder_values)}")
        parameters += " and the transformer"
    trained_on = "every phrase" if config.supervision == "all" else "whole sentences"
    return Card(
        title=f"{encoder.title} on {training.get('corpus', 'your data')}",
        about=f"A lexitree model: {encoder.about}. It labels every {labelled}"
        + (" and finds its head word." if encoder.has_heads else "."),
        facts=[*facts, parameters, f"trained on {trained_on}"],
        example=[
            "import lexitree",
            "",
            *(
                ['pipe = lexitree.load("path/of/this/model")', 'document = pipe("A text.")']
                if model.reading and model.reading.parser
                else [
                    'predictor = lexitree.load("path/of/this/model")',
                    f"prediction = predictor.predict({example})",
                ]
            ),
        ],
        tags=["tree-lstm", f"{encoder.tree_kind}-trees"],
        header={"pipeline_tag": "text-classification"},
    )


def _describe_finer(config: ModelConfig) -> str:
    return (
        f"trained with finer labels, which count for these: {config.label_set.describe_finer()}. The probability of a"
        " label is the sum of those that count for it, divided by the sum of all that count for any"
    )


def _build(folder: ModelFolder, device: str | torch.device, *, backend: str = "auto") -> TreeClassifier:
    refuse_missing_plugins(folder)
    config = folder.settings(ModelConfig.from_dict)
    weights = folder.weights
    tensors = read_tensors(weights)
    with weights.must_fit():
        lexicon = _empty_lexicon(weights, tensors, config)
        with _really_built() if folder.plugins else without_weights():
            model = TreeClassifier(config, lexicon, backend=backend)
        fill_weights(model, tensors, present=PREFIX)
    # A transformer is read in 32 bits, whatever the other weights have.
    model.to(model.scorer.label_bias.dtype)
    model.reading = read_reading(folder)
    if isinstance(lexicon, TransformerLexicon) and not lexicon.was_trained:
        lexicon.choose_trained(words=True, encoder=False)
    return model.to(device).eval()


@contextmanager
def _really_built() -> Generator[None]:
    """Build a model of another package as it is in training: it may make tensors that are not saved.

    Its first weights, which are replaced, take nothing from torch's random numbers.
    """
    with torch.random.fork_rng(devices=[]):
        yield


def _empty_lexicon(folder: ModelFolder, tensors: Mapping[str, Tensor], config: ModelConfig) -> Lexicon:
    """Make the lexicon without weights, except for those of a transformer."""
    encoder: object = folder.values.get(ENCODER)
    if encoder is None:
        with without_weights():
            return empty_table(folder, tensors, lookup=config.lookup)
    if not isinstance(encoder, dict):
        raise ModelFileError(folder.path / CONFIG_FILE, "does not say which transformer the model has")
    table = None
    if "lexicon.table.vectors" in tensors:
        with without_weights():
            table = empty_table(folder, tensors, "lexicon.table.", config.lookup)
    unit = encoder_class(config.model).reads
    return open_saved_encoder(folder, cast(dict[str, Any], encoder), table, unit)


KIND = ModelKind(name=CLASSIFIER, take_apart=_take_apart, build=_build)
