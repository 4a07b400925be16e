"""Model folders: saving, loading, packing and the shipped models."""
