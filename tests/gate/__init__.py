"""Comparison with an earlier commit: `make gate`, or `python tests/gate --help`."""
