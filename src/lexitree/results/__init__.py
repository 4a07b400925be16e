"""What a model says of trees and texts: labelled trees, sentences and documents, held in NumPy arrays."""

from lexitree.results.document import Document
from lexitree.results.labelled_tree import LabelledTree
from lexitree.results.sentence import Phrase, Sentence

__all__ = ["Document", "LabelledTree", "Phrase", "Sentence"]
