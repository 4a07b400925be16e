"""What the encoders give the classifier to read: the states of their recurrences, in the paper's order."""

from __future__ import annotations

import torch

from lexitree.models.encoders import BiConTree
from lexitree.ops.tree_batch import batch_examples
from tests.tiny import tiny_model, tiny_trees


def test_bicontree_reads_its_state_from_below_from_above_and_those_of_its_words() -> None:
    model = tiny_model("bicontree", dropout=0.0)
    batch = batch_examples(model.prepare(tiny_trees(6)))
    encoder = model.encoder
    assert isinstance(encoder, BiConTree)
    with torch.no_grad():
        x = model._input_vectors(batch)
        features = encoder(x, batch, None, model.backend)
        up = encoder.bottom_up(x, batch, model.backend)
        down = encoder.top_down(x, batch, model.backend)
    assert not torch.allclose(up, down)
    spans = zip(batch.span_start.tolist(), batch.span_end.tolist(), strict=True)
    of_words = torch.stack([down[start:end].mean(0) for start, end in spans])
    from_below, from_above, from_words = features.chunk(3, 1)
    torch.testing.assert_close(from_below, up)
    torch.testing.assert_close(from_above, down)
    torch.testing.assert_close(from_words, of_words)
