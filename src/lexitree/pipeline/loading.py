"""Opens models by name: `lexitree.load` is the only way to a model and its parser."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

from lexitree.errors import ConfigError, import_extra
from lexitree.limits import Limits
from lexitree.models.label_model import LabelModel
from lexitree.ops.devices import Precision, check_precision, choose_device, set_precision
from lexitree.ops.registry import BACKENDS_OF, check_known
from lexitree.parsers.adapters import open_parser
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.protocol import Parser
from lexitree.parsers.saved_parser import load_parser
from lexitree.pipeline.predictor import Predictor
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.saving import shipped
from lexitree.saving.array_models import open_array_classifier, why_not_arrays
from lexitree.saving.classifier_entries import ENCODER
from lexitree.saving.model_folder import CLASSIFIER, ModelFolder


class LoadOptions(TypedDict, total=False):
    """Where and how a model runs; see `load`."""

    device: str
    backend: str
    precision: Precision
    labels: int | None


@overload
def load(  # pyright: ignore[reportOverlappingOverload]  # a name, and the directories of the last form are not
    name: shipped.ParserName, *, device: str = "auto"
) -> NeuralParser: ...


@overload
def load(
    name: str | Path,
    *,
    reads: Literal["text"],
    parser: Parser | str | None = None,
    limits: Limits | None = None,
    **options: Unpack[LoadOptions],
) -> TextPipeline: ...


@overload
def load(name: str | Path, *, reads: Literal["trees"], **options: Unpack[LoadOptions]) -> Predictor: ...


@overload
def load(
    name: shipped.ClassifierName,
    *,
    parser: Parser | str = shipped.BUILTIN_PARSER,
    limits: Limits | None = None,
    **options: Unpack[LoadOptions],
) -> TextPipeline: ...


@overload
def load(
    name: str | Path, *, parser: Parser | str, limits: Limits | None = None, **options: Unpack[LoadOptions]
) -> TextPipeline: ...


@overload
def load(name: str | Path, **options: Unpack[LoadOptions]) -> TextPipeline | Predictor: ...


def load(
    name: str | Path,
    *,
    reads: Literal["text", "trees"] | None = None,
    parser: Parser | str | None = None,
    limits: Limits | None = None,
    device: str = "auto",
    backend: str = "auto",
    precision: Precision = "float32",
    labels: int | None = None,
) -> TextPipeline | Predictor | NeuralParser:
    """Open a model that is ready for use.

    - A model that comes with the package (`"sentiment"`, `"sentiment-binary"`, `"questions"`; see
      `lexitree models --shipped`) or with a package of its own (`"sentiment-accurate"`) reads text:
      `load("sentiment")("Not a bad film.")` is a document.
    - A saved model, by its directory or as `owner/name` from the Hugging Face hub, reads what it was trained on. A
      model that was trained on texts reads text; one that was trained on trees is a `Predictor`, and reads text if a
      `parser` is given.
    - `"parser"` is the parser that comes with the package.

    Args:
        name: The model.
        reads: Whether the model is to read text or trees, where the default above does not fit. For trees, no parser
            is opened.
        parser: The parser: an object, or what `open_parser` takes, such as `builtin` or `brackets:FILE`. It runs on
            the same device as the model if it is the built-in one.
        limits: Limits on one text, beyond which it is refused or truncated; by default `Limits()`.
        device: `cpu`, `cuda`, or `auto` for a GPU if there is one.
        backend: The implementation: `auto` (the fastest here), `fused` (GPU), `native` (CPU), `numpy` (CPU),
            `levelwise` or `reference`. On a CPU, the first, `native` and `numpy` do without torch; models over a
            transformer and those of other packages need it.
        precision: `float32`; `bf16` keeps the weights in half the memory; `tf32` sets PyTorch's switch for the
            process.
        labels: How many labels to answer with, for a model whose labels form a scale: 3 for negative, neutral and
            positive, 2 for the sides alone, which then share what neutral would have. A side has the probability of
            all labels on it. By default, the labels of the model.

    Returns:
        A `TextPipeline` that labels text, a `Predictor` that labels trees, or a `NeuralParser`.

    Raises:
        ModelFileError: There is no such model, or it is damaged.
        ConfigError: The model is to read text and has no parser, or cannot answer with so many labels.
        BackendError: There is no such device or backend here.
        MissingExtraError: The model needs torch, which is not installed.
    """
    if name == "parser" and (shipped.is_shipped(name) or not Path(name).is_dir()):
        if any((reads, parser, limits, labels)) or backend != "auto" or precision != "float32":
            raise ConfigError("a parser is loaded with a device only", remedy="Omit the other settings.")
        return load_parser(name, device=device)
    check_precision(precision)
    device = choose_device(device)
    model = open_classifier(ModelFolder.find(name), device=device, backend=backend, precision=precision)
    if labels is not None:
        model.config = replace(model.config, **model.config.label_set.with_grain(labels).as_dict())
    predictor = Predictor(model)
    if parser is None and reads != "trees":
        parser = _own_parser(name, model, reads)
    if reads == "trees" or (parser is None and reads is None):
        if limits is not None:
            raise ConfigError(f"limits are for text, and {name} reads trees", remedy="Name a parser.")
        return predictor
    return _with_parser(predictor, parser, device, name, limits)


def open_classifier(
    folder: ModelFolder, *, device: str, backend: str = "auto", precision: Precision = "float32"
) -> LabelModel:
    """A classifier as NumPy arrays where that is possible: they start and answer faster on a CPU than tensors."""
    folder.must_be(CLASSIFIER)
    check_known(backend)
    why_torch = _why_torch(folder, device, backend, precision)
    if why_torch is None:
        return open_array_classifier(folder, backend=backend)
    extra = "transformers" if ENCODER in folder.weights.values else "train"
    import_extra("torch", extra=extra, purpose=why_torch)
    from lexitree.saving.pretrained import from_pretrained

    if precision == "tf32":
        set_precision(precision)
    model = from_pretrained(folder, device=device, backend=backend)
    return model.bfloat16() if precision == "bf16" else model


def _why_torch(folder: ModelFolder, device: str, backend: str, precision: Precision) -> str | None:
    """What asks for tensors, as the subject of a sentence; None if arrays will do."""
    if device != "cpu":
        return f"The device '{device}'"
    if backend not in BACKENDS_OF["numpy"]:
        return f"The backend '{backend}'"
    if precision != "float32":
        return f"The precision '{precision}'"
    why_not = why_not_arrays(folder)
    return why_not and f"This model ({why_not})"


def _own_parser(name: str | Path, model: LabelModel, reads: str | None) -> str | None:
    """The parser that a model brings with it: none for a model of trees.

    A folder from elsewhere may name any parser, and some names start programs, so only the built-in one is opened.
    """
    if shipped.is_shipped(name):
        return shipped.BUILTIN_PARSER
    if model.reading is None or model.reading.parser == shipped.BUILTIN_PARSER:
        return model.reading and model.reading.parser
    if reads is None and not model.reading.parser:
        return None
    raise ConfigError(
        f"{name} was trained on the trees of the parser {model.reading.parser or 'of its maker'!r:.60}, which is not"
        " opened unless you name it",
        remedy="Name it with --parser (parser=...), or load the model for trees: reads='trees'.",
    )


def _with_parser(
    predictor: Predictor, parser: Parser | str | None, device: str, name: str | Path, limits: Limits | None
) -> TextPipeline:
    if parser is None:
        raise ConfigError(
            f"{name} reads trees: it has no parser of its own, which text needs",
            remedy="Name a parser, for example --parser builtin or --parser brackets:FILE, "
            "or give trees in brackets: (_ (_ Not) (_ bad))",
        )
    layout = predictor.model.reading.layout if predictor.model.reading else "text"
    if not isinstance(parser, str):
        return TextPipeline(predictor, parser, split=layout, limits=limits)
    # The other parsers are programs of their own, which choose their device themselves.
    is_builtin = parser.partition(":")[0] == shipped.BUILTIN_PARSER
    options: dict[str, Any] = {"device": device} if is_builtin else {}
    pipe = TextPipeline(predictor, open_parser(parser, **options), split=layout, limits=limits)
    pipe.close_parser_on_exit(None if is_builtin else partial(open_parser, parser))
    return pipe
