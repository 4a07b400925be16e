"""What every training run needs, of whatever model: averaged weights, checkpoints, and word of how far it is."""
