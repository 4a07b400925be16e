"""`load_parser` loads a saved parser, over NumPy arrays on a CPU and in torch on a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lexitree.errors import ConfigError, import_extra
from lexitree.ops.devices import choose_device, device_type
from lexitree.parsers.neural import NeuralParser
from lexitree.parsers.parser_files import read_array_network
from lexitree.parsers.span_network import SpanNetwork
from lexitree.saving.model_folder import ModelFolder

if TYPE_CHECKING:
    import torch

Library = Literal["numpy", "torch"]
"""What computes a parser's network."""


def load_parser(
    name: str | Path | ModelFolder,
    *,
    device: str | torch.device = "auto",
    style: str | None = None,
    library: Library | None = None,
) -> NeuralParser:
    """Load a parser.

    Args:
        name: `"parser"` for the one that comes with the package, a folder, or `owner/name` on the Hugging Face hub.
        device: Where the parser computes; `auto` is a GPU if there is one.
        style: The treebank whose conventions it follows; by default the one chosen in training.
        library: What computes it: `numpy`, which is for a CPU, or `torch`; by default, `numpy` where it can.

    Raises:
        ModelFileError: If the parser is missing, damaged or not a parser.
        ConfigError: If the parser does not know the style, or NumPy is to compute on a GPU.
        MissingExtraError: If torch is needed and not installed.
    """
    folder = name if isinstance(name, ModelFolder) else ModelFolder.find(name)
    folder.must_be(NeuralParser.kind)
    parser = NeuralParser(read_network(folder, choose_device(str(device)), library), style=style)
    parser.training_record = folder.training
    return parser


def read_network(folder: ModelFolder, device: str, library: Library | None = None) -> SpanNetwork:
    """Build the network of a saved parser for a device; see `load_parser`."""
    is_cpu = device_type(device) == "cpu"
    if library == "numpy" and not is_cpu:
        raise ConfigError(
            f"NumPy computes on a CPU, not on {device!r}", remedy="Omit the library or the device."
        )
    if is_cpu and library != "torch":
        return read_array_network(folder)
    import_extra("torch", extra="train", purpose="A parser in torch")
    from lexitree.parsers.torch_loading import read_torch_network

    return read_torch_network(folder, device)
