"""Many trees as flat NumPy arrays."""
