"""What every model asks of a lexicon, and the lexicon with one static vector per word."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexitree.arrays import IndexArray
from lexitree.lexicon.normal_forms import Lookup
from lexitree.lexicon.pieces import SplitSentence, Unit
from lexitree.lexicon.vector_files import build_table, put_first, wanted_forms
from lexitree.lexicon.vector_streams import WordVectors
from lexitree.lexicon.vocabulary import UNK, Vocabulary
from lexitree.models.guesses import VectorGuesser, guess_vectors
from lexitree.ops.tree_batch import PieceBatch

RANDOM_RANGE = 0.02
"""Random vectors start within this distance of zero, in each dimension."""

NUM_FIRST = 100_000
"""How many first rows of a file of vectors a model keeps besides those of its training words, unless it keeps all.
They are chosen by the file alone: no word has a vector because it is in a text that the model is scored on."""


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

    Args:
        vocabulary: The words.
        vectors: A vector for each of the first rows.
        guesser: Gives vectors to words outside the vocabulary.
        fixed: The vectors of all further rows. They belong to words that do not occur in training, so no optimizer,
            average or checkpoint has them; a saved model does.
    """

    fixed: Tensor | None

    def __init__(
        self,
        vocabulary: Vocabulary,
        vectors: Float[Tensor, "words word"],
        guesser: VectorGuesser | None = None,
        fixed: Float[Tensor, "others word"] | None = None,
    ) -> None:
        super().__init__()
        num_vectors = len(vectors) + (0 if fixed is None else len(fixed))
        if vocabulary.num_rows != num_vectors:
            raise ValueError(f"{vocabulary.num_rows} rows but {num_vectors} vectors")
        if guesser is not None and guesser.word_size != vectors.shape[1]:
            raise ValueError(f"vectors of {vectors.shape[1]} numbers, but guesses of {guesser.word_size}")
        self.vocabulary = vocabulary
        self.vectors = nn.Parameter(vectors)
        self.register_buffer("fixed", fixed, persistent=False)
        self.guesser = guesser

    @classmethod
    def random(cls, vocabulary: Vocabulary, word_size: int) -> WordTable:
        """A table of small random vectors."""
        vectors = torch.empty(vocabulary.num_rows, word_size)
        return cls(vocabulary, vectors.uniform_(-RANDOM_RANGE, RANDOM_RANGE))

    @classmethod
    def from_vectors(
        cls, vectors: WordVectors, trained: Iterable[str], lookup: Lookup = "written"
    ) -> WordTable:
        """A table of the vectors of a file, in which only those of some words are trained.

        The vector of unknown words starts as the mean of all.

        Args:
            vectors: The vectors of the file.
            trained: The words of the training data.
            lookup: How words are looked up; normal forms of training words are trained too.

        Raises:
            VectorsError: None of the words has a vector.
        """
        forms = wanted_forms(trained)
        if lookup != "written":
            known = Vocabulary((word for word in vectors.words if word != UNK), lookup)
            forms = {known.word(row) for row in map(known.index, forms) if row}
        vectors, num_first = put_first(vectors, forms)
        vocabulary, rows = build_table(vectors, lookup)
        return cls.partly_trained(vocabulary, torch.from_numpy(rows), 1 + num_first)

    @classmethod
    def partly_trained(
        cls,
        vocabulary: Vocabulary,
        rows: Float[Tensor, "words word"],
        num_trained: int,
        guesser: VectorGuesser | None = None,
    ) -> WordTable:
        """A table of which only the first rows are trained."""
        fixed = rows[num_trained:].clone() if num_trained < len(rows) else None
        # Copies: a view of the first rows would keep all of them in memory.
        return cls(vocabulary, rows[:num_trained].clone(), guesser, fixed)

    def rows(self) -> Float[Tensor, "words word"]:
        """The vectors of all words, those that are never trained included."""
        vectors = self.vectors.detach()
        return vectors if self.fixed is None else torch.cat([vectors, self.fixed])

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
        return self.vocabulary.count_unknown(words)

    def forward(
        self,
        word_index: Int[Tensor, " leaves"],
        guesses: Float[Tensor, "guesses word"] | None = None,
        pieces: PieceBatch | None = None,
    ) -> Float[Tensor, "leaves word"]:
        del pieces
        if guesses is None:
            return self._look_up(word_index)
        known, guessed = word_index.clamp(min=0), (~word_index).clamp(min=0)
        return torch.where((word_index < 0).unsqueeze(1), guesses[guessed], self._look_up(known))

    def _look_up(self, rows: Int[Tensor, " leaves"]) -> Float[Tensor, "leaves word"]:
        # In training, all words are among the first: nothing is spent on the others.
        if self.fixed is None or self.training:
            return nn.functional.embedding(rows, self.vectors, sparse=True)
        num_trained = len(self.vectors)
        first = nn.functional.embedding(rows.clamp(max=num_trained - 1), self.vectors, sparse=True)
        other = self.fixed[(rows - num_trained).clamp(min=0)]
        return torch.where((rows < num_trained).unsqueeze(1), first, other)

    @property
    def can_guess(self) -> bool:
        return self.guesser is not None

    @torch.no_grad()
    def guess(self, words: Sequence[str]) -> Float[Tensor, "words word"]:
        """A vector for each of some unknown words, from its letters, parts and likeness to known words."""
        assert self.guesser is not None
        return guess_vectors(words, self.vocabulary, self.rows(), self.guesser)
