"""The level-wise implementations: all trees of a batch, one level at a time, with hand-written backward passes.

Each recurrence is one `torch.autograd.Function`. The products with the word vectors do not depend on other nodes, so
they are one product over all nodes before the loop. The gradients of the weights are one product over all nodes after
it. Only the products with states remain inside the loop.
"""

from lexitree.ops.levelwise.bottom_up import levelwise_run_bottom_up
from lexitree.ops.levelwise.child_sum import levelwise_run_child_sum
from lexitree.ops.levelwise.gated_children import levelwise_run_gated_children
from lexitree.ops.levelwise.heads import levelwise_compose_heads, levelwise_mix_heads
from lexitree.ops.levelwise.sequences import levelwise_run_sequences
from lexitree.ops.levelwise.tensor_network import levelwise_run_tensor_network
from lexitree.ops.levelwise.top_down import levelwise_run_top_down

__all__ = [
    "levelwise_compose_heads",
    "levelwise_mix_heads",
    "levelwise_run_bottom_up",
    "levelwise_run_child_sum",
    "levelwise_run_gated_children",
    "levelwise_run_sequences",
    "levelwise_run_tensor_network",
    "levelwise_run_top_down",
]
