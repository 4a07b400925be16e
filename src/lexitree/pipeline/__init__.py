"""From text to labelled documents, for one text, a stream or files.

The names below are imported when first used: files of texts can be read and written without torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lexitree.pipeline.labelling import LabellingJob, label_file
    from lexitree.pipeline.text_pipeline import TextPipeline

__all__ = ["BATCH_SENTENCES", "LabellingJob", "TextPipeline", "label_file"]

BATCH_SENTENCES = 256
"""How many sentences are labelled together by default."""

_HOMES = {"LabellingJob": "labelling", "TextPipeline": "text_pipeline", "label_file": "labelling"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lexitree.pipeline' has no attribute {name!r}")
    return getattr(importlib.import_module(f"lexitree.pipeline.{_HOMES[name]}"), name)
