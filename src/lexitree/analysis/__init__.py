"""Drivers: which phrases and head words make texts positive or negative."""
