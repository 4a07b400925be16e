"""Text as people write it in, documents whose every phrase has a label, a probability and a head word out.

The names below are imported when first used: files of texts can be read and written without torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lexitree.pipeline.document import Document
    from lexitree.pipeline.sentence import Phrase, Sentence
    from lexitree.pipeline.text_pipeline import TextPipeline

__all__ = ["Document", "Phrase", "Sentence", "TextPipeline"]

_HOMES = {"Document": "document", "Phrase": "sentence", "Sentence": "sentence", "TextPipeline": "pipeline"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lexitree.pipeline' has no attribute {name!r}")
    return getattr(importlib.import_module(f"lexitree.pipeline.{_HOMES[name]}"), name)
