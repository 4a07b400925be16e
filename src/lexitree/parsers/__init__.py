"""Constituency parsers: the built-in one and adapters for others."""
