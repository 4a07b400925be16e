"""Text as people write it in, documents whose every phrase has a label, a probability and a head word out."""

from __future__ import annotations

from lexitree.pipeline.document import Document
from lexitree.pipeline.pipeline import TextPipeline
from lexitree.pipeline.sentence import Phrase, Sentence

__all__ = ["Document", "Phrase", "Sentence", "TextPipeline"]
