"""Training of tree classifiers."""
