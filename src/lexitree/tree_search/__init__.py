"""Search in trees: a small pattern language over labels, probabilities, head words and words."""
