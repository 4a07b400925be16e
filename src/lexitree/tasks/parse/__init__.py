"""Training of constituency parsers."""
