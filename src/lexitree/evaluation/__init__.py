"""Scores: accuracy of labels, evalb for parses, significance."""
