"""A batch of sentences as tensors: the row numbers that the parser's network looks up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from lexitree.ops.transfers import send
from lexitree.parsers.numbered_sentences import NumberedSentences, PaddedSentences
from lexitree.parsers.word_features import WordNumbers


@dataclass(frozen=True, slots=True)
class SentenceBatch:
    """Sentences padded to the longest; places are the words plus the start and the end of the sentence."""

    vectors: Int[Tensor, "places trees"]
    words: Int[Tensor, "places trees"]
    affixes: Int[Tensor, "places trees affixes"]
    styles: Int[Tensor, " trees"]
    lengths: Int[Tensor, " trees"]
    """Number of words of each sentence."""
    places: Int[Tensor, " trees"]
    """Number of places of each sentence, on the CPU, where packing sequences needs them."""

    @property
    def num_words(self) -> int:
        """Number of words of the longest sentence."""
        return len(self.words) - 2

    @property
    def is_sorted(self) -> bool:
        """Whether the longest sentences come first; otherwise every layer has to sort them."""
        return bool((self.places[:-1] >= self.places[1:]).all())

    @classmethod
    def of(
        cls, sentences: Sequence[WordNumbers], styles: Sequence[int], device: torch.device | str = "cpu"
    ) -> SentenceBatch:
        """Pad sentences that are numbered one by one."""
        rows = np.concatenate(
            [np.column_stack([sentence.vectors, sentence.words, sentence.affixes]) for sentence in sentences]
        )
        places = np.array([len(sentence.words) for sentence in sentences])
        numbered = NumberedSentences(rows, np.cumsum(places) - places, places)
        return cls.send(numbered.pad(np.arange(len(places)), np.array(styles)), device)

    @classmethod
    def send(cls, padded: PaddedSentences, device: torch.device | str = "cpu") -> SentenceBatch:
        """Send padded sentences to a device in one copy."""
        return cls.on(send(pack_sentences(padded), device), padded)

    @classmethod
    def on(cls, buffer: Tensor, padded: PaddedSentences) -> SentenceBatch:
        """Padded sentences of which a buffer holds the numbers, or will be given them; see `pack_sentences`."""
        num_places, num_trees, num_features = padded.rows.shape
        size = num_places * num_trees
        sizes = [size, size, size * (num_features - 2), num_trees, num_trees]
        vectors, words, affixes, styles, places = torch.split(buffer, sizes)
        return cls(
            vectors.view(num_places, num_trees),
            words.view(num_places, num_trees),
            affixes.view(num_places, num_trees, -1),
            styles,
            places - 2,
            torch.from_numpy(padded.places),
        )


def pack_sentences(padded: PaddedSentences) -> Int[Tensor, " numbers"]:
    """All numbers of padded sentences in one tensor on the host: vectors, words, affixes, styles, places."""
    columns = padded.rows.reshape(-1, padded.rows.shape[2])
    parts = [columns[:, 0], columns[:, 1], columns[:, 2:].reshape(-1), padded.styles, padded.places]
    return torch.from_numpy(np.concatenate(parts))
