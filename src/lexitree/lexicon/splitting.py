"""The words of a sentence in, a transformer's pieces of each of them out: none is lost, and none is empty."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from lexitree.arrays import IndexArray
from lexitree.errors import ConfigError
from lexitree.lexicon.pieces import RowFormat, SplitSentence, Unit
from lexitree.text.detokenizer import detokenize_with_spans

MOST_PIECES = 512
"""Rows are no longer than this, even for a transformer that sets itself no limit."""

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


class PieceSplitter:
    """Cuts sentences into pieces: the words become a text as people write it, and offsets tell whose a piece is.

    A transformer has seen `don't` and not `do n't`. A word that the tokenizer has nothing for, since it may drop
    characters, is one unknown piece.
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
        # A word that looks like a special piece, such as [SEP] or </s>, is a word.
        self.backend.encode_special_tokens = True
        self.row_format = self._find_row_format(max_positions, unit)
        self.unknown = self._find_unknown()
        self.special = np.array(sorted({*tokenizer.all_special_ids} - {self.unknown}), dtype=np.int64)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy of a tokenizer does not remember how it takes special pieces."""
        self.__dict__.update(state)
        self.backend.encode_special_tokens = True

    def _find_row_format(self, max_positions: int | None, unit: Unit) -> RowFormat:
        sample: Any = self.backend.encode("a", add_special_tokens=True)
        is_own = [place for place, is_special in enumerate(sample.special_tokens_mask) if not is_special]
        if not is_own:
            raise ConfigError("the tokenizer of the encoder makes no pieces of a text as plain as 'a'")
        before, after = sample.ids[: is_own[0]], sample.ids[is_own[-1] + 1 :]
        limits = [MOST_PIECES, self.tokenizer.model_max_length, max_positions or MOST_PIECES]
        max_pieces = min(limits) - len(before) - len(after)
        if max_pieces < 2:
            raise ConfigError(
                f"the encoder has room for {min(limits)} pieces only, the special ones among them"
            )
        return RowFormat(tuple(before), tuple(after), self.tokenizer.pad_token_id or 0, max_pieces, unit)

    def _find_unknown(self) -> int:
        """The unknown piece; a tokenizer that knows every byte has none, and the end of a text says as little."""
        names = ("unk_token_id", "eos_token_id", "sep_token_id", "pad_token_id")
        return next((number for name in names if (number := getattr(self.tokenizer, name)) is not None), 0)

    @property
    def num_pieces(self) -> int:
        """How many pieces there are, by the largest of their numbers; those that somebody added are not counted."""
        return 1 + max(self.backend.get_vocab(with_added_tokens=False).values(), default=0)

    def split(self, words: Sequence[str]) -> SplitSentence:
        """The pieces of each word."""
        text, word_spans = self._write(words)
        encoding: Any = self.backend.encode(text, add_special_tokens=False)
        ids = np.array(encoding.ids, dtype=np.int64)
        # Some tokenizers have their special pieces among the others.
        ids[np.isin(ids, self.special)] = self.unknown
        piece_spans = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        starts = np.searchsorted(piece_spans[:, 1], word_spans[:, 0], side="right")
        ends = np.searchsorted(piece_spans[:, 0], word_spans[:, 1], side="left")
        missing = np.flatnonzero(starts >= ends)
        if len(missing):
            ids = np.insert(ids, starts[missing], self.unknown)
            # Each word comes after the pieces that were put in before it.
            shift = np.cumsum(starts >= ends) - (starts >= ends)
            ends = np.where(starts >= ends, starts + 1, ends) + shift
            starts = starts + shift
        return SplitSentence(ids, starts, ends, self.row_format)

    def _write(self, words: Sequence[str]) -> tuple[str, IndexArray]:
        """The words as one text, and where in it each of them stands."""
        text, spans = detokenize_with_spans(words)
        # Half a character, which JSON can hold, is none: a tokenizer would not take it.
        text = _HALF_CHARACTER.sub("\ufffd", text)
        word_spans = np.array(spans, dtype=np.int64).reshape(-1, 2)
        if self.row_format.unit == "phrase":
            # So a phrase has the same pieces wherever it stands: for some tokenizers the space is part of a word.
            return f" {text}", word_spans + 1
        return text, word_spans
