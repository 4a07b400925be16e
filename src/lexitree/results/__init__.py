"""What a model says of trees and texts: labelled trees, sentences and documents, held in NumPy arrays."""
