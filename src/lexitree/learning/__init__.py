"""Training any model: the loop, its settings and optimizer, run folders, checkpoints and seeds."""
