"""Kernels in C for a CPU: how they are compiled and loaded. They take tensors or NumPy arrays."""
