"""The row update as a kernel against the same update in PyTorch's operations."""

from __future__ import annotations

import pytest
import torch

from lexitree.learning.optimizer import LazyAdam
from lexitree.ops.tree_batch import fill_batch
from lexitree.tasks.classify.config import DecayKind, TrainingConfig
from tests.ops.comparison import make_batch, make_model
from tests.ops.test_fused import DEVICE, ODD_SHAPES
from tests.ops.test_levelwise import config_of

pytest.importorskip("triton", reason="needs Triton")


@pytest.mark.parametrize("kind", ["decoupled", "l2"])
def test_rows_move_as_in_pytorch(kind: DecayKind) -> None:
    batch = make_batch(ODD_SHAPES)
    # Some words several times, some never, and a batch that is filled up.
    batch.word_index.copy_(torch.arange(batch.num_leaves) % 4 * 2)
    filled = fill_batch(batch, batch.num_leaves + 3, batch.num_nodes - batch.num_leaves, 8).to(DEVICE)
    settings = TrainingConfig(decay=0.01, decay_kind=kind, learning_rate=0.02)
    tables: list[torch.Tensor] = []
    for fused in (False, True):
        model = make_model(config_of("contree", "G", True), 10).float().to(DEVICE)
        optimizer = LazyAdam(model, settings)
        table = model.lexicon.lazy_table
        assert table is not None
        for step, scale in enumerate((1.0, 0.5, 0.25)):
            optimizer.num_steps += 1
            generator = torch.Generator().manual_seed(step)
            values = torch.randn(filled.num_leaves, table.shape[1], generator=generator).to(DEVICE)
            rows = batch.word_index.to(DEVICE)
            if fused:
                gradient = torch.sparse_coo_tensor(filled.word_index[None], values, table.shape)
                optimizer._step_rows_fused(table.data, gradient, filled, scale, 0.01)
            else:
                gradient = torch.sparse_coo_tensor(rows[None], values[: len(rows)], table.shape)
                optimizer._step_rows(table.data, gradient, scale, 0.01)
        tables.append(table.detach().clone())
    torch.testing.assert_close(tables[1], tables[0], rtol=1e-5, atol=1e-7)
    start = make_model(config_of("contree", "G", True), 10).float().lexicon.lazy_table
    assert start is not None
    moved = (tables[1].cpu() != start).any(1)
    assert moved.tolist() == [row in (0, 2, 4, 6) for row in range(len(moved))]
