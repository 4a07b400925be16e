"""The row update as a kernel against the same update in PyTorch's operations."""

from __future__ import annotations

import pytest
import torch

from lexitree.ops.operations import UPDATE_ROWS
from lexitree.ops.padding import fill_batch
from lexitree.ops.registry import get_backend
from tests.ops.comparison import make_batch
from tests.ops.test_fused import DEVICE, ODD_SHAPES

pytest.importorskip("triton", reason="needs Triton")


@pytest.mark.parametrize(("shrink", "l2"), [(0.01, 0.0), (0.0, 0.01), (0.0, 0.0)])
def test_rows_move_as_in_pytorch(shrink: float, l2: float) -> None:
    batch = make_batch(ODD_SHAPES)
    # Some words several times, some never, and a batch that is filled up.
    batch.word_index.copy_(torch.arange(batch.num_leaves) % 4 * 2)
    filled = fill_batch(batch, batch.num_leaves + 3, batch.num_nodes - batch.num_leaves, 8).to(DEVICE)
    rows = batch.word_index.to(DEVICE)
    start = torch.randn(10, 7, generator=torch.Generator().manual_seed(9)).to(DEVICE)
    betas = torch.tensor([0.9, 0.999], dtype=torch.float64, device=DEVICE)
    tables: list[torch.Tensor] = []
    for backend in ("reference", "fused"):
        update_rows = get_backend(backend, DEVICE)[UPDATE_ROWS]
        table, moments, squares = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
        for step, scale in enumerate((1.0, 0.5, 0.25), 1):
            generator = torch.Generator().manual_seed(step)
            values = torch.randn(filled.num_leaves, 7, generator=generator).to(DEVICE)
            index = filled.word_index if backend == "fused" else rows
            update_rows(
                table,
                moments,
                squares,
                torch.sparse_coo_tensor(index[None], values[: len(index)], table.shape),
                filled,
                betas,
                torch.tensor(step, device=DEVICE),
                torch.tensor(scale, dtype=torch.float64, device=DEVICE),
                learning_rate=0.02,
                epsilon=1e-8,
                shrink=shrink,
                l2=l2,
            )
        tables.append(table)
    torch.testing.assert_close(tables[1], tables[0], rtol=1e-5, atol=1e-7)
    moved = (tables[1] != start).any(1)
    assert moved.tolist() == [row in (0, 2, 4, 6) for row in range(len(moved))]
