"""What every model asks of a lexicon, and the lexicon with one static vector per word."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexitree.arrays import IndexArray
from lexitree.lexicon.pieces import SplitSentence, Unit
from lexitree.lexicon.vocabulary import UNK_INDEX, Vocabulary
from lexitree.models.guesses import VectorGuesser, guess_vectors
from lexitree.ops.tree_batch import PieceBatch

RANDOM_RANGE = 0.02
"""Random vectors start within this distance of zero, in each dimension."""


class Lexicon(nn.Module, ABC):
    """What a model needs: a number for each word of a sentence, and a vector for each number of a batch."""

    @property
    @abstractmethod
    def word_size(self) -> int:
        """The size of the vectors."""

    @abstractmethod
    def index(self, words: Sequence[str]) -> IndexArray:
        """A number for each word of a sentence."""

    @abstractmethod
    def forward(
        self,
        word_index: Int[Tensor, " leaves"],
        guesses: Float[Tensor, "guesses word"] | None = None,
        pieces: PieceBatch | None = None,
    ) -> Float[Tensor, "leaves word"]:
        """A vector for each word of a batch.

        Args:
            word_index: The number of each word; ~k, which is negative, stands for guess k.
            guesses: The vectors of the guessed words.
            pieces: The context, if vectors depend on it; words are then numbered through the batch.
        """

    def count_unknown(self, words: Sequence[str]) -> int:
        """How many of some words are unknown; none if vectors are made from parts of words."""
        del words
        return 0

    def split(self, words: Sequence[str]) -> SplitSentence | None:
        """The pieces of a sentence, if vectors are made from pieces in their context."""
        del words
        return None

    def choose_trained(self, *, words: bool, encoder: bool) -> None:
        """Decide whether static vectors are trained, and whether a pretrained encoder is."""
        del encoder
        self.requires_grad_(words)

    def pretrained_depths(self) -> Iterable[tuple[nn.Parameter, int]]:
        """Pretrained weights, which are trained with smaller steps, each with its distance from the top layer."""
        return ()

    @property
    def can_guess(self) -> bool:
        """Whether `guess` gives unknown words vectors of their own."""
        return False

    def guess(self, words: Sequence[str]) -> Float[Tensor, "words word"]:
        """A vector for each of some unknown words."""
        raise NotImplementedError

    @property
    def unit(self) -> Unit:
        """What it gives vectors for."""
        return "word"

    @property
    def lazy_table(self) -> nn.Parameter | None:
        """The parameter of which an update changes only the rows that a batch uses, if there is one."""
        return None


class WordTable(Lexicon):
    """One trainable vector for each word of a vocabulary; row 0 stands for all unknown words.

    With a guesser, unknown words get vectors of their own in prediction; in training they all have row 0. The
    gradient is sparse: it holds the rows of the batch, and the optimizer moves only these.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        vectors: Float[Tensor, "words word"],
        guesser: VectorGuesser | None = None,
    ) -> None:
        super().__init__()
        if vocabulary.num_rows != len(vectors):
            raise ValueError(f"{vocabulary.num_rows} rows but {len(vectors)} vectors")
        if guesser is not None and guesser.word_size != vectors.shape[1]:
            raise ValueError(f"vectors of {vectors.shape[1]} numbers, but guesses of {guesser.word_size}")
        self.vocabulary = vocabulary
        self.vectors = nn.Parameter(vectors)
        self.guesser = guesser

    @classmethod
    def random(cls, vocabulary: Vocabulary, word_size: int) -> WordTable:
        """A table of small random vectors."""
        vectors = torch.empty(vocabulary.num_rows, word_size)
        return cls(vocabulary, vectors.uniform_(-RANDOM_RANGE, RANDOM_RANGE))

    @property
    def word_size(self) -> int:
        return self.vectors.shape[1]

    @property
    def lazy_table(self) -> nn.Parameter:
        return self.vectors

    def index(self, words: Sequence[str]) -> IndexArray:
        """The row of each word, by the look-up rule of the vocabulary."""
        return self.vocabulary.indices(words)

    def count_unknown(self, words: Sequence[str]) -> int:
        return int(np.count_nonzero(self.index(words) == UNK_INDEX))

    def forward(
        self,
        word_index: Int[Tensor, " leaves"],
        guesses: Float[Tensor, "guesses word"] | None = None,
        pieces: PieceBatch | None = None,
    ) -> Float[Tensor, "leaves word"]:
        del pieces
        if guesses is None:
            return nn.functional.embedding(word_index, self.vectors, sparse=True)
        known, guessed = word_index.clamp(min=0), (~word_index).clamp(min=0)
        return torch.where((word_index < 0).unsqueeze(1), guesses[guessed], self.vectors[known])

    @property
    def can_guess(self) -> bool:
        return self.guesser is not None

    @torch.no_grad()
    def guess(self, words: Sequence[str]) -> Float[Tensor, "words word"]:
        """A vector for each of some unknown words, from its letters, parts and likeness to known words."""
        assert self.guesser is not None
        return guess_vectors(words, self.vocabulary, self.vectors, self.guesser)
