"""From text to labelled documents: models and parsers by name, streams, files, output formats, workers and resume.

Files of texts can be read and written without torch, so nothing is imported here.
"""

BATCH_SENTENCES = 256
"""How many sentences are labelled together by default."""
PART_ROWS = 20_000
"""How many rows a part of an output folder has by default, for files without row groups."""
