"""The native implementations for a CPU: each recurrence, with all its levels and products, is one call into C.

The kernels stand in `lexitree.kernels`; here they become operations with gradients.
"""

from lexitree.ops.native.heads import native_compose_heads
from lexitree.ops.native.passes import native_run_bottom_up, native_run_top_down
from lexitree.ops.native.sequences import native_run_sequences

__all__ = ["native_compose_heads", "native_run_bottom_up", "native_run_sequences", "native_run_top_down"]
