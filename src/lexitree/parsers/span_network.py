"""What a parser asks of its network, whichever library computes it: the best trees of a batch of sentences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from lexitree.errors import NotFiniteError
from lexitree.parsers.numbered_sentences import PaddedSentences
from lexitree.parsers.parser_config import ParserConfig
from lexitree.parsers.pointers import LabelledSpan
from lexitree.parsers.word_features import WordFeatures
from lexitree.pending import Pending

if TYPE_CHECKING:
    from lexitree.parsers.network import ParserModel


class FoundParses(NamedTuple):
    """What the network and the search have found for a batch."""

    is_finite: bool
    """Whether the scores are numbers; what was found means nothing otherwise."""
    tags: npt.NDArray[np.integer]  # [words, trees]
    pointers: npt.NDArray[np.int32]  # [spans * trees]
    """See `Pointers`, which are packed here."""


class RankedTree(NamedTuple):
    """One of the most probable trees of a sentence."""

    spans: list[LabelledSpan]
    log_probability: float


class RankedParses(NamedTuple):
    """The most probable trees of each sentence of a batch, best first."""

    is_finite: bool
    tags: npt.NDArray[np.integer]  # [words, trees]
    trees: list[list[RankedTree]]


class SpanNetwork(ABC):
    """A network that scores labels for all spans and tags for all words, and the search for the best trees."""

    config: ParserConfig
    features: WordFeatures

    @property
    @abstractmethod
    def device_type(self) -> str:
        """The kind of device that it computes on: cpu, cuda."""

    @abstractmethod
    def num_parameters(self) -> int:
        """The number of trained weights."""

    def eval(self) -> Self:
        """End training, if there was any."""
        return self

    @abstractmethod
    def start_search(self, batch: PaddedSentences) -> Pending[FoundParses]:
        """Begin to find the best tree of each sentence."""

    @abstractmethod
    def rank_trees(self, batch: PaddedSentences, k: int) -> RankedParses:
        """Find the k most probable trees of each sentence, and their probabilities."""

    @abstractmethod
    def torch_network(self, purpose: str) -> ParserModel:
        """The same network in torch, for what is done there only: ranking trees, training, saving.

        Args:
            purpose: What it is needed for; the subject of the error message if there is no torch.
        """


def require_finite(is_finite: bool) -> None:
    """Refuse what was found by scores that are no numbers.

    Raises:
        NotFiniteError: The scores are not finite.
    """
    if not is_finite:
        raise NotFiniteError(
            "the parser's scores are not finite", remedy="Its weights are damaged: train or copy it again."
        )
