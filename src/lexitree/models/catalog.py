"""All models by name, the encoders of other papers, and the paper's table of model sizes.

To add a model, write an `Encoder` over cells and list it in `lexitree.models.registries`; `lexitree.models.cells` has
all steps. Other packages add theirs by an entry point; see `lexitree.plugins`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from lexitree.errors import NotEnoughMemoryError
from lexitree.models.cells import LabelScorer
from lexitree.models.encoders import (
    BiLSTM,
    BottomUpEncoder,
    Encoder,
    make_bottom_up,
    pick,
)
from lexitree.models.model_config import DEFAULT_MODEL, DEFAULT_WORD_SIZE, ModelConfig
from lexitree.models.other_cells import ChildSumLSTM, GatedChildrenLSTM, TensorNetwork
from lexitree.models.registries import ENCODERS
from lexitree.ops.registry import Backend, Operation
from lexitree.ops.tree_batch import TreeBatch


class NaryConTree(BottomUpEncoder):
    title = "ConTree (Tai 2015)"
    about = "N-ary tree LSTM of Tai et al. (2015): ConTree without peepholes"
    is_recordable = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.bottom_up = make_bottom_up(config, lexical=False, peepholes=False)


class GatedChildrenConTree(BottomUpEncoder):
    title = "ConTree (Le and Zuidema 2015)"
    about = "tree LSTM of Le and Zuidema (2015): an input gate and a forget gate for each child"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.bottom_up = GatedChildrenLSTM(config.word_size, config.hidden, bias_init=config.bias_init)


class RNTN(BottomUpEncoder):
    title = "RNTN (Socher 2013)"
    about = (
        "recursive neural tensor network of Socher et al. (2013): small word vectors, composed by a tensor"
    )
    words_are_states = True
    defaults = MappingProxyType({"hidden": 25, "output": 0, "dropout": 0.0, "bias_init": "zero"})

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.bottom_up = TensorNetwork(config.hidden, bias_init=config.bias_init)


class DepTree(BottomUpEncoder):
    title = "DepTree (Tai 2015)"
    about = "child-sum tree LSTM of Tai et al. (2015) over dependency trees"
    tree_kind = "dependency"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.bottom_up = ChildSumLSTM(config.word_size, config.hidden, bias_init=config.bias_init)


class PlainBiLSTM(BiLSTM):
    title = "BiLSTM (Li 2015)"
    about = "BiLSTM without peepholes, as Li et al. (2015) compare with trees"
    has_peepholes = False


class PooledTransformer(Encoder):
    title = "Transformer"
    about = "a transformer over the words of each phrase, its states averaged; the tree is not used"
    num_states = 0
    reads = "phrase"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.num_features = config.word_size

    def forward(self, x: Tensor, batch: TreeBatch, nodes: Tensor | None, backend: Backend) -> Tensor:
        # The vectors come tree by tree in pre-order.
        return pick(torch.empty_like(x).index_copy(0, batch.preorder_index, x), nodes)


PAPER_SIZES: dict[str, tuple[int, ...]] = {
    "rntn": (25, 35),
    "bilstm-plain": (150,),
    "bilstm": (150,),
    "deptree": (150,),
    "contree": (150,),
    "contree-nary": (150,),
    "contree-le": (150,),
    "topdown": (150,),
    "contree-lex": (75, 150, 215, 300),
    "bicontree": (75, 150),
}
"""The state sizes at which the paper reports each model; for RNTN, the range given in its own paper."""

PAPER_LABELS = tuple("01234")


def encoder_class(name: str) -> type[Encoder]:
    """The encoder of a model.

    Raises:
        ConfigError: If there is no such model; the error lists the nearest names.
        PluginError: If it is in a package that cannot be used.
    """
    return ENCODERS.find(name)


def operations_of(settings: Mapping[str, Any]) -> tuple[Operation[Any], ...]:
    """The operations of a model, before it is built."""
    # What the operations depend on: the model, its own settings and the head method.
    others = ModelConfig.declared().keys() - {"model", "head_method"}
    asked = {name: value for name, value in settings.items() if name not in others}
    config = ModelConfig.from_dict({**asked, "labels": PAPER_LABELS, "word_size": 1, "hidden": 1})
    with torch.device("meta"):
        return encoder_class(config.model)(config).operations


def with_model_defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a model with the defaults of its kind filled in."""
    return {**encoder_class(settings.get("model", DEFAULT_MODEL)).defaults, **settings}


def default_word_size(settings: Mapping[str, Any]) -> int:
    """The size of word vectors without a vector file, for complete settings."""
    encoder = encoder_class(settings.get("model", DEFAULT_MODEL))
    return settings["hidden"] if encoder.words_are_states else DEFAULT_WORD_SIZE


def count_parameters(config: ModelConfig) -> int:
    """The number of parameters without the word vectors, counted on the modules themselves."""
    with torch.device("meta"):
        encoder = encoder_class(config.model)(config)
        scorer = LabelScorer(
            encoder.num_features, config.output, len(config.label_set.trained_ids), bias_init=config.bias_init
        )
    return sum(parameter.numel() for module in (encoder, scorer) for parameter in module.parameters())


def check_memory(config: ModelConfig) -> None:
    """Refuse a model that cannot be built here: the system would kill the process half-way, without a message.

    Raises:
        NotEnoughMemoryError: The parameters alone need more memory than the machine has.
    """
    needed, available = _BYTES_PER_PARAMETER * count_parameters(config), _memory_bytes()
    if needed > available:
        raise NotEnoughMemoryError(
            f"not enough memory: the parameters need {needed / 1e9:,.0f} GB with model.hidden={config.hidden} and"
            f" model.word_size={config.word_size}, and this machine has {available / 1e9:,.0f} GB"
        )


_BYTES_PER_PARAMETER = 4


def _memory_bytes() -> float:
    """The memory of this machine; infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return math.inf


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model at one of the paper's sizes."""

    name: str
    title: str
    """The paper's name for it."""
    hidden: int
    num_parameters: int
    """Without the table of word vectors, for word vectors of 300, an output layer of 128 and five labels.

    RNTN has word vectors of the size of its states and no output layer.
    """
    about: str


def list_models() -> list[ListedModel]:
    """Every model at every size the paper reports, with its number of parameters."""
    return [
        ListedModel(
            name=name,
            title=ENCODERS[name].title,
            hidden=hidden,
            num_parameters=count_parameters(_listed_config(name, hidden)),
            about=ENCODERS[name].about,
        )
        for name, sizes in PAPER_SIZES.items()
        for hidden in sizes
    ]


def _listed_config(name: str, hidden: int) -> ModelConfig:
    settings = with_model_defaults({"model": name, "hidden": hidden, "labels": PAPER_LABELS})
    return ModelConfig.from_dict({**settings, "word_size": default_word_size(settings)})
