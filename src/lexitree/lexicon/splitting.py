"""The words of a sentence in, a transformer's pieces of each of them out: none is lost, and none is empty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lexitree.errors import ConfigError
from lexitree.lexicon.pieces import PieceLayout, SplitSentence, Unit
from lexitree.trees.brackets import surface_form

MOST_PIECES = 512
"""Rows are no longer than this, even for a transformer that sets itself no limit."""


class PieceSplitter:
    """Cuts sentences into pieces: the words, with a space between them, are one text, and offsets tell whose is what.

    A word that the tokenizer has nothing for (it may drop characters) is one unknown piece.
    """

    def __init__(self, tokenizer: Any, max_positions: int | None, unit: Unit = "word") -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise ConfigError(
                f"the tokenizer {type(tokenizer).__name__} does not tell where its pieces stand in the text",
                remedy="Choose an encoder with a fast tokenizer, that is with a tokenizer.json.",
            )
        self.tokenizer = tokenizer
        # A copy: files of tokenizers may ask to cut texts off and fill them up, which is not to happen here.
        own = tokenizer.backend_tokenizer
        self.backend: Any = type(own).from_str(own.to_str())
        self.backend.no_truncation()
        self.backend.no_padding()
        self.layout = self._find_layout(max_positions, unit)
        self.unknown = self._find_unknown()

    def _find_layout(self, max_positions: int | None, unit: Unit) -> PieceLayout:
        sample: Any = self.backend.encode("a", add_special_tokens=True)
        is_own = [place for place, is_special in enumerate(sample.special_tokens_mask) if not is_special]
        before, after = sample.ids[: is_own[0]], sample.ids[is_own[-1] + 1 :]
        limits = [MOST_PIECES, self.tokenizer.model_max_length, max_positions or MOST_PIECES]
        max_pieces = min(limits) - len(before) - len(after)
        if max_pieces < 2:
            raise ConfigError(
                f"the encoder has room for {min(limits)} pieces only, the special ones among them"
            )
        return PieceLayout(tuple(before), tuple(after), self.tokenizer.pad_token_id or 0, max_pieces, unit)

    def _find_unknown(self) -> int:
        """The unknown piece; a tokenizer that knows every byte has none, and the end of a text says as little."""
        names = ("unk_token_id", "eos_token_id", "sep_token_id", "pad_token_id")
        return next((number for name in names if (number := getattr(self.tokenizer, name)) is not None), 0)

    def split(self, words: Sequence[str]) -> SplitSentence:
        """The pieces of each word."""
        surfaces = [surface_form(word) for word in words]
        starts = np.cumsum([0, *(len(word) + 1 for word in surfaces)])[:-1]
        encoding: Any = self.backend.encode(" ".join(surfaces), add_special_tokens=False)
        ids = np.array(encoding.ids, dtype=np.int64)
        # The last character decides: pieces of some tokenizers begin with the space before a word.
        last = np.array([end for _, end in encoding.offsets], dtype=np.int64) - 1
        # What stands nowhere in the text (a mark at its beginning) belongs to the first word.
        word_of = np.maximum(np.searchsorted(starts, last, side="right") - 1, 0)
        missing = np.setdiff1d(np.arange(len(words)), word_of)
        word_of, ids = np.append(word_of, missing), np.append(ids, np.full(len(missing), self.unknown))
        order = np.argsort(word_of, kind="stable")
        offsets = np.searchsorted(word_of[order], np.arange(len(words) + 1))
        return SplitSentence(ids[order], offsets.astype(np.int64), self.layout)
