"""How a classifier is saved, and `from_pretrained` to load one."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from lexitree.batch.tree_examples import TreeKind
from lexitree.errors import ConfigError, LexitreeError, MissingExtraError, ModelFileError
from lexitree.lexicon.pieces import Unit
from lexitree.models.catalog import ENCODERS, encoder_class
from lexitree.models.classifier import TreeClassifier
from lexitree.models.encoder_files import KNOWN_ENCODERS, locate_encoder, read_encoder, write_encoder
from lexitree.models.head_methods import HEAD_METHODS
from lexitree.models.model_config import ModelConfig, TextReading
from lexitree.models.transformer import TransformerConfig, TransformerLexicon, open_transformer
from lexitree.models.word_table import Lexicon, WordTable
from lexitree.plugins import Kind, Source
from lexitree.saving.card import Card
from lexitree.saving.model_folder import (
    CLASSIFIER,
    CONFIG_FILE,
    ENCODER_FOLDER,
    PLUGINS,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    ModelFolder,
    fill_weights,
    saved_tensors,
    without_weights,
)
from lexitree.saving.model_kinds import ModelKind, ModelParts
from lexitree.saving.quantized import TableForm, shrink_tensors

READING = "text"
"""The entry of config.json that says how a model that was trained on texts reads them."""

PREFIX = "lexicon.encoder."
"""The prefix of a transformer's weights among those of a model."""

_COMMIT = re.compile("[0-9a-f]{40}")
"""A revision that never changes, unlike branches and tags."""
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


def encoder_entry(lexicon: TransformerLexicon) -> dict[str, Any]:
    """Describe a transformer for config.json.

    A transformer that was not trained and that the hub has under a fixed commit need not be saved: its name will do.
    """
    config = lexicon.config
    is_trained = lexicon.was_trained or not lexicon.is_frozen
    is_saved = is_trained or not _COMMIT.fullmatch(config.revision or "")
    return {**config.as_dict(), "name": _public_name(config), "trained": is_trained, "saved": is_saved}


def encoder_writer(lexicon: TransformerLexicon) -> Callable[[Path, TableForm], None]:
    """A function that writes a transformer to a folder; with a short form, in half precision."""

    def write(folder: Path, table: TableForm) -> None:
        is_short = table != "float32"
        weights = shrink_tensors(lexicon.encoder.state_dict(), (), "float16") if is_short else None
        write_encoder(lexicon.encoder, lexicon.splitter.tokenizer, folder, weights=weights)

    return write


def _public_name(config: TransformerConfig) -> str:
    """The name that means something on other machines; the path of a local folder does not."""
    if config.revision:
        return locate_encoder(config.name, config.revision)
    return config.name if config.name in KNOWN_ENCODERS else Path(config.name).resolve().name


def describe_encoder(values: Mapping[str, Any]) -> str:
    """Say in words what config.json says of a transformer."""
    revision = f", revision {values['revision']}" if values.get("revision") else ""
    what = "trained with the model" if values.get("trained", True) else "not trained further"
    return f"{values.get('name')}{revision}, {what}"


def open_saved_encoder(
    folder: ModelFolder, values: Mapping[str, Any], table: WordTable | None, unit: Unit
) -> TransformerLexicon:
    """Open the transformer that an entry of config.json describes.

    Args:
        folder: The folder of the model.
        values: The entry of config.json.
        table: The word vectors beside it, if the model has any.
        unit: What it gives vectors of.
    """
    settings = {"trained": True, "saved": (folder.path / ENCODER_FOLDER).is_dir(), **values}
    is_trained, is_saved = settings.pop("trained"), settings.pop("saved")
    try:
        config = TransformerConfig.from_dict(settings)
        if is_saved:
            encoder, tokenizer = read_encoder(str(folder.encoder_folder))
            lexicon = TransformerLexicon(config, encoder, tokenizer, table=table, unit=unit)
        else:
            _refuse_other_names(folder, config)
            lexicon = open_transformer(config, table=table, unit=unit)
    except (ModelFileError, MissingExtraError):
        raise
    except LexitreeError as error:
        raise ModelFileError(
            folder.path, f"its transformer cannot be read: {error.message}", remedy=error.remedy
        ) from error
    lexicon.was_trained = bool(is_trained)
    return lexicon


def _refuse_other_names(folder: ModelFolder, config: TransformerConfig) -> None:
    """A model of somebody else may name a transformer that anybody can get, and no directory of this machine."""
    is_fixed = _HUB_NAME.fullmatch(config.name) and _COMMIT.fullmatch(config.revision or "")
    if not (is_fixed or config.name in KNOWN_ENCODERS) or Path(config.name).is_dir():
        raise ModelFileError(
            folder.path / CONFIG_FILE,
            f"names a transformer that a saved model cannot have: {config.name!r:.80}",
            remedy="It must be in the model's folder, or on the Hugging Face hub as owner/name with a commit.",
        )


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


def _take_apart(model: TreeClassifier, training: Mapping[str, Any]) -> ModelParts:
    lexicon = model.lexicon
    transformer = lexicon if isinstance(lexicon, TransformerLexicon) else None
    words = lexicon if transformer is None else transformer.table
    if not isinstance(words, WordTable | None):
        raise ConfigError(f"a model with a {type(words).__name__} cannot be saved in this format")
    entry = None if transformer is None else encoder_entry(transformer)
    own = {name: tensor for name, tensor in saved_tensors(model).items() if not name.startswith(PREFIX)}
    return ModelParts(
        settings=model.config.as_dict(),
        card=_card(model, training, entry),
        tensors={WEIGHTS_FILE: own},
        tables=_TABLES,
        vocabularies={} if words is None else {VOCABULARY_FILE: words.vocabulary},
        entries={
            **({} if entry is None else {"encoder": entry}),
            **({} if model.reading is None else {READING: {"format": 1, **model.reading.as_dict()}}),
            **_plugins_entry(model.config),
        },
        write_encoder=encoder_writer(transformer) if transformer and entry and entry["saved"] else None,
    )


def _plugins(config: ModelConfig) -> list[tuple[str, str, Source]]:
    """What a model needs of other packages: of which kind, by which name, from where."""
    parts = ((ENCODERS, config.model), (HEAD_METHODS, config.head_method))
    found = [(registry.kind, name, registry.source(name)) for registry, name in parts]
    return [(kind, name, source) for kind, name, source in found if source is not None]


def _plugins_entry(config: ModelConfig) -> dict[str, list[dict[str, str]]]:
    """What config.json says of that; nothing if the model needs no other package."""
    needed = [{"kind": kind, "name": name, **source.as_dict()} for kind, name, source in _plugins(config)]
    return {PLUGINS: needed} if needed else {}


def _refuse_missing_plugins(folder: ModelFolder) -> None:
    """Say which packages are missing, before their settings look wrong. Nothing is imported by what the file says."""
    known = {registry.kind: registry for registry in (ENCODERS, HEAD_METHODS)}
    for needed in folder.plugins:
        registry = known.get(cast(Kind, needed.get("kind")))
        if registry is None or needed.get("name") in registry:
            continue
        what, package, version = (needed.get(each, "") for each in ("name", "package", "version"))
        owner = f"of the package {package} {version}" if package else f"of the module {needed.get('module')}"
        raise ModelFileError(
            folder.path,
            f"needs the {registry.kind} {what!r} {owner.strip()}, which is not installed",
            remedy=f"Install it: pip install {package}" if package else "Import the module first.",
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
    facts += [f"needs the {kind} {name} of {source}" for kind, name, source in _plugins(config)]
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
    _refuse_missing_plugins(folder)
    config = folder.settings(ModelConfig.from_dict)
    weights = folder.weights
    tensors = weights.tensors()
    with weights.must_fit():
        lexicon = _empty_lexicon(weights, tensors, config)
        with _really_built() if folder.plugins else without_weights():
            model = TreeClassifier(config, lexicon, backend=backend)
        fill_weights(model, tensors, present=PREFIX)
    # A transformer is read in 32 bits, whatever the other weights have.
    model.to(model.scorer.label_bias.dtype)
    model.reading = _read_reading(folder)
    if isinstance(lexicon, TransformerLexicon) and not lexicon.was_trained:
        lexicon.choose_trained(words=True, encoder=False)
    return model.to(device).eval()


def _read_reading(folder: ModelFolder) -> TextReading | None:
    values: object = folder.values.get(READING)
    if values is None:
        return None
    try:
        settings = dict(cast(Mapping[str, Any], values))
        if settings.pop("format") != 1:
            raise ConfigError("unknown format")
        return TextReading.from_dict(settings)
    except (LexitreeError, TypeError, ValueError, KeyError) as error:
        raise ModelFileError(
            folder.path / CONFIG_FILE,
            f"does not say how the model reads texts ({error})",
            remedy="Upgrade lexitree, or copy the model again.",
        ) from error


@contextmanager
def _really_built() -> Generator[None]:
    """Build a model of another package as it is in training: it may make tensors that are not saved.

    Its first weights, which are replaced, take nothing from torch's random numbers.
    """
    with torch.random.fork_rng(devices=[]):
        yield


def _empty_lexicon(folder: ModelFolder, tensors: Mapping[str, Tensor], config: ModelConfig) -> Lexicon:
    """Make the lexicon without weights, except for those of a transformer."""
    encoder: object = folder.values.get("encoder")
    if encoder is None:
        with without_weights():
            return folder.empty_table(tensors, lookup=config.lookup)
    if not isinstance(encoder, dict):
        raise ModelFileError(folder.path / CONFIG_FILE, "does not say which transformer the model has")
    table = None
    if "lexicon.table.vectors" in tensors:
        with without_weights():
            table = folder.empty_table(tensors, "lexicon.table.", config.lookup)
    unit = encoder_class(config.model).reads
    return open_saved_encoder(folder, cast(dict[str, Any], encoder), table, unit)


KIND = ModelKind(name=CLASSIFIER, take_apart=_take_apart, build=_build)
