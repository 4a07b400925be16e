"""What the paper compares with that is no tree model."""
