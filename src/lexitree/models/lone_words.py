"""What a transformer makes of words that stand alone: the input from which vectors of other kinds are predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from lexitree.arrays import FloatArray
from lexitree.models.encoder_files import locate_encoder, read_encoder

_BATCH_WORDS = 128


class LoneWordReader:
    """Reads words one by one with a transformer.

    Args:
        name: A directory, a name on the hub, or a short name.
    """

    def __init__(self, name: str) -> None:
        encoder, tokenizer = read_encoder(locate_encoder(name))
        self._encoder: Any = encoder.eval()
        self._tokenizer: Any = tokenizer

    @property
    def whole_words(self) -> list[str]:
        """The words of two letters and more that are one piece."""
        return sorted(word for word in self._tokenizer.get_vocab() if len(word) > 1 and word.isalpha())

    @torch.inference_mode()
    def features(self, words: Sequence[str]) -> FloatArray:  # [words, 2 * state]
        """The mean of each word's pieces in the input table, and the mean of the states that they end in.

        The table tells frequent words, which are one piece, best; the states also tell what is spelled in several.
        Both have length 1.
        """
        if not words:
            return np.zeros((0, 2 * self._encoder.get_input_embeddings().weight.shape[1]), dtype=np.float32)
        order = sorted(range(len(words)), key=lambda place: len(words[place]))
        found: dict[int, torch.Tensor] = {}
        for first in range(0, len(order), _BATCH_WORDS):
            places = order[first : first + _BATCH_WORDS]
            found.update(zip(places, self._read([words[place] for place in places]), strict=True))
        return torch.stack([found[place] for place in range(len(words))]).numpy()

    def _read(self, words: list[str]) -> torch.Tensor:
        batch = self._tokenizer(words, padding=True, return_tensors="pt", return_special_tokens_mask=True)
        is_special = batch.pop("special_tokens_mask")
        states = self._encoder(**batch).last_hidden_state
        inputs = self._encoder.get_input_embeddings()(batch["input_ids"])
        parts = (_mean(inputs, 1 - is_special), _mean(states, batch["attention_mask"]))
        return torch.cat([torch.nn.functional.normalize(part.float()) for part in parts], 1)


def _mean(vectors: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    weights = counts.unsqueeze(-1).to(vectors.dtype)
    return (vectors * weights).sum(1) / weights.sum(1).clamp(min=1)
