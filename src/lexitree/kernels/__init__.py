"""Kernels in C for a CPU: how they are compiled and loaded. They take plain addresses, of tensors or NumPy arrays."""
