"""The models: cells, encoders, word tables and the classifier."""
