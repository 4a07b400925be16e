"""Analyses of the trained models."""
