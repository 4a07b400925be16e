"""Sweeps: many trials of a recipe with other settings, chosen by their development scores."""
