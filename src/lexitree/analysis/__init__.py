"""Comparisons of trained systems: mistakes, lengths, head words, plots."""
