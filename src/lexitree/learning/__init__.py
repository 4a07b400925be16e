"""The training loop and what every training run needs."""
