"""The models and head methods by name, also those of other packages; naming them does not import torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lexitree.errors import ConfigError
from lexitree.ops.weights import HeadCandidates
from lexitree.plugins import Later, Registry, Source

if TYPE_CHECKING:
    from lexitree.models.encoders import Encoder
    from lexitree.models.head_methods import MakeHeads


def _admit_encoder(name: str, value: Any, source: Source) -> type[Encoder]:
    from lexitree.models.encoders import check_encoder

    del name, source
    return check_encoder(value)


ENCODERS: Registry[type[Encoder]] = Registry(
    "model",
    {
        "rntn": Later("lexitree.models.catalog:RNTN"),
        "bilstm-plain": Later("lexitree.models.catalog:PlainBiLSTM"),
        "bilstm": Later("lexitree.models.encoders:BiLSTM"),
        "deptree": Later("lexitree.models.catalog:DepTree"),
        "contree": Later("lexitree.models.encoders:ConTree"),
        "contree-nary": Later("lexitree.models.catalog:NaryConTree"),
        "contree-le": Later("lexitree.models.catalog:GatedChildrenConTree"),
        "topdown": Later("lexitree.models.encoders:TopDownConTree"),
        "contree-lex": Later("lexitree.models.encoders:ConTreeLex"),
        "bicontree": Later("lexitree.models.encoders:BiConTree"),
        "pooled": Later("lexitree.models.catalog:PooledTransformer"),
    },
    _admit_encoder,
)
"""All models."""


def _admit_heads(name: str, value: Any, source: Source) -> MakeHeads:
    from lexitree.models.head_methods import heads_by_gate

    del source
    return heads_by_gate(name, value)


HEAD_METHODS: Registry[MakeHeads] = Registry(
    "head method",
    {
        "G": Later("lexitree.models.head_methods:GATED_HEADS"),
        "L": Later("lexitree.models.head_methods:LEFT_HEADS"),
        "R": Later("lexitree.models.head_methods:RIGHT_HEADS"),
        "A": Later("lexitree.models.head_methods:MEAN_HEADS"),
    },
    _admit_heads,
)
"""The head methods: the four of the paper, and those of other packages."""


def check_candidates(candidates: HeadCandidates, method: str) -> None:
    """Check that a head method can restrict the words that may be heads.

    Raises:
        ConfigError: If it cannot: only the gate can.
    """
    if candidates != "all" and method != "G":
        raise ConfigError(
            f"the head method {method} cannot restrict head words to {candidates}",
            remedy="Choose the learned gate: head_method = G; or head_candidates = all.",
        )
