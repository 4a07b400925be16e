"""Corpora: trees in splits with a label set, loaded by name or from files."""
