"""The recurrences: reference, level-wise and fused implementations."""
