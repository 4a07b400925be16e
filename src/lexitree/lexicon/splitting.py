"""Split the words of a sentence into a transformer's word pieces, at least one per word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from lexitree.arrays import IndexArray
from lexitree.errors import ConfigError
from lexitree.lexicon.pieces import RowFormat, SplitSentence, Unit
from lexitree.text.detokenizer import detokenize_with_spans

_MOST_PIECES = 512
"""The maximum length of a row, even for a transformer without a limit."""

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


class PieceSplitter:
    """Splits sentences into word pieces.

    The words are joined into text as people write it, since transformers have seen `don't` and not `do n't`; offsets
    then assign the pieces to words. A word for which the tokenizer has no piece, since it may drop characters,
    becomes one unknown piece.

    Args:
        tokenizer: A fast tokenizer of `transformers`.
        max_positions: The longest row that the transformer can read; None if there is no limit.
        unit: Whether words or phrases get a vector.

    Raises:
        ConfigError: The tokenizer is not a fast one, or rows are too short.
    """

    def __init__(self, tokenizer: Any, max_positions: int | None, unit: Unit = "word") -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise ConfigError(
                f"the tokenizer {type(tokenizer).__name__} does not report the offsets of its pieces",
                remedy="Choose an encoder with a fast tokenizer (a tokenizer.json).",
            )
        self.tokenizer = tokenizer
        # A copy, since truncation and padding, which a tokenizer file may request, are switched off.
        own = tokenizer.backend_tokenizer
        self.backend: Any = type(own).from_str(own.to_str())
        self.backend.no_truncation()
        self.backend.no_padding()
        # A word that looks like a special piece, such as [SEP] or </s>, is an ordinary word.
        self.backend.encode_special_tokens = True
        self.row_format = self._find_row_format(max_positions, unit)
        self.unknown = self._find_unknown()
        self.special = np.array(sorted({*tokenizer.all_special_ids} - {self.unknown}), dtype=np.int64)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore how special pieces are encoded, which a copy of a tokenizer forgets."""
        self.__dict__.update(state)
        self.backend.encode_special_tokens = True

    def _find_row_format(self, max_positions: int | None, unit: Unit) -> RowFormat:
        sample: Any = self.backend.encode("a", add_special_tokens=True)
        is_own = [place for place, is_special in enumerate(sample.special_tokens_mask) if not is_special]
        if not is_own:
            raise ConfigError("the tokenizer of the encoder makes no pieces of the text 'a'")
        before, after = sample.ids[: is_own[0]], sample.ids[is_own[-1] + 1 :]
        limits = [_MOST_PIECES, self.tokenizer.model_max_length, max_positions or _MOST_PIECES]
        max_pieces = min(limits) - len(before) - len(after)
        if max_pieces < 2:
            raise ConfigError(f"the encoder reads only {min(limits)} pieces, including special ones")
        return RowFormat(tuple(before), tuple(after), self.tokenizer.pad_token_id or 0, max_pieces, unit)

    def _find_unknown(self) -> int:
        """Return the unknown piece or, for a tokenizer that knows every byte, one that says as little."""
        names = ("unk_token_id", "eos_token_id", "sep_token_id", "pad_token_id")
        return next((number for name in names if (number := getattr(self.tokenizer, name)) is not None), 0)

    @property
    def num_pieces(self) -> int:
        """The size of the tokenizer's vocabulary, not counting added pieces."""
        return 1 + max(self.backend.get_vocab(with_added_tokens=False).values(), default=0)

    def split(self, words: Sequence[str]) -> SplitSentence:
        """Split a sentence into the pieces of its words."""
        text, word_spans = self._write(words)
        encoding: Any = self.backend.encode(text, add_special_tokens=False)
        ids = np.array(encoding.ids, dtype=np.int64)
        # Some tokenizers have special pieces among the others.
        ids[np.isin(ids, self.special)] = self.unknown
        piece_spans = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        starts = np.searchsorted(piece_spans[:, 1], word_spans[:, 0], side="right")
        ends = np.searchsorted(piece_spans[:, 0], word_spans[:, 1], side="left")
        missing = np.flatnonzero(starts >= ends)
        if len(missing):
            ids = np.insert(ids, starts[missing], self.unknown)
            # Each word is shifted by the pieces inserted before it.
            shift = np.cumsum(starts >= ends) - (starts >= ends)
            ends = np.where(starts >= ends, starts + 1, ends) + shift
            starts = starts + shift
        return SplitSentence(ids, starts, ends, self.row_format)

    def _write(self, words: Sequence[str]) -> tuple[str, IndexArray]:
        """Return the words as one text, and where each is in it."""
        text, spans = detokenize_with_spans(words)
        # Tokenizers reject lone surrogates, which JSON allows.
        text = _HALF_CHARACTER.sub("\ufffd", text)
        word_spans = np.array(spans, dtype=np.int64).reshape(-1, 2)
        if self.row_format.unit == "phrase":
            # For some tokenizers a space is part of a word: so a phrase has the same pieces wherever it occurs.
            return f" {text}", word_spans + 1
        return text, word_spans
