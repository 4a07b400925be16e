"""The model `sentiment-accurate`, which `lexitree.load` finds here by the entry point of this package."""

from pathlib import Path

FOLDER = Path(__file__).parent / "model"
"""The folder of the model, with its card."""
