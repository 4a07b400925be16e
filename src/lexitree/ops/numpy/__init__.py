"""The implementations in NumPy, forwards only: all trees of a batch, one level at a time, without torch.

They take a `TreeLayout` where those for tensors take a `TreeBatch`, and weights that are arrays; they compute in the
precision of the weights. `native` calls the kernels in C with the same arrays.
"""

from lexitree.ops.numpy.bottom_up import numpy_run_bottom_up
from lexitree.ops.numpy.child_sum import numpy_run_child_sum
from lexitree.ops.numpy.functions import numpy_run_dense
from lexitree.ops.numpy.gated_children import numpy_run_gated_children
from lexitree.ops.numpy.heads import numpy_compose_heads, numpy_find_heads, numpy_heads_and_shares
from lexitree.ops.numpy.sequences import numpy_run_sequences
from lexitree.ops.numpy.spans import numpy_gather_features
from lexitree.ops.numpy.tensor_network import numpy_run_tensor_network
from lexitree.ops.numpy.top_down import numpy_run_top_down

__all__ = [
    "numpy_compose_heads",
    "numpy_find_heads",
    "numpy_gather_features",
    "numpy_heads_and_shares",
    "numpy_run_bottom_up",
    "numpy_run_child_sum",
    "numpy_run_dense",
    "numpy_run_gated_children",
    "numpy_run_sequences",
    "numpy_run_tensor_network",
    "numpy_run_top_down",
]
