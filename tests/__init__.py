"""The tests mirror src/. Before anything is imported, the shapes in signatures become checks."""

import importlib.util
import os

import torch
from jaxtyping import install_import_hook

WITH_TENSORS = [
    # Not ops.fused: what Triton compiles must stay as it was written.
    *(
        f"ops.{name}"
        for name in ("levelwise", "operations", "reference", "registry", "spans", "tree_batch", "weights")
    ),
    *(f"models.{name}" for name in ("cells", "classifier", "encoders", "head_words", "word_table")),
]

if importlib.util.find_spec("beartype"):
    install_import_hook([f"lexitree.{name}" for name in WITH_TENSORS], "beartype.beartype")

if not torch.cuda.is_available():
    # Without a GPU the fused kernels run as plain Python: slow, but the same source. Read when they are imported.
    os.environ.setdefault("TRITON_INTERPRET", "1")
