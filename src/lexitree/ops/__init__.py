"""The recurrences: reference, level-wise, native and fused implementations for tensors, others for NumPy arrays."""
