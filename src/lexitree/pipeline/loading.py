"""The name of a model in, what it is used through out: a pipeline for text, a predictor for trees, or a parser."""

from __future__ import annotations

from pathlib import Path
from typing import Any, overload

import torch

from lexitree.errors import ConfigError
from lexitree.ops.precision import Precision
from lexitree.parsers.adapters import open_parser
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.protocol import Parser
from lexitree.parsers.saved_parser import load_parser
from lexitree.pipeline.predictor import Predictor
from lexitree.pipeline.text_pipeline import TextPipeline
from lexitree.saving import shipped

Device = str | torch.device


@overload
def load(  # pyright: ignore[reportOverlappingOverload]  # a name, and the directories of the last form are not
    name: shipped.ParserName, *, device: Device = "cpu"
) -> NeuralParser: ...


@overload
def load(
    name: shipped.ClassifierName,
    *,
    parser: Parser | str = shipped.BUILTIN_PARSER,
    device: Device = "cpu",
    backend: str = "auto",
    precision: Precision = "float32",
) -> TextPipeline: ...


@overload
def load(
    name: str | Path,
    *,
    parser: Parser | str,
    device: Device = "cpu",
    backend: str = "auto",
    precision: Precision = "float32",
) -> TextPipeline: ...


@overload
def load(
    name: str | Path, *, device: Device = "cpu", backend: str = "auto", precision: Precision = "float32"
) -> Predictor: ...


def load(
    name: str | Path,
    *,
    parser: Parser | str | None = None,
    device: Device = "cpu",
    backend: str = "auto",
    precision: Precision = "float32",
) -> TextPipeline | Predictor | NeuralParser:
    """A model that is ready for use.

    - A model of the package (`"sentiment"`, `"sentiment-binary"`, `"questions"`; see `lexitree models --shipped`)
      reads text: `load("sentiment")("Not a bad film.")` is a document. Its `predictor` reads trees.
    - A saved model, by its directory or as `owner/name` from the Hugging Face hub, is a `Predictor` and reads trees.
      With a `parser`, an object or what `open_parser` takes, it reads text as well.
    - `"parser"` is the parser of the package.
    """
    if name == "parser" and (shipped.is_shipped(name) or not Path(name).is_dir()):
        if parser is not None or backend != "auto" or precision != "float32":
            raise ConfigError(
                "a parser is loaded with a device alone", remedy="Leave the other settings out."
            )
        return load_parser(name, device=device)
    predictor = Predictor.from_pretrained(name, device=device, backend=backend, precision=precision)
    if parser is None and shipped.is_shipped(name):
        parser = shipped.BUILTIN_PARSER
    return predictor if parser is None else TextPipeline(predictor, _open(parser, device))


def _open(parser: Parser | str, device: Device) -> Parser:
    if not isinstance(parser, str):
        return parser
    # The other parsers are programs of their own, which go where they like.
    options: dict[str, Any] = (
        {"device": str(device)} if parser.partition(":")[0] == shipped.BUILTIN_PARSER else {}
    )
    return open_parser(parser, **options)
