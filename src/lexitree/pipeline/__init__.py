"""From text to labelled documents: models and parsers by name, streams, files, output formats, workers and resume.

Files of texts can be read and written without torch, so nothing is imported here.
"""

BATCH_SENTENCES = 256
"""How many sentences are labelled together by default."""
GPU_BATCH_SENTENCES = 512
"""The same on a GPU, for which a batch of the smaller size is more to start than to compute."""
PART_ROWS = 20_000
"""How many rows a part of an output folder has by default, for files without row groups."""


def batch_sentences(device: str) -> int:
    """How many sentences are labelled together by default on a kind of device."""
    return GPU_BATCH_SENTENCES if device == "cuda" else BATCH_SENTENCES
