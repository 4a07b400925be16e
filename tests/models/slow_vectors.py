"""Transformers for tests, and the vectors they should give: each sentence alone, each word the mean of its pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from lexitree.lexicon.pieces import PieceLayout
from lexitree.models.transformer import TransformerConfig, TransformerLexicon, open_transformer
from lexitree.ops.tree_batch import PieceBatch


def open_lexicon(folder: Path, **settings: Any) -> TransformerLexicon:
    own = {name: settings.pop(name) for name in ("layers", "half_precision") if name in settings}
    return open_transformer(TransformerConfig(name=str(folder), **own), **settings)


def vectors(lexicon: TransformerLexicon, sentences: list[list[str]]) -> torch.Tensor:
    """The vectors of all words, in one batch, on the lexicon's device."""
    device = next(lexicon.parameters()).device
    table = [lexicon.index(words) for words in sentences]
    batch = PieceBatch.from_layout(
        PieceLayout.from_trees([], [lexicon.split(words) for words in sentences], table)
    )
    return lexicon(torch.arange(sum(map(len, sentences)), device=device), None, batch.to(device))


def states(lexicon: TransformerLexicon, ids: list[int], layer: int = -1) -> torch.Tensor:
    """The states of one row, as the library gives them to anybody."""
    encoder: Any = lexicon.encoder
    mask = torch.ones(1, len(ids), dtype=torch.long)
    found = encoder(input_ids=torch.tensor([ids]), attention_mask=mask, output_hidden_states=True)
    return found.hidden_states[layer][0] if layer != -1 else found.last_hidden_state[0]


def slow_vectors(lexicon: TransformerLexicon, words: list[str], layer: int = -1) -> torch.Tensor:
    """For a sentence that fits: its row alone, and the mean for each word."""
    split = lexicon.split(words)
    row_format = split.row_format
    assert len(split.ids) <= row_format.max_pieces
    found = states(lexicon, [*row_format.before, *split.ids.tolist(), *row_format.after], layer)
    own = found[len(row_format.before) :]
    means = [own[a:b].mean(0) for a, b in zip(split.starts.tolist(), split.ends.tolist(), strict=True)]
    return torch.stack(means)
