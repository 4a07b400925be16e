"""The service: `lexitree serve` answers over HTTP what the library answers in Python."""
