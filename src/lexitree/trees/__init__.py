"""Trees as flat arrays: reading and writing, binarization, head words, statistics."""
