"""The fused implementations: one Triton kernel per recurrence and direction walks all levels of a batch.

The loop over levels runs on the GPU, so the host launches six kernels per training step instead of some
thousand operations. As in the level-wise implementation, products with the word vectors are made before the loop
and the gradients of the weights after it, each as one product over all nodes.

Importing this package needs Triton; `lexitree.ops.operations` tells when it is missing.
"""

from lexitree.ops.fused.heads import fused_compose_heads
from lexitree.ops.fused.passes import fused_run_bottom_up, fused_run_top_down
from lexitree.ops.fused.rows import fused_update_rows

__all__ = ["fused_compose_heads", "fused_run_bottom_up", "fused_run_top_down", "fused_update_rows"]
