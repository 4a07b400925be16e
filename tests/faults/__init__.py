"""Mistakes planted in the code, to see that the tests catch them: `make faults`, or `python -m tests.faults --help`."""
